/** What smbd reads of smb.conf only when it starts. */
import type { StartFile } from '../../engine/declare/subsystem.ts';
import { sharesPrefix, smbConfFile } from './paths.ts';
import { isYes, smbConfOf } from './smb-conf-lines.ts';

/**
 * Parameters that smbd reads again at a reload or for each connection, among those that Holdfast writes or drops. A
 * connection opens the password file anew, so that the backend is one of them. All others count as read at the start.
 */
const readAgain: ReadonlySet<string> = new Set([
  ...['acl allow execute always', 'admin users', 'aio read size', 'aio write size', 'create mask', 'directory mask'],
  ...['guest account', 'hostname lookups', 'map to guest', 'ntlm auth', 'null passwords', 'obey pam restrictions'],
  ...['passdb backend', 'server max protocol', 'server min protocol', 'server string', 'unix extensions'],
  // Of logs and printers, what is not read again makes no difference to a client.
  ...['log file', 'log level', 'logging', 'max log size', 'panic action', 'syslog', 'syslog only'],
  ...['disable spoolss', 'load printers', 'printcap name', 'printing'],
  // Holdfast changes passwords itself.
  ...['pam password change', 'passwd chat', 'passwd program', 'unix password sync'],
  // Only nmbd reads these.
  ...['dns proxy', 'domain master', 'local master', 'os level', 'preferred master', 'time server', 'wins support'],
]);

/** What Samba does without a line, by the values that mean the same. */
const usual: Readonly<Record<string, RegExp>> = {
  'bind interfaces only': /^no$/,
  'disable netbios': /^no$/,
  'domain logons': /^no$/,
  'dos charset': /^cp850$/,
  interfaces: /^$/,
  'multicast dns register': /^yes$/,
  'netbios aliases': /^$/,
  security: /^(?:auto|user)$/,
  'server role': /^(?:auto|standalone|standalone server)$/,
  'unix charset': /^utf-?8$/,
  workgroup: /^workgroup$/,
};

export const smbdStart: StartFile = {
  path: smbConfFile,
  read(content, { hostname }) {
    const { sections, unread } = smbConfOf(smbConfFile, (path) => (path === smbConfFile ? content : undefined));
    if (unread.some(({ value }) => !value.startsWith(sharesPrefix))) return undefined;
    const global = sections.find(({ name }) => name.toLowerCase() === 'global')?.parameters ?? new Map();
    const values = [...global.values()].map(({ name, value }) => [name, plain(value)] as const);
    const counting = values.filter(([name, value]) => !readAgain.has(name) && usual[name]?.test(value) !== true);
    const all = new Map([['netbios name', netbiosNameOf(hostname)], ...counting]);
    return JSON.stringify([...all].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  },
};

/** The name that Samba takes from that of the machine. */
export function netbiosNameOf(hostname: string): string {
  return (hostname.split('.')[0] ?? '').slice(0, 15).toLowerCase();
}

function plain(value: string): string {
  if (isYes(value)) return 'yes';
  return /^(?:no|false|off|0)$/i.test(value) ? 'no' : value.toLowerCase();
}
