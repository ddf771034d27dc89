import { certificate } from '../../areas/certificates/certificate.ts';
import { certificateAuthority } from '../../areas/certificates/certificateauthority.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { webdavPair, webdavService, webdavSettings } from '../../areas/services/webdav.ts';
import { type WebdavShare, webdavShare } from '../../areas/sharing/webdav.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { memo } from '../../lib/memo.ts';
import {
  httpdFile,
  secretFiles,
  serverPart,
  sharePart,
  stagedDefine,
  usersFile,
  webdavUnit,
  webdavUnitFile,
} from './httpd-conf.ts';

export const webdavSubsystem: Subsystem = {
  name: 'webdav',
  description: 'A separate Apache instance serves the WebDAV shares.',
  followsPool: true,
  reads: [webdavShare, webdavSettings, serviceSwitch, certificate, certificateAuthority],
  services: webdavService.programs,
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const settings = view.only(webdavSettings);
    const shares = view.all(webdavShare).toSorted((a, b) => a.id - b.id);
    const addresses = addressesOf(shares);
    const served = shares.filter(({ webdav_path: path }) => absence({ path }, facts.storage) === undefined);
    const head = serverPart(settings);
    const users = usersFile(settings);
    const pair = webdavPair(view, settings);
    const tls = typeof pair === 'object' ? pair : undefined;
    const unit = webdavUnitFile(settings);
    return {
      files: [
        { path: secretFiles.users, mode: 0o600, content: users },
        { path: secretFiles.certificate, mode: 0o600, content: tls?.chain },
        { path: secretFiles.key, mode: 0o600, content: tls?.key },
        {
          path: httpdFile,
          content:
            head + served.map((share) => partOf(share, addresses.get(share) ?? '', settings.webdav_htauth)).join(''),
          verify: apache,
        },
        { path: `/etc/systemd/system/${webdavUnit}.service`, content: unit, forServiceManager: true },
      ],
      // Apache reads ports and credentials only when it starts.
      services: [
        {
          name: webdavUnit,
          running: isOn(view, webdavService),
          onChange: 'reload',
          readAtStart: [head, users, tls?.chain, tls?.key, unit].join(''),
        },
      ],
    };
  },
};

/**
 * The first segment of each share's URL path: the name of the share. Of several shares with one name, the later ones
 * get `NAME-ID`; a name cannot contain a hyphen.
 */
function addressesOf(shares: readonly WebdavShare[]): ReadonlyMap<WebdavShare, string> {
  const taken = new Set<string>();
  return new Map(
    shares.map((share) => {
      const { webdav_name: name, id } = share;
      const address = taken.has(name) ? `${name}-${id}` : name;
      taken.add(name);
      return [share, address];
    }),
  );
}

/** The lines of each share depend only on its record, its address and the kind of login. */
const partOf = memo(sharePart);

const apache: Checker = {
  argv: (staged) => ['/usr/sbin/apache2', '-t', '-D', stagedDefine, '-f', staged],
  objection({ status, stderr }) {
    if (status === 0) return undefined;
    const messages = stderr.split('\n').map((line) => line.replace(/^(?:\[[^\]]*\] )*(?:AH\d+: )?/, '').trim());
    return `The WebDAV server rejects its configuration: ${
      messages
        .filter((line) => line !== '')
        .slice(0, 2)
        .join(' ') || `apache2 exited with status ${status}.`
    }`;
  },
};
