import { group } from '../../areas/account/groups.ts';
import { user } from '../../areas/account/users.ts';
import { ftpSettings, servedPair } from '../../areas/services/ftp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { certificate } from '../../areas/system/certificate.ts';
import { certificateAuthority } from '../../areas/system/certificateauthority.ts';
import { volumeOf } from '../../engine/declare/formats.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { quote } from '../../lib/text.ts';
import { saysNothing } from '../local.ts';
import { homelessAccounts } from './homeless.ts';
import {
  accountsFile,
  certificateFile,
  chainFile,
  pamRules,
  pamService,
  proftpdConf,
  stagedWord,
} from './proftpd-conf.ts';

export const ftpSubsystem: Subsystem = {
  name: 'ftp',
  description: 'ProFTPD serves the volumes by FTP.',
  reads: [user, group, ftpSettings, serviceSwitch, certificate, certificateAuthority],
  services: ['proftpd'],
  local: [{ path: '/etc/proftpd/conf.d/*', isDefault: saysNothing }],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(ftpSettings);
    const folder = settings.ftp_onlyanonymous ? (settings.ftp_anonpath ?? undefined) : undefined;
    const volume = folder === undefined ? undefined : volumeOf(folder, facts);
    const isThere = volume !== undefined && facts.storage.datasets.get(volume)?.mountpoint !== undefined;
    const pair = settings.ftp_tls ? servedPair(view, settings) : undefined;
    const chain = typeof pair === 'object' ? pair.chain : '';
    const keyType = typeof pair === 'object' && pair.key.asymmetricKeyType === 'ec' ? 'ec' : 'rsa';
    const running = isOn(view, 'ftp');
    return {
      files: [
        // The server sends one certificate of a file, however many are in it; those above it have a file of their own.
        { path: chainFile, content: chain === '' ? undefined : `${chain.trim()}\n` },
        { path: certificateFile, mode: 0o600, content: typeof pair === 'object' ? `${pair.pem}\n` : undefined },
        // While nobody is served, a new account is nothing to the server.
        {
          path: accountsFile,
          mode: 0o600,
          content: running ? homelessAccounts(view, { onlyHome: settings.ftp_defaultroot }) : '',
        },
        { path: `/etc/pam.d/${pamService}`, content: pamRules },
        {
          path: '/etc/proftpd/proftpd.conf',
          content: proftpdConf(settings, {
            anonymousFolder: isThere ? folder : undefined,
            keyType,
            hasChain: chain !== '',
          }),
          verify: proftpd,
        },
      ],
      services: [{ name: 'proftpd', running, onChange: 'reload' }],
      omissions:
        folder === undefined || isThere
          ? []
          : [`FTP for anonymous clients: the volume of ${quote(folder)} is not there or not mounted`],
    };
  },
};

const proftpd: Checker = {
  argv: (staged) => ['proftpd', '-t', '-D', stagedWord, '-c', staged],
  objection({ status, stdout, stderr }) {
    const said = `${stderr}\n${stdout}`.split('\n').map((line) => line.replace(/^.*proftpd\[\d+\][^:]*: /, '').trim());
    // It answers 0 for options that keep it from starting.
    const refused = said
      .filter((line) => /^fatal: |cannot enforce both/.test(line))
      .map((line) => line.replace(/^fatal: /, ''));
    if (status === 0 && refused.length === 0) return undefined;
    return `The FTP server refuses its configuration: ${refused.slice(0, 2).join(' ') || `proftpd ended with ${status}.`}`;
  },
};
