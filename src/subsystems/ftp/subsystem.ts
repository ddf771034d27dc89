import { certificate } from '../../areas/certificates/certificate.ts';
import { certificateAuthority } from '../../areas/certificates/certificateauthority.ts';
import { ftpService, ftpSettings, servedPair } from '../../areas/services/ftp.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { hasOnlyComments } from '../local.ts';
import { certificateFile, chainFile, pamRules, pamService, proftpdConf, stagedDefine } from './proftpd-conf.ts';

export const ftpSubsystem: Subsystem = {
  name: 'ftp',
  description: 'ProFTPD serves the volumes over FTP.',
  followsPool: true,
  reads: [ftpSettings, serviceSwitch, certificate, certificateAuthority],
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
    return {
      files: [
        // ProFTPD sends only the first certificate of a file, so the intermediate certificates are in a second file.
        { path: chainFile, content: chain === '' ? undefined : `${chain.trim()}\n` },
        { path: certificateFile, mode: 0o600, content: typeof pair === 'object' ? `${pair.pem}\n` : undefined },
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
      services: [{ name: 'proftpd', running: isOn(view, ftpService), onChange: 'reload' }],
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
