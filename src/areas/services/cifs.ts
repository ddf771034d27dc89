import {
  choice,
  flag,
  integer,
  list,
  nullable,
  readOnly,
  refine,
  required,
  text,
} from '../../engine/declare/fields.ts';
import { configLines, groupName, ipAddress, octal, userName } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton } from '../../engine/declare/resource.ts';

/** Each protocol's place in time, first and last for the name of a family. */
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
  title: 'CIFS settings',
  description: 'How Samba serves all CIFS shares.',
  fields: {
    cifs_srv_netbiosname: required(netbiosName('Name of the server in the Windows network.')),
    cifs_srv_netbiosalias: nullable(netbiosName('A second name the server answers to.')),
    cifs_srv_workgroup: required(netbiosName('Workgroup the server belongs to.')),
    cifs_srv_description: text({
      description: 'Comment that clients see beside the name of the server.',
      initial: 'Holdfast',
      max: 120,
    }),
    // The authentication model, the lowest and the highest protocol are the document's alone (gaps 17).
    cifs_srv_authmodel: choice(['user', 'share'], {
      description:
        'Who is asked for a password. Samba knows only user: share is kept, and accounts are asked all the same.',
      initial: 'user',
    }),
    cifs_srv_doscharset: choice(
      ['CP437', 'CP850', 'CP852', 'CP866', 'CP932', 'CP949', 'CP950', 'CP1026', 'CP1251', 'ASCII'],
      {
        description: 'Character set for clients without Unicode.',
        initial: 'CP437',
      },
    ),
    cifs_srv_unixcharset: choice(['UTF-8', 'iso-8859-1', 'iso-8859-15', 'gb2312', 'EUC-JP', 'ASCII'], {
      description: 'Character set of file names on the volumes.',
      initial: 'UTF-8',
      // As the public sources spell them (gaps 8.3).
      also: { 'ISO-8859-1': 'iso-8859-1', 'ISO-8859-15': 'iso-8859-15', GB2312: 'gb2312' },
    }),
    cifs_srv_loglevel: choice(['0', '1', '2', '3', '10'], {
      description: 'How much is logged; 0 is the least.',
      initial: '0',
    }),
    cifs_srv_syslog: flag(false, { description: 'Whether the log also goes to the system log.' }),
    cifs_srv_localmaster: flag(false, {
      description: 'Whether the server may become the one that keeps the list of servers of its network.',
    }),
    cifs_srv_domain_logons: flag(false, { description: 'Whether Windows 9x and NT domain members may log on here.' }),
    cifs_srv_timeserver: flag(false, { description: 'Whether the server announces itself as a time server.' }),
    cifs_srv_guest: refine(userName({ description: 'Account that guests work as.', initial: 'nobody' }), (name) =>
      name === 'root' ? 'Guests must not work as root.' : undefined,
    ),
    cifs_srv_filemask: octal({
      description: 'Permission bits that a new file may have at most; 0664 when empty.',
      max: 0o11777,
    }),
    cifs_srv_dirmask: octal({
      description: 'Permission bits that a new folder may have at most; 0775 when empty.',
      max: 0o11777,
    }),
    cifs_srv_nullpw: flag(false, { description: 'Whether accounts with an empty password may connect.' }),
    cifs_srv_smb_options: configLines({ description: 'Further lines of the global section of smb.conf.' }),
    cifs_srv_unixext: flag(true, { description: 'Whether Unix clients get the extensions that are made for them.' }),
    cifs_srv_aio_enable: flag(false, { description: 'Whether large reads and writes go on while others are served.' }),
    cifs_srv_aio_rs: integer({
      description: 'Smallest read that goes on by itself, in bytes.',
      min: 0,
      max: 2 ** 31 - 1,
      initial: 4096,
    }),
    cifs_srv_aio_ws: integer({
      description: 'Smallest write that goes on by itself, in bytes.',
      min: 0,
      max: 2 ** 31 - 1,
      initial: 4096,
    }),
    cifs_srv_zeroconf: flag(true, { description: 'Whether the server announces itself by multicast DNS.' }),
    cifs_srv_hostlookup: flag(true, {
      description: 'Whether the name of a client is looked up, for lists of hosts that hold names.',
    }),
    cifs_srv_min_protocol: choice(['', ...protocolNames], {
      description: "Lowest protocol that is spoken; Samba's own choice, SMB2_02, when empty.",
      initial: '',
    }),
    cifs_srv_max_protocol: choice(protocolNames, { description: 'Highest protocol that is spoken.', initial: 'SMB3' }),
    cifs_srv_allow_execute_always: flag(true, {
      description: 'Whether clients may execute a file that they may read, whatever its permissions say.',
    }),
    cifs_srv_obey_pam_restrictions: flag(true, {
      description: "Whether the machine's own rules for accounts and sessions hold as well.",
    }),
    // Beyond the document's list, from here on (gaps 8.3).
    cifs_srv_bindip: list(ipAddress({ description: 'An address of this machine.' }), {
      description: 'Addresses the server listens on; all when empty.',
      max: 64,
    }),
    cifs_srv_admin_group: groupName({ description: 'Group whose members may do everything on every share.' }),
    cifs_srv_enable_smb1: flag(false, { description: 'Whether SMB1 is spoken, whatever the lowest protocol.' }),
    cifs_srv_ntlmv1_auth: flag(false, { description: 'Whether clients may answer with the old, weak NTLMv1.' }),
    cifs_SID: readOnly(
      nullable(
        text({ description: 'Security identifier of the server. Samba keeps it by itself, so it is always null.' }),
      ),
    ),
  },
  seed: () => ({ cifs_srv_netbiosname: 'holdfast', cifs_srv_workgroup: 'WORKGROUP' }),
  check({ record, issues }) {
    if (record.cifs_srv_netbiosname.toLowerCase() === record.cifs_srv_workgroup.toLowerCase())
      issues.add('cifs_srv_netbiosname', 'It must differ from the workgroup.');
    const asked = record.cifs_srv_min_protocol === '' ? 'SMB2_02' : record.cifs_srv_min_protocol;
    const [lowest] = record.cifs_srv_enable_smb1 ? protocols.NT1 : protocols[asked];
    const [, highest] = protocols[record.cifs_srv_max_protocol];
    if (lowest > highest)
      issues.add('cifs_srv_max_protocol', `It lies below the lowest protocol, ${asked}: nobody could connect.`);
  },
});

export type CifsSettings = RecordOf<typeof cifsSettings.fields>;

/** The characters of gaps 3.1 but the percent sign, which Samba would read as the beginning of a macro. */
export function netbiosName(description: string) {
  return text({
    description,
    max: 15,
    pattern: /^[A-Za-z0-9._!@#$^&()'{}~-]+$/,
    rule: "Letters, digits and the characters . - _ ! @ # $ ^ & ( ) ' { } ~ make such a name.",
  });
}
