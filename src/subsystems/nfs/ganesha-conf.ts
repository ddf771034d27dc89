import type { nfsSettings } from '../../areas/services/nfs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';
import type { Export } from './exports.ts';

type Settings = RecordOf<typeof nfsSettings.fields>;

export const ganeshaFile = '/etc/ganesha/ganesha.conf';

/** The part of ganesha.conf that does not depend on the shares. The server reads it at its start alone. */
export function ganeshaSettings(settings: Settings, usesKerberos: boolean): string {
  return lines(
    '# Written by Holdfast.',
    'NFS_CORE_PARAM {',
    `  Protocols = ${protocols(settings)};`,
    // The workers; a few threads more wait for requests.
    `  RPC_Ioq_ThrdMax = ${settings.nfs_srv_servers + 8};`,
    `  Enable_UDP = ${settings.nfs_srv_udp};`,
    '  Enable_RQUOTA = false;',
    settings.nfs_srv_bindip.length === 0 ? undefined : `  Bind_addr = ${settings.nfs_srv_bindip[0]};`,
    settings.nfs_srv_mountd_port === null ? undefined : `  MNT_Port = ${settings.nfs_srv_mountd_port};`,
    settings.nfs_srv_rpclockd_port === null ? undefined : `  NLM_Port = ${settings.nfs_srv_rpclockd_port};`,
    // It works without that privilege, and would not start.
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

/** A path's block, with the rules of every share that has the path. */
export function ganeshaExport(number: number, path: string, shares: readonly Export[], settings: Settings): string {
  return lines(
    'EXPORT {',
    `  Export_Id = ${number};`,
    `  Path = "${path}";`,
    `  Pseudo = "${path}";`,
    `  Protocols = ${protocols(settings)};`,
    `  Transports = ${settings.nfs_srv_udp ? 'TCP, UDP' : 'TCP'};`,
    // Whoever is in no block below has nothing here.
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

/** Numbers for the exports, which have room for 16 bits. */
const numbers = 65_535;

export interface Numbering {
  readonly numberOf: ReadonlyMap<string, number>;
  /** Paths that have not the number of their own, because another has it. */
  readonly displaced: readonly string[];
}

/**
 * Gives each path its number. The running server takes another path for a number that it knows for a mistake, so the
 * number follows from the path alone; only those that meet another's depend on what else there is.
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
