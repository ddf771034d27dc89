import type { domainControllerSettings } from '../../areas/services/domaincontroller.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof domainControllerSettings.fields>;

/** The domain: its directory, keys and scripts. It is separate from the state that Samba keeps for shares. */
export const domainFolder = '/var/lib/samba/holdfast-dc';
export const confFile = '/etc/samba/holdfast-dc.conf';
export const provisionFile = '/etc/samba/holdfast-dc.json';

/**
 * Provisioning the domain wrote an smb.conf with the parameters that cannot change. This file includes it and adds the
 * parameters that can.
 */
export function dcConf(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    '[global]',
    `include = ${domainFolder}/etc/smb.conf`,
    '[global]',
    // Bind each address instead of the wildcard: systemd-resolved already has port 53 on a loopback address.
    'interfaces = *',
    'bind interfaces only = yes',
    settings.dc_dns_forwarder === '' ? undefined : `dns forwarder = ${settings.dc_dns_forwarder}`,
    'ad dc functional level = 2016',
    settings.dc_dns_backend === 'SAMBA_INTERNAL' ? undefined : 'server services = -dns',
  );
}

/** Input of the program that provisions the domain, or changes an existing one to these values. */
export function provisionInput(settings: Settings): string {
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
  `ExecStartPre=/usr/lib/holdfast/domain-controller ${domainFolder} ${provisionFile} ${confFile}`,
  'ExecStart=',
  `ExecStart=/usr/sbin/samba --foreground --no-process-group --configfile=${confFile}`,
  // Includes provisioning, which takes a few seconds on most machines.
  'TimeoutStartSec=140',
);
