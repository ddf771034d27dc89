import type { nfsSettings } from '../../areas/services/nfs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';
import type { Export } from './exports.ts';

type Settings = RecordOf<typeof nfsSettings.fields>;

export const ganeshaFile = '/etc/ganesha/ganesha.conf';

/** The part of ganesha.conf that does not depend on the shares. The server reads it only when it starts. */
export function ganeshaSettings(settings: Settings, usesKerberos: boolean): string {
  return lines(
    '# Written by Holdfast.',
    'NFS_CORE_PARAM {',
    `  Protocols = ${protocols(settings)};`,
    // The worker threads, and a few more that wait for requests.
    `  RPC_Ioq_ThrdMax = ${settings.nfs_srv_servers + 8};`,
    `  Enable_UDP = ${settings.nfs_srv_udp};`,
    '  Enable_RQUOTA = false;',
    settings.nfs_srv_bindip.length === 0 ? undefined : `  Bind_addr = ${settings.nfs_srv_bindip[0]};`,
    settings.nfs_srv_mountd_port === null ? undefined : `  MNT_Port = ${settings.nfs_srv_mountd_port};`,
    settings.nfs_srv_rpclockd_port === null ? undefined : `  NLM_Port = ${settings.nfs_srv_rpclockd_port};`,
    // Ganesha works without this privilege, but by default does not start without it.
    '  allow_set_io_flusher_fail = true;',
    '}',
    'NFSV4 {',
    `  Only_Numeric_Owners = ${settings.nfs_srv_v4_v3owner};`,
    '}',
    'NFS_KRB5 {',
    `  Active_krb5 = ${usesKerberos};`,
    '}',
    settings.nfs_srv_statd_lockd_log ? ['LOG {', '  COMPONENTS {', '    NLM = DEBUG;', '  }', '}'] : undefined,
  );
}

/** The EXPORT block of a path, with the rules of every share that has the path. */
export function ganeshaExport(number: number, path: string, shares: readonly Export[], settings: Settings): string {
  return lines(
    'EXPORT {',
    `  Export_Id = ${number};`,
    `  Path = "${path}";`,
    `  Pseudo = "${path}";`,
    `  Protocols = ${protocols(settings)};`,
    `  Transports = ${settings.nfs_srv_udp ? 'TCP, UDP' : 'TCP'};`,
    // Clients that match no CLIENT block have no access.
    '  Access_Type = None;',
    '  FSAL {',
    '    Name = VFS;',
    '  }',
    shares.flatMap((share) => clientLines(share, settings)),
    '}',
  );
}

function clientLines(
  { clients, readOnly, security, anyPort, mapped }: Export,
  { nfs_srv_16: looksUpGroups }: Settings,
): readonly string[] {
  const squash = mapped.who === 'none' ? 'No_Root_Squash' : mapped.who === 'all' ? 'All_Squash' : 'Root_Squash';
  const ids = mapped.who === 'none' ? {} : { Anonymous_Uid: mapped.uid, Anonymous_Gid: mapped.gid };
  return [
    '  CLIENT {',
    `    Clients = ${clients.length === 0 ? '*' : clients.join(', ')};`,
    `    Access_Type = ${readOnly ? 'RO' : 'RW'};`,
    `    SecType = ${security.join(', ')};`,
    `    PrivilegedPort = ${!anyPort};`,
    `    Manage_Gids = ${looksUpGroups};`,
    `    Squash = ${squash};`,
    ...Object.entries(ids).flatMap(([name, id]) => (id === undefined ? [] : [`    ${name} = ${id};`])),
    '  }',
  ];
}

function protocols({ nfs_srv_v4 }: Settings): string {
  return nfs_srv_v4 ? '3, 4' : '3';
}

/** An Export_Id has 16 bits. */
const numbers = 65_535;

export interface Numbering {
  readonly numberOf: ReadonlyMap<string, number>;
  /** Paths whose own number another path has, so that they have a different one. */
  readonly displaced: readonly string[];
}

/**
 * Gives each path its Export_Id. On a reload the running server rejects a known number with a different path, so the
 * number is a hash of the path. Only the number of a path whose hash collides depends on the other paths.
 */
export function numbered(paths: readonly string[]): Numbering {
  const taken = new Map<number, string>();
  const displaced: string[] = [];
  for (const path of paths.toSorted()) {
    let number = ownNumber(path);
    if (taken.has(number)) displaced.push(path);
    while (taken.has(number)) number = (number % numbers) + 1;
    taken.set(number, path);
  }
  return { numberOf: new Map([...taken].map(([number, path]) => [path, number])), displaced };
}

/** FNV-1a, folded to 1 … 65535. */
function ownNumber(path: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(path)) hash = Math.imul(hash ^ byte, 0x01000193);
  return ((hash >>> 0) % numbers) + 1;
}
