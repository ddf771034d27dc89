import type { snmpSettings } from '../../areas/services/snmp.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof snmpSettings.fields>;

/** The OID below which pools are published, and the program that answers requests there. */
export const privateTree = '.1.3.6.1.4.1.50536.1';
const privateProgram = '/usr/lib/holdfast/snmp-pools';

export function snmpdConf(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    'agentaddress udp:161',
    // These values extend to the end of the line, so quotes need no escaping.
    settings.snmp_location === '' ? undefined : `syslocation ${settings.snmp_location}`,
    settings.snmp_contact === '' ? undefined : `syscontact ${settings.snmp_contact}`,
    // The layers datalink, internet, end-to-end and applications (RFC 1213), as usual for a host.
    'sysservices 76',
    settings.snmp_community === '' ? undefined : `rocommunity ${quoted(settings.snmp_community)}`,
    settings.snmp_v3 ? accountLines(settings) : undefined,
    `pass_persist ${privateTree}.1 ${privateProgram} pools`,
    settings.snmp_zilstat ? `pass_persist ${privateTree}.5 ${privateProgram} intent-log` : undefined,
    `authtrapenable ${settings.snmp_traps ? 1 : 2}`,
    settings.snmp_traps && settings.snmp_community !== ''
      ? `trapcommunity ${quoted(settings.snmp_community)}`
      : undefined,
    settings.snmp_options === '' ? undefined : settings.snmp_options,
  );
}

function accountLines(settings: Settings): readonly string[] {
  const name = quoted(settings.snmp_v3_username);
  if (settings.snmp_v3_authtype === '') return [`createUser ${name}`, `rouser ${name} noauth`];
  const proof = `${settings.snmp_v3_authtype} ${quoted(settings.snmp_v3_password)}`;
  if (settings.snmp_v3_privproto === null) return [`createUser ${name} ${proof}`, `rouser ${name} auth`];
  return [
    `createUser ${name} ${proof} ${settings.snmp_v3_privproto} ${quoted(settings.snmp_v3_privpassphrase ?? '')}`,
    `rouser ${name} priv`,
  ];
}

/**
 * snmpd stores the keys of every account that it created in a file of its own, and prefers them to a changed password.
 * So they are removed from that file at every start.
 */
export function snmpdUnit(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    '[Service]',
    'ExecStartPre=-/usr/bin/sed -i /^usmUser/d /var/lib/snmp/snmpd.conf',
    'ExecStart=',
    `ExecStart=/usr/sbin/snmpd -LO${settings.snmp_loglevel} -u Debian-snmp -g Debian-snmp -I -smux,mteTrigger,mteTriggerConf -f`,
  );
}

/** A quoted string with its special characters escaped. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
