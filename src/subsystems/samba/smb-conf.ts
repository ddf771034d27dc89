import type { cifsSettings } from '../../areas/services/cifs.ts';
import type { cifsShare } from '../../areas/sharing/cifs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { withoutMacros, wordJoiner } from '../../lib/macros.ts';
import { lines, words } from '../../lib/text.ts';
import { modulesOf } from './modules.ts';
import { smbPasswordFile } from './paths.ts';

type Settings = RecordOf<typeof cifsSettings.fields>;
type Share = RecordOf<typeof cifsShare.fields>;

// Values -------------------------------------------------------------------------------------------------------------

/**
 * Free text. smb.conf has no escapes, so an invisible character is inserted where Samba would expand a macro, remove
 * quotes around the whole value, or take a backslash at the end for a line continuation.
 */
function plain(text: string): string {
  return withoutMacros(text)
    .replace(/^"/, `${wordJoiner}"`)
    .replace(/["\\]$/, `$&${wordJoiner}`);
}

/** A path. `/.` is appended after a quote or a backslash at the end, which Samba would drop. */
function pathValue(path: string): string {
  return /["\\]$/.test(path) ? `${path}/.` : path;
}

/** A line of a section, or undefined if the value is unset. */
function set(name: string, value: string | number | boolean | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  return `  ${name} = ${typeof value === 'boolean' ? (value ? 'yes' : 'no') : value}`;
}

/** Auxiliary parameters, verbatim. Their field has refused lines that would end the section. */
const asWritten = (text: string): string | undefined => (text === '' ? undefined : text);

// [global] -----------------------------------------------------------------------------------------------------------

/** Parameters with their names. */
export type Options = readonly (readonly [name: string, value: string | number | boolean | undefined])[];

/** The default: Samba's own password file. */
const ownPasswords: Options = [['passdb backend', `smbpasswd:${smbPasswordFile}`]];

/**
 * `member` has the parameters of a domain member; without them Samba is a standalone server. `passwords` selects the
 * password backend. `verbose` logs more about the domain.
 */
export function globalSection(
  settings: Settings,
  options: { readonly member?: Options; readonly passwords?: Options; readonly verbose?: boolean } = {},
): string {
  const { member = [], passwords = ownPasswords } = options;
  return lines(
    '# Written by Holdfast.',
    '[global]',
    set('netbios name', settings.cifs_srv_netbiosname),
    set('netbios aliases', settings.cifs_srv_netbiosalias ?? undefined),
    member.length > 0 ? optionLines(member) : set('workgroup', settings.cifs_srv_workgroup),
    set('server string', plain(settings.cifs_srv_description)),
    set('dos charset', settings.cifs_srv_doscharset),
    set('unix charset', settings.cifs_srv_unixcharset),
    set('interfaces', listenOn(settings)),
    set('bind interfaces only', settings.cifs_srv_bindip.length > 0),
    set('server min protocol', lowestProtocol(settings)),
    set('server max protocol', settings.cifs_srv_max_protocol),
    set('ntlm auth', settings.cifs_srv_ntlmv1_auth ? 'ntlmv1-permitted' : 'ntlmv2-only'),
    optionLines(passwords),
    set('obey pam restrictions', settings.cifs_srv_obey_pam_restrictions),
    set('map to guest', 'Bad User'),
    set('guest account', settings.cifs_srv_guest),
    set('admin users', membersOf(settings.cifs_srv_admin_group)),
    // Left out when false: Samba warns about this one and `domain logons` even if they are set to no.
    set('null passwords', settings.cifs_srv_nullpw || undefined),
    settings.cifs_srv_domain_logons ? domainLines : [],
    set('local master', settings.cifs_srv_localmaster),
    set('time server', settings.cifs_srv_timeserver),
    set('multicast dns register', settings.cifs_srv_zeroconf),
    set('hostname lookups', settings.cifs_srv_hostlookup),
    set('unix extensions', settings.cifs_srv_unixext),
    set('acl allow execute always', settings.cifs_srv_allow_execute_always),
    // By default, new files and folders get the permissions with which a share's folder is created.
    set('create mask', settings.cifs_srv_filemask || '0664'),
    set('directory mask', settings.cifs_srv_dirmask || '0775'),
    set('aio read size', settings.cifs_srv_aio_enable ? settings.cifs_srv_aio_rs : 0),
    set('aio write size', settings.cifs_srv_aio_enable ? settings.cifs_srv_aio_ws : 0),
    set(
      'log level',
      [settings.cifs_srv_loglevel, ...(options.verbose === true ? ['winbind:5', 'auth:5', 'idmap:5'] : [])].join(' '),
    ),
    set('logging', settings.cifs_srv_syslog ? 'syslog file' : 'file'),
    set('log file', '/var/log/samba/log.%m'),
    set('max log size', 1000),
    set('load printers', false),
    set('printing', 'bsd'),
    set('printcap name', '/dev/null'),
    set('disable spoolss', true),
    asWritten(settings.cifs_srv_smb_options),
  );
}

export const optionLines = (options: Options) => options.map(([name, value]) => set(name, value));

/** A domain controller maps accounts of other domains and requires an id range for them. */
const domainLines = [
  set('domain logons', true),
  set('idmap config * : backend', 'tdb'),
  set('idmap config * : range', '90000001-100000000'),
];

/** The members of a group, or nothing for no group. Samba reads a name with a space as one within quotation marks. */
function membersOf(group: string): string | undefined {
  if (group === '') return undefined;
  return group.includes(' ') ? `"+${group}"` : `+${group}`;
}

/** Always includes the loopback address, for the machine's own tools. */
function listenOn({ cifs_srv_bindip: addresses }: Settings): string | undefined {
  return addresses.length === 0 ? undefined : ['127.0.0.1', ...addresses].join(' ');
}

/**
 * Samba takes the name of a protocol family (SMB2, SMB3) for its newest version. As the minimum that would exclude the
 * older versions of the family, so the oldest is written.
 */
function lowestProtocol({ cifs_srv_min_protocol: lowest, cifs_srv_enable_smb1: smb1 }: Settings): string | undefined {
  if (smb1 && (lowest === '' || lowest.startsWith('SMB'))) return 'NT1';
  if (lowest === 'SMB2') return 'SMB2_02';
  return lowest === 'SMB3' ? 'SMB3_00' : lowest;
}

/** Parameters that smbd and nmbd read only when they start. */
export function readAtStart(settings: Settings, member: Options = []): string {
  return lines(
    optionLines(member),
    set('netbios name', settings.cifs_srv_netbiosname),
    set('netbios aliases', settings.cifs_srv_netbiosalias ?? undefined),
    set('workgroup', settings.cifs_srv_workgroup),
    set('dos charset', settings.cifs_srv_doscharset),
    set('unix charset', settings.cifs_srv_unixcharset),
    set('interfaces', listenOn(settings)),
    set('domain logons', settings.cifs_srv_domain_logons),
    set('multicast dns register', settings.cifs_srv_zeroconf),
  );
}

/** Further parameters that nmbd reads only when it starts: its announcement. */
export function announcedAtStart(settings: Settings): string {
  return lines(
    set('server string', plain(settings.cifs_srv_description)),
    set('local master', settings.cifs_srv_localmaster),
    set('time server', settings.cifs_srv_timeserver),
  );
}

// Shares -------------------------------------------------------------------------------------------------------------

/** `versions` is the time format in the names of the snapshots that clients see as previous versions. */
export function shareSection(share: Share, versions?: string): string {
  const modules = modulesOf(share);
  return lines(
    '',
    `[${share.cifs_home ? 'homes' : share.cifs_name}]`,
    set('comment', plain(share.cifs_comment)),
    share.cifs_home ? homeLines(share.cifs_path) : set('path', pathValue(share.cifs_path)),
    set('read only', share.cifs_ro),
    set('browseable', share.cifs_browsable && !share.cifs_home),
    // Samba ignores `guest only` without `guest ok`.
    set('guest ok', share.cifs_guestok || share.cifs_guestonly),
    set('guest only', share.cifs_guestonly),
    set('hosts allow', words(share.cifs_hostsallow).join(' ')),
    set('hosts deny', words(share.cifs_hostsdeny).join(' ')),
    set('hide dot files', !share.cifs_showhiddenfiles),
    set('access based share enum', share.cifs_abe),
    set('hide unreadable', share.cifs_abe),
    set('vfs objects', modules.join(' ')),
    modules.includes('recycle') ? recycleLines : [],
    modules.includes('shadow_copy2') ? [...shadowLines, set('shadow:format', versions)] : [],
    share.cifs_timemachine ? timeMachineLines : [],
    asWritten(share.cifs_auxsmbconf),
  );
}

/**
 * Every account gets its own folder, whichever home share it connects to. Samba escapes shell characters in a command
 * except inside single quotes, so the script is quoted and gets the path as an argument.
 */
function homeLines(path: string): readonly (string | undefined)[] {
  const script = 'test -d "$1" || install -d -m 0700 -o "$2" -g "$3" "$1"';
  const home = `'${path.replaceAll("'", "'\\''")}/%U'`;
  return [
    set('path', `${path}/%U`),
    set('valid users', '%U'),
    set('root preexec', `/bin/sh -c '${script}' sh ${home} '%U' '%G'`),
  ];
}

/** The first user who deletes a file creates the folder, so it must be writable for all others. */
const recycleLines = [
  set('recycle:repository', '.recycle'),
  set('recycle:keeptree', true),
  set('recycle:versions', true),
  set('recycle:touch', true),
  set('recycle:directory_mode', '0777'),
  set('recycle:subdir_mode', '0777'),
];

/** ZFS shows snapshots in .zfs/snapshot. Their names contain local time. */
const shadowLines = [set('shadow:snapdir', '.zfs/snapshot'), set('shadow:localtime', true), set('shadow:sort', 'desc')];

/** Time Machine requires durable handles, which Samba grants only if it keeps all locks to itself. */
const timeMachineLines = [
  set('fruit:time machine', true),
  set('fruit:metadata', 'stream'),
  set('durable handles', true),
  set('kernel oplocks', false),
  set('kernel share modes', false),
  set('posix locking', false),
];
