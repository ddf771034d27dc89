import type { nfsSettings } from '../../areas/services/nfs.ts';
import type { NfsShare } from '../../areas/sharing/nfs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import { words } from '../../lib/text.ts';

type Settings = RecordOf<typeof nfsSettings.fields>;

/** The rules by which a share's clients come in, whichever server serves it. */
export interface Export {
  readonly paths: readonly string[];
  /** Names, addresses and networks; everybody when empty. */
  readonly clients: readonly string[];
  readonly readOnly: boolean;
  readonly security: readonly string[];
  /** Whether clients may come from ports above 1023. */
  readonly anyPort: boolean;
  /** Who works as somebody else, and as whom. `nobody` of the machine has no numbers here. */
  readonly mapped:
    | { readonly who: 'none' }
    | { readonly who: 'root' | 'all'; readonly uid: number | undefined; readonly gid: number | undefined };
}

export function exportOf(share: NfsShare, settings: Settings, { accounts }: Pick<Facts, 'accounts'>): Export {
  const user = (name: string) => accounts.users.find((one) => one.name === name);
  const group = (name: string) => accounts.groups.find((one) => one.name === name)?.gid;
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

/** A share's lines in the kernel server's table of exports, exports(5): one a path. */
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

/** What is not plain is written as the octal numbers of its bytes. */
function escaped(path: string): string {
  return path.replace(/[^A-Za-z0-9/_.-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  );
}
