import {
  advanced,
  basic,
  choice,
  flag,
  integer,
  list,
  nullable,
  readOnly,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { configLines, groupName, octal, ownAddress, userName } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton } from '../../engine/declare/resource.ts';
import { service, tcp, udp } from './service.ts';

/** Order of the protocols by age; the name of a family has the first and the last of its versions. */
const protocols = {
  CORE: [0, 0],
  COREPLUS: [1, 1],
  LANMAN1: [2, 2],
  LANMAN2: [3, 3],
  NT1: [4, 4],
  SMB2: [5, 6],
  SMB2_02: [5, 5],
  SMB2_10: [6, 6],
  SMB3: [7, 9],
  SMB3_00: [7, 7],
  SMB3_02: [8, 8],
  SMB3_11: [9, 9],
} as const;

const protocolNames = [
  'CORE',
  'COREPLUS',
  'LANMAN1',
  'LANMAN2',
  'NT1',
  'SMB2',
  'SMB2_02',
  'SMB2_10',
  'SMB3',
  'SMB3_00',
  'SMB3_02',
  'SMB3_11',
] as const;

export const cifsSettings = singleton('services/cifs', {
  shortName: 'service/smb',
  title: 'CIFS settings',
  description: 'How Samba serves all CIFS shares.',
  fields: {
    ...basic('Identity', {
      cifs_srv_netbiosname: titled('NetBIOS name', required(netbiosName('NetBIOS name of the server.'))),
    }),
    ...advanced('Identity', {
      cifs_srv_netbiosalias: titled('NetBIOS alias', nullable(netbiosName('Additional NetBIOS name of the server.'))),
    }),
    ...basic('Identity', {
      cifs_srv_workgroup: required(netbiosName('Workgroup the server belongs to.')),
      cifs_srv_description: text({
        description: 'Comment that clients see next to the name of the server.',
        initial: 'Holdfast',
        max: 120,
      }),
    }),
    ...advanced('Authentication', {
      // Only the document has the authentication model and the two protocol fields (gaps 17).
      cifs_srv_authmodel: titled(
        'Authentication model',
        choice(['user', 'share'], {
          description:
            'Authentication model. Samba supports only user: share is stored, but clients still log in with an account.',
          initial: 'user',
        }),
      ),
    }),
    ...advanced('Character sets', {
      cifs_srv_doscharset: titled(
        'DOS character set',
        choice(['CP437', 'CP850', 'CP852', 'CP866', 'CP932', 'CP949', 'CP950', 'CP1026', 'CP1251', 'ASCII'], {
          description: 'Character set for clients without Unicode.',
          initial: 'CP437',
        }),
      ),
      cifs_srv_unixcharset: titled(
        'Unix character set',
        choice(['UTF-8', 'iso-8859-1', 'iso-8859-15', 'gb2312', 'EUC-JP', 'ASCII'], {
          description: 'Character set of file names on the volumes.',
          initial: 'UTF-8',
          // The spelling of the public sources (gaps 8.3).
          also: { 'ISO-8859-1': 'iso-8859-1', 'ISO-8859-15': 'iso-8859-15', GB2312: 'gb2312' },
        }),
      ),
    }),
    ...advanced('Log', {
      cifs_srv_loglevel: titled(
        'Log level',
        choice(['0', '1', '2', '3', '10'], {
          description: 'Log level; 0 logs the least.',
          initial: '0',
        }),
      ),
      cifs_srv_syslog: titled(
        'Log to syslog only',
        flag(false, { description: 'Whether the log also goes to the system log.' }),
      ),
    }),
    ...advanced('Network', {
      cifs_srv_localmaster: titled(
        'Local master',
        flag(false, {
          description: 'Whether the server may become the local master browser.',
        }),
      ),
      cifs_srv_domain_logons: flag(false, { description: 'Whether Windows 9x and NT domain members may log on here.' }),
      cifs_srv_timeserver: titled(
        'Time server',
        flag(false, { description: 'Whether the server announces itself as a time server.' }),
      ),
    }),
    ...basic('Guests', {
      cifs_srv_guest: titled(
        'Guest account',
        refine(userName({ description: 'Account that guests work as.', initial: 'nobody' }), (name) =>
          name === 'root' ? 'Expected an account other than root.' : undefined,
        ),
      ),
    }),
    ...advanced('Permissions', {
      cifs_srv_filemask: titled(
        'Mask of files',
        octal({
          description: 'Permission bits that a new file may have at most; 0664 when empty.',
          max: 0o11777,
        }),
      ),
      cifs_srv_dirmask: titled(
        'Mask of folders',
        octal({
          description: 'Permission bits that a new folder may have at most; 0775 when empty.',
          max: 0o11777,
        }),
      ),
    }),
    ...advanced('Authentication', {
      cifs_srv_nullpw: titled(
        'Allow empty passwords',
        flag(false, { description: 'Whether accounts with an empty password may connect.' }),
      ),
    }),
    ...advanced('Further', {
      cifs_srv_smb_options: titled(
        'Additional lines',
        configLines({ description: 'Additional lines of the global section of smb.conf.' }),
      ),
    }),
    ...advanced('Compatibility', {
      cifs_srv_unixext: titled(
        'Unix extensions',
        flag(true, { description: 'Whether the Unix extensions of SMB are enabled.' }),
      ),
    }),
    ...advanced('Performance', {
      cifs_srv_aio_enable: titled(
        'Asynchronous I/O',
        flag(false, { description: 'Whether large reads and writes are asynchronous.' }),
      ),
      cifs_srv_aio_rs: titled(
        'Smallest asynchronous read',
        integer({
          description: 'Smallest asynchronous read in bytes.',
          min: 0,
          max: 2 ** 31 - 1,
          initial: 4096,
        }),
      ),
      cifs_srv_aio_ws: titled(
        'Smallest asynchronous write',
        integer({
          description: 'Smallest asynchronous write in bytes.',
          min: 0,
          max: 2 ** 31 - 1,
          initial: 4096,
        }),
      ),
    }),
    ...advanced('Network', {
      cifs_srv_zeroconf: titled(
        'Announce by mDNS',
        flag(true, { description: 'Whether the server announces itself by multicast DNS.' }),
      ),
      cifs_srv_hostlookup: titled(
        'Look up names of clients',
        flag(true, {
          description: 'Whether client addresses are resolved to names, for lists of hosts that contain names.',
        }),
      ),
    }),
    ...advanced('Protocol', {
      cifs_srv_min_protocol: titled(
        'Oldest protocol',
        choice(['', ...protocolNames], {
          description: 'Lowest protocol version; the default of Samba, SMB2_02, when empty.',
          initial: '',
        }),
      ),
      cifs_srv_max_protocol: titled(
        'Newest protocol',
        choice(protocolNames, { description: 'Highest protocol version.', initial: 'SMB3' }),
      ),
    }),
    ...advanced('Permissions', {
      cifs_srv_allow_execute_always: titled(
        'Execute without permission',
        flag(true, {
          description:
            'Whether clients may execute every file that they may read, regardless of its execute permission.',
        }),
      ),
    }),
    ...advanced('Authentication', {
      cifs_srv_obey_pam_restrictions: titled(
        'Obey PAM restrictions',
        flag(true, {
          description: 'Whether the PAM rules of the machine for accounts and sessions also apply.',
        }),
      ),
    }),
    ...advanced('Network', {
      // From here on, fields are not listed in the document (gaps 8.3).
      cifs_srv_bindip: titled(
        'Addresses',
        list(ownAddress({ description: 'An address of this machine.' }), {
          description: 'Addresses the server listens on; all when empty.',
          max: 64,
        }),
      ),
    }),
    ...advanced('Permissions', {
      cifs_srv_admin_group: titled(
        'Administrators',
        groupName({ description: 'Group whose members have full access to every share.', spaces: true }),
      ),
    }),
    ...advanced('Protocol', {
      cifs_srv_enable_smb1: titled(
        'SMB 1',
        flag(false, { description: 'Whether SMB1 is enabled, regardless of cifs_srv_min_protocol.' }),
      ),
      cifs_srv_ntlmv1_auth: titled(
        'NTLMv1',
        flag(false, { description: 'Whether clients may authenticate with the weak NTLMv1.' }),
      ),
    }),
    cifs_SID: titled(
      'Security identifier',
      readOnly(
        nullable(text({ description: 'Security identifier of the server. Samba manages it, so it is always null.' })),
      ),
    ),
  },
  seed: () => ({ cifs_srv_netbiosname: 'holdfast', cifs_srv_workgroup: 'WORKGROUP' }),
  problems: ({ cifs_srv_authmodel: model }) =>
    model === 'share'
      ? [
          {
            kind: 'ineffective',
            about: 'services/cifs',
            detail: 'cifs_srv_authmodel',
            severity: 'warning',
            message:
              'cifs_srv_authmodel is share, which Samba no longer has: clients log in with an account. Set it to user; for access without a password set cifs_guestok of the share.',
            remedy: { method: 'PUT', path: '/api/v1.0/services/cifs/', body: { cifs_srv_authmodel: 'user' } },
          },
        ]
      : [],
  check({ record, issues }) {
    if (record.cifs_srv_netbiosname.toLowerCase() === record.cifs_srv_workgroup.toLowerCase())
      issues.add('cifs_srv_netbiosname', 'cifs_srv_netbiosname must differ from cifs_srv_workgroup.');
    const requested = record.cifs_srv_min_protocol === '' ? 'SMB2_02' : record.cifs_srv_min_protocol;
    const [lowest] = record.cifs_srv_enable_smb1 ? protocols.NT1 : protocols[requested];
    const [, highest] = protocols[record.cifs_srv_max_protocol];
    if (lowest > highest)
      issues.add(
        'cifs_srv_max_protocol',
        `Expected ${requested}, the lowest protocol, or a later one, got ${record.cifs_srv_max_protocol}.`,
      );
  },
});

export const cifsService = service('cifs', {
  settings: cifsSettings,
  programs: ['smbd', 'nmbd'],
  servesVolumes: true,
  units: (_, settings) => (settings === undefined || servesNetbios(settings) ? ['smbd', 'nmbd'] : ['smbd']),
  // smbd listens on port 139 also then.
  listens: (settings) => [tcp(139), tcp(445), ...(servesNetbios(settings) ? [udp(137), udp(138)] : [])],
});

/** Whether the additional lines leave NetBIOS on. Without it nmbd has nothing to do, and Debian's unit does not start it. */
export function servesNetbios({ cifs_srv_smb_options: lines }: Pick<CifsSettings, 'cifs_srv_smb_options'>): boolean {
  const values = lines
    .replaceAll(/\\\r?\n/g, '')
    .split('\n')
    .flatMap((line) => {
      const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(line) ?? [];
      // Samba ignores case and blanks in the names of parameters.
      return name.replaceAll(/\s/g, '').toLowerCase() === 'disablenetbios' ? [value.trim()] : [];
    });
  return !/^(?:yes|true|on|1)$/i.test(values.at(-1) ?? '');
}

export type CifsSettings = RecordOf<typeof cifsSettings.fields>;

/** The characters of gaps 3.1 except the percent sign, which Samba reads as the beginning of a macro. */
export function netbiosName(description: string) {
  return text({
    description,
    max: 15,
    pattern: /^[A-Za-z0-9._!@#$^&()'{}~-]+$/,
    rule: "Expected letters, digits and the characters . - _ ! @ # $ ^ & ( ) ' { } ~ only.",
  });
}
