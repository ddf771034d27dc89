/** A file system that a process sees, from its `/proc/<pid>/mountinfo`. */
export interface Mount {
  /** The folder on which it is mounted. */
  readonly on: string;
  /** Such as `zfs`. */
  readonly kind: string;
  /** What is mounted: of ZFS, the dataset. */
  readonly source: string;
}

/**
 * Reads mountinfo. The number of fields before the hyphen varies, and white space in names is written in octal:
 *
 *     161 24 0:43 / /mnt/tank/my\040files rw,noatime shared:83 - zfs tank/my\040files rw,xattr,posixacl
 */
export function readMounts(mountinfo: string): readonly Mount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const on = before.split(' ')[4];
    const [kind = '', source = ''] = after.split(' ');
    return on === undefined ? [] : [{ on: unescaped(on), kind, source: unescaped(source) }];
  });
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
