import type { cifsShare } from '../../areas/sharing/cifs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';

type Share = RecordOf<typeof cifsShare.fields>;

/**
 * Modules of the BSD builds of Samba. Clients cannot connect to a share with a module that Samba cannot load, so each
 * is replaced by its Linux equivalent or left out: free space is right without a module, and Samba has removed the
 * others.
 */
const onLinux: Readonly<Record<string, readonly string[]>> = {
  cacheprime: [],
  noacl: [],
  winmsa: [],
  zfs_space: [],
  zfsacl: ['acl_xattr'],
};

/** fruit finds its streams only if these modules follow each other in this order. */
const forMacs: readonly string[] = ['catia', 'fruit', 'streams_xattr'];

/**
 * The modules of a share, outermost first. recycle and shadow_copy2 come first: they must see file names before other
 * modules translate them.
 */
export function modulesOf(share: Share): readonly string[] {
  const chosen = share.cifs_vfsobjects.flatMap((module) => onLinux[module] ?? [module]);
  const macs = share.cifs_timemachine
    ? forMacs
    : chosen.includes('fruit')
      ? forMacs.filter((module) => chosen.includes(module))
      : [];
  const bin = share.cifs_recyclebin ? ['recycle'] : [];
  const versions = share.cifs_storage_task === null ? [] : ['shadow_copy2'];
  return [...new Set([...bin, ...versions, ...macs, ...chosen])];
}
