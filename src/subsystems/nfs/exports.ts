import type { nfsSettings } from '../../areas/services/nfs.ts';
import type { NfsShare } from '../../areas/sharing/nfs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { words } from '../../lib/text.ts';

type Settings = RecordOf<typeof nfsSettings.fields>;

/** The access rules of a share, for the kernel's server and for NFS-Ganesha. */
export interface Export {
  readonly paths: readonly string[];
  /** Host names, addresses and networks; all clients if empty. */
  readonly clients: readonly string[];
  readonly readOnly: boolean;
  readonly security: readonly string[];
  /** Whether clients may come from ports above 1023. */
  readonly anyPort: boolean;
  /**
   * Which client users are mapped to another account, and to which. The ids are undefined for the default, `nobody`.
   */
  readonly mapped:
    | { readonly who: 'none' }
    | { readonly who: 'root' | 'all'; readonly uid: number | undefined; readonly gid: number | undefined };
}

export function exportOf(share: NfsShare, settings: Settings, { accounts }: Pick<Facts, 'accounts'>): Export {
  const user = (name: string) => accounts.users.find((account) => account.name === name);
  const group = (name: string) => accounts.groups.find((account) => account.name === name)?.gid;
  const all = share.nfs_mapall_user !== '';
  const name = all ? share.nfs_mapall_user : share.nfs_maproot_user;
  const groupName = all ? share.nfs_mapall_group : share.nfs_maproot_group;
  const known = user(name);
  const gid = groupName === '' ? known?.gid : group(groupName);
  return {
    paths: share.nfs_paths,
    clients: [...words(share.nfs_network), ...words(share.nfs_hosts)],
    readOnly: share.nfs_ro,
    security:
      share.nfs_security.length > 0
        ? share.nfs_security
        : settings.nfs_srv_v4_krb
          ? ['krb5', 'krb5i', 'krb5p']
          : ['sys'],
    anyPort: settings.nfs_srv_allow_nonroot,
    mapped:
      !all && known?.uid === 0 && gid === 0 ? { who: 'none' } : { who: all ? 'all' : 'root', uid: known?.uid, gid },
  };
}

/** The lines of a share for exports(5), one for each path. */
export function exportLines({ paths, clients, readOnly, security, anyPort, mapped }: Export): string {
  const options = [
    readOnly ? 'ro' : 'rw',
    'sync',
    'no_subtree_check',
    `sec=${security.join(':')}`,
    anyPort ? 'insecure' : 'secure',
    ...(mapped.who === 'none'
      ? ['no_root_squash']
      : [
          mapped.who === 'all' ? 'all_squash' : 'root_squash',
          ...number('anonuid', mapped.uid),
          ...number('anongid', mapped.gid),
        ]),
  ].join(',');
  const who = (clients.length === 0 ? ['*'] : clients).map((client) => `${client}(${options})`).join(' ');
  return paths.map((path) => `${escaped(path)} ${who}\n`).join('');
}

function number(name: string, value: number | undefined): readonly string[] {
  return value === undefined ? [] : [`${name}=${value}`];
}

/** Escapes special characters as octal bytes. */
function escaped(path: string): string {
  return path.replace(/[^A-Za-z0-9/_.-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  );
}
