import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { sshSettings } from '../../areas/services/ssh.ts';
import type { Checker, DesiredFile, Subsystem } from '../../engine/declare/subsystem.ts';
import { saysNothing } from '../local.ts';
import { configFile, dropIn, givenKeyFile, keyFiles, sshdConfig } from './sshd-config.ts';

export const sshSubsystem: Subsystem = {
  name: 'ssh',
  description: 'sshd lets people in.',
  reads: [sshSettings, serviceSwitch],
  services: ['ssh'],
  local: [{ path: '/etc/ssh/sshd_config' }, { path: '/etc/ssh/sshd_config.d/*', isDefault: saysNothing }],
  uses: ['network'],
  after: ['accounts'],
  render(view, { network }) {
    const settings = view.only(sshSettings);
    const interfaces = settings.ssh_bindiface;
    const addresses =
      interfaces.length === 0
        ? undefined
        : network.links
            .filter(({ name }) => interfaces.includes(name))
            .flatMap((link) => link.addresses.map(withoutBits));
    // Without an address it would listen on all of them.
    const isNowhere = addresses?.length === 0 && !settings.ssh_untouched;
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
      // A restart ends no session, and tells when the server cannot listen.
      services: [{ name: 'ssh', running: isOn(view, 'ssh') && !isNowhere, onChange: 'restart' }],
      omissions: isNowhere ? [`SSH: none of the interfaces ${interfaces.join(', ')} has an address`] : [],
    };
  },
};

function withoutBits(address: string): string {
  return address.replace(/\/\d+$/, '');
}

/** It looks at no key: those that are written together with the file are not there yet. */
const sshd: Checker = {
  argv: (staged) => ['/usr/sbin/sshd', '-G', '-f', staged],
  objection({ status, stderr }) {
    if (status === 0) return undefined;
    const said = stderr
      .split(/\r?\n/)
      .filter((line) => line !== '' && !/terminating, \d+ bad configuration/.test(line));
    return `The SSH server refuses its configuration: ${said.slice(0, 3).join(' ') || `sshd ended with ${status}.`}`;
  },
};

const keyReader: Checker = {
  argv: (staged) => ['ssh-keygen', '-y', '-P', '', '-f', staged],
  objection: ({ status, stderr }) =>
    status === 0 ? undefined : `The SSH server cannot read ssh_privatekey: ${stderr.trim().split('\n')[0] ?? ''}`,
};
