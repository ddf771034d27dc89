import type { domainControllerSettings } from '../../areas/services/domaincontroller.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof domainControllerSettings.fields>;

/** The domain itself: its directory, keys and scripts. Apart from what Samba keeps for shares. */
export const domainFolder = '/var/lib/samba/holdfast-dc';
export const confFile = '/etc/samba/holdfast-dc.conf';
export const wishesFile = '/etc/samba/holdfast-dc.json';

/** What follows from the making of the domain is in a file that was made with it; what may change stands behind. */
export function dcConf(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    '[global]',
    `include = ${domainFolder}/etc/smb.conf`,
    '[global]',
    // Each address alone: port 53 of one that is the machine's own is systemd-resolved's.
    'interfaces = *',
    'bind interfaces only = yes',
    settings.dc_dns_forwarder === '' ? undefined : `dns forwarder = ${settings.dc_dns_forwarder}`,
    'ad dc functional level = 2016',
    settings.dc_dns_backend === 'SAMBA_INTERNAL' ? undefined : 'server services = -dns',
  );
}

/** What the program reads that makes the domain, or brings it to these. */
export function wishes(settings: Settings): string {
  const {
    dc_realm: realm,
    dc_domain: domain,
    dc_dns_backend: dns,
    dc_forest_level: level,
    dc_passwd: password,
  } = settings;
  return lines(JSON.stringify({ realm, domain, dns, level, password }));
}

export const dcUnit: string = lines(
  '# Written by Holdfast.',
  '[Service]',
  'ExecCondition=',
  `ExecStartPre=/usr/lib/holdfast/domain-controller ${domainFolder} ${wishesFile} ${confFile}`,
  'ExecStart=',
  `ExecStart=/usr/sbin/samba --foreground --no-process-group --configfile=${confFile}`,
  // A domain is made in some seconds on most machines.
  'TimeoutStartSec=140',
);
