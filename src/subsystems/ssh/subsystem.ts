import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { sshService, sshSettings } from '../../areas/services/ssh.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Checker, DesiredFile, Subsystem } from '../../engine/declare/subsystem.ts';
import type { NetworkState } from '../../host/ports/network.ts';
import { hasOnlyComments } from '../local.ts';
import { sshAdoption } from './adopt.ts';
import { configFile, dropIn, givenKeyFile, keyFiles, sshdConfig } from './sshd-config.ts';

export const sshSubsystem: Subsystem = {
  name: 'ssh',
  description: 'sshd accepts SSH logins.',
  reads: [sshSettings, serviceSwitch],
  adopts: sshAdoption,
  services: sshService.programs,
  local: [{ path: '/etc/ssh/sshd_config' }, { path: '/etc/ssh/sshd_config.d/*', isDefault: hasOnlyComments }],
  uses: ['network'],
  after: ['accounts'],
  render(view, { network }) {
    const settings = view.only(sshSettings);
    const addresses = addressesOf(settings, network);
    const hasNoAddress = isWithoutAddress(settings, network);
    const files: readonly DesiredFile[] = [
      {
        path: givenKeyFile,
        mode: 0o600,
        content: settings.ssh_privatekey === '' ? undefined : `${settings.ssh_privatekey}\n`,
        verify: keyReader,
      },
      ...keyFiles(settings),
      { path: configFile, mode: 0o600, content: sshdConfig(settings, addresses), verify: sshd },
      { path: '/etc/systemd/system/ssh.service.d/holdfast.conf', content: dropIn, forServiceManager: true },
    ];
    return {
      files: settings.ssh_untouched
        ? files.map(({ path, forServiceManager = false }) => ({ path, forServiceManager, content: undefined }))
        : files,
      // A restart ends no session and, unlike a reload, fails if sshd cannot listen.
      services: [{ name: 'ssh', running: isOn(view, sshService) && !hasNoAddress, onChange: 'restart' }],
    };
  },
  problems(view, { network }) {
    const settings = view.only(sshSettings);
    if (!isOn(view, sshService) || !isWithoutAddress(settings, network)) return [];
    const message = `SSH is not served, because no interface of ssh_bindiface (${settings.ssh_bindiface.join(', ')}) has an address.`;
    return [{ kind: 'not-served', about: sshSettings.path, severity: 'warning', message }];
  },
};

type Settings = RecordOf<typeof sshSettings.fields>;

/** The addresses that sshd listens on; undefined for all. */
function addressesOf({ ssh_bindiface: names }: Settings, { links }: NetworkState): readonly string[] | undefined {
  return names.length === 0
    ? undefined
    : links.filter(({ name }) => names.includes(name)).flatMap((link) => link.addresses.map(withoutBits));
}

/** Without an address, sshd would listen on all addresses, so it is stopped. */
function isWithoutAddress(settings: Settings, network: NetworkState): boolean {
  return addressesOf(settings, network)?.length === 0 && !settings.ssh_untouched;
}

function withoutBits(address: string): string {
  return address.replace(/\/\d+$/, '');
}

/** `-G` does not open the host keys, which are written together with the file and may not exist yet. */
const sshd: Checker = {
  argv: (staged) => ['/usr/sbin/sshd', '-G', '-f', staged],
  objection({ status, stderr }) {
    if (status === 0) return undefined;
    const messages = stderr
      .split(/\r?\n/)
      .filter((line) => line !== '' && !/terminating, \d+ bad configuration/.test(line));
    return `The SSH server rejects its configuration: ${messages.slice(0, 3).join(' ') || `sshd exited with status ${status}.`}`;
  },
};

const keyReader: Checker = {
  argv: (staged) => ['ssh-keygen', '-y', '-P', '', '-f', staged],
  objection: ({ status, stderr }) =>
    status === 0 ? undefined : `The SSH server cannot read ssh_privatekey: ${stderr.trim().split('\n')[0] ?? ''}`,
};
