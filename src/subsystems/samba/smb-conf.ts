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
 * A text as people shall read it. smb.conf has no escapes, so an invisible character stands where Samba would find a
 * macro, drop quotes around the whole, or take a backslash at the end for a continuation.
 */
function plain(text: string): string {
  return withoutMacros(text)
    .replace(/^"/, `${wordJoiner}"`)
    .replace(/["\\]$/, `$&${wordJoiner}`);
}

/** A path. A quote or a backslash must not come last, where Samba would drop it. */
function pathValue(path: string): string {
  return /["\\]$/.test(path) ? `${path}/.` : path;
}

/** A line of a section; none for a value that is unset. */
function set(name: string, value: string | number | boolean | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  return `  ${name} = ${typeof value === 'boolean' ? (value ? 'yes' : 'no') : value}`;
}

/** Lines as a person wrote them. Their field has refused what would reach beyond the section. */
const asWritten = (text: string): string | undefined => (text === '' ? undefined : text);

// [global] -----------------------------------------------------------------------------------------------------------

/** Parameters by their names, as those of a member of a domain. */
export type Options = readonly (readonly [name: string, value: string | number | boolean | undefined])[];

/** Its own file, where nothing else is said. */
const ownPasswords: Options = [['passdb backend', `smbpasswd:${smbPasswordFile}`]];

/**
 * `member` is what makes Samba a member of a domain; without it, it is a server by itself. `verbose` tells of the domain
 * in the log. `passwords` is where it finds those of accounts.
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
    set('admin users', settings.cifs_srv_admin_group === '' ? undefined : `+${settings.cifs_srv_admin_group}`),
    // Samba warns of this one and of domain logons wherever they stand, even when they say no.
    set('null passwords', settings.cifs_srv_nullpw || undefined),
    settings.cifs_srv_domain_logons ? domainLines : [],
    set('local master', settings.cifs_srv_localmaster),
    set('time server', settings.cifs_srv_timeserver),
    set('multicast dns register', settings.cifs_srv_zeroconf),
    set('hostname lookups', settings.cifs_srv_hostlookup),
    set('unix extensions', settings.cifs_srv_unixext),
    set('acl allow execute always', settings.cifs_srv_allow_execute_always),
    // Unset, what clients make gets the permissions that the folder of a share is made with.
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

/** A domain's controller maps accounts of other domains, and must be told to which numbers. */
const domainLines = [
  set('domain logons', true),
  set('idmap config * : backend', 'tdb'),
  set('idmap config * : range', '90000001-100000000'),
];

/** The loopback address stays, for the machine's own tools. */
function listenOn({ cifs_srv_bindip: addresses }: Settings): string | undefined {
  return addresses.length === 0 ? undefined : ['127.0.0.1', ...addresses].join(' ');
}

/** Samba reads a family's name as its newest member, which as the lowest would shut the others out. */
function lowestProtocol({ cifs_srv_min_protocol: lowest, cifs_srv_enable_smb1: smb1 }: Settings): string | undefined {
  if (smb1 && (lowest === '' || lowest.startsWith('SMB'))) return 'NT1';
  if (lowest === 'SMB2') return 'SMB2_02';
  return lowest === 'SMB3' ? 'SMB3_00' : lowest;
}

/** What smbd and nmbd only read when they start. */
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

/** What nmbd alone only reads when it starts: how it announces itself. */
export function announcedAtStart(settings: Settings): string {
  return lines(
    set('server string', plain(settings.cifs_srv_description)),
    set('local master', settings.cifs_srv_localmaster),
    set('time server', settings.cifs_srv_timeserver),
  );
}

// Shares -------------------------------------------------------------------------------------------------------------

/** `versions` is how the names of the snapshots tell their time that clients see as previous versions. */
export function shareSection(share: Share, versions?: string): string {
  const modules = modulesOf(share);
  return lines(
    '',
    `[${share.cifs_home ? 'homes' : share.cifs_name}]`,
    set('comment', plain(share.cifs_comment)),
    share.cifs_home ? homeLines(share.cifs_path) : set('path', pathValue(share.cifs_path)),
    set('read only', share.cifs_ro),
    set('browseable', share.cifs_browsable && !share.cifs_home),
    set('guest ok', share.cifs_guestok),
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
 * Every account finds its own folder, whatever home share it asks for. Samba escapes what is special to a shell unless
 * it stands in single quotes, so the script does, and is given the path as an argument.
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

/** The folder is made by whoever deletes first, so it must be open to all who come after. */
const recycleLines = [
  set('recycle:repository', '.recycle'),
  set('recycle:keeptree', true),
  set('recycle:versions', true),
  set('recycle:touch', true),
  set('recycle:directory_mode', '0777'),
  set('recycle:subdir_mode', '0777'),
];

/** Where ZFS shows snapshots, whose names tell local time. */
const shadowLines = [set('shadow:snapdir', '.zfs/snapshot'), set('shadow:localtime', true), set('shadow:sort', 'desc')];

/** Time Machine relies on handles that outlive a connection, which need locks that only Samba knows of. */
const timeMachineLines = [
  set('fruit:time machine', true),
  set('fruit:metadata', 'stream'),
  set('durable handles', true),
  set('kernel oplocks', false),
  set('kernel share modes', false),
  set('posix locking', false),
];
