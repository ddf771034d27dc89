import type { cifsShare } from '../../areas/sharing/cifs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';

type Share = RecordOf<typeof cifsShare.fields>;

/**
 * Modules of the BSD builds. A share that names one which Samba cannot load cannot be connected to, so each is
 * replaced by what does its work here, or left out: free space is right without a module, and the others have gone
 * from Samba.
 */
const onLinux: Readonly<Record<string, readonly string[]>> = {
  cacheprime: [],
  noacl: [],
  winmsa: [],
  zfs_space: [],
  zfsacl: ['acl_xattr'],
};

/** fruit finds its streams only when these stand together in this order. */
const forMacs: readonly string[] = ['catia', 'fruit', 'streams_xattr'];

/** The modules of a share, outermost first: what a client deletes or looks back at is caught before it is translated. */
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
