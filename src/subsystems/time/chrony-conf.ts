import type { ntpServer } from '../../areas/system/ntpserver.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Server = RecordOf<typeof ntpServer.fields>;

/** `/etc/chrony/chrony.conf`: the configured servers only; the other lines are Debian's. */
export function chronyConf(servers: readonly Server[]): string {
  return lines(
    '# Written by Holdfast.',
    servers.map((server) =>
      [
        `server ${server.ntp_address}`,
        ...(server.ntp_iburst ? ['iburst'] : []),
        ...(server.ntp_burst ? ['burst'] : []),
        ...(server.ntp_prefer ? ['prefer'] : []),
        `minpoll ${server.ntp_minpoll}`,
        `maxpoll ${server.ntp_maxpoll}`,
      ].join(' '),
    ),
    'driftfile /var/lib/chrony/chrony.drift',
    'ntsdumpdir /var/lib/chrony',
    'logdir /var/log/chrony',
    'maxupdateskew 100.0',
    'rtcsync',
    'makestep 1 3',
    'leapseclist /usr/share/zoneinfo/leap-seconds.list',
  );
}
