import { group } from '../../areas/account/groups.ts';
import { user } from '../../areas/account/users.ts';
import { ftpService, ftpSettings, servedPair } from '../../areas/services/ftp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { certificate } from '../../areas/system/certificate.ts';
import { certificateAuthority } from '../../areas/system/certificateauthority.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { hasOnlyComments } from '../local.ts';
import { accountsWithoutHome } from './accounts-without-home.ts';
import {
  accountsFile,
  certificateFile,
  chainFile,
  pamRules,
  pamService,
  proftpdConf,
  stagedDefine,
} from './proftpd-conf.ts';

export const ftpSubsystem: Subsystem = {
  name: 'ftp',
  description: 'ProFTPD serves the volumes over FTP.',
  reads: [user, group, ftpSettings, serviceSwitch, certificate, certificateAuthority],
  services: ftpService.programs,
  local: [{ path: '/etc/proftpd/conf.d/*', isDefault: hasOnlyComments }],
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(ftpSettings);
    const folder = settings.ftp_onlyanonymous ? (settings.ftp_anonpath ?? undefined) : undefined;
    const absent = folder === undefined ? undefined : absence({ path: folder }, facts.storage);
    const pair = settings.ftp_tls ? servedPair(view, settings) : undefined;
    const chain = typeof pair === 'object' ? pair.chain : '';
    const keyType = typeof pair === 'object' && pair.key.asymmetricKeyType === 'ec' ? 'ec' : 'rsa';
    const running = isOn(view, ftpService);
    return {
      files: [
        // ProFTPD sends only the first certificate of a file, so the intermediate certificates are in a second file.
        { path: chainFile, content: chain === '' ? undefined : `${chain.trim()}\n` },
        { path: certificateFile, mode: 0o600, content: typeof pair === 'object' ? `${pair.pem}\n` : undefined },
        // While the service is off, the file stays empty, so that a new account does not change it.
        {
          path: accountsFile,
          mode: 0o600,
          content: running ? accountsWithoutHome(view, { onlyHome: settings.ftp_defaultroot }) : '',
        },
        { path: `/etc/pam.d/${pamService}`, content: pamRules },
        {
          path: '/etc/proftpd/proftpd.conf',
          content: proftpdConf(settings, {
            anonymousFolder: absent === undefined ? folder : undefined,
            keyType,
            hasChain: chain !== '',
          }),
          verify: proftpd,
        },
      ],
      services: [{ name: 'proftpd', running, onChange: 'reload' }],
    };
  },
};

const proftpd: Checker = {
  argv: (staged) => ['proftpd', '-t', '-D', stagedDefine, '-c', staged],
  objection({ status, stdout, stderr }) {
    const messages = `${stderr}\n${stdout}`
      .split('\n')
      .map((line) => line.replace(/^.*proftpd\[\d+\][^:]*: /, '').trim());
    // proftpd -t exits with 0 for some errors that keep the server from starting.
    const refused = messages
      .filter((line) => /^fatal: |cannot enforce both/.test(line))
      .map((line) => line.replace(/^fatal: /, ''));
    if (status === 0 && refused.length === 0) return undefined;
    return `The FTP server rejects its configuration: ${refused.slice(0, 2).join(' ') || `proftpd exited with status ${status}.`}`;
  },
};
