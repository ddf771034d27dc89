import { readFile } from 'node:fs/promises';

/** A file system that a process sees, from its `/proc/<pid>/mountinfo`. */
export interface Mount {
  /** Major and minor number of its block device, such as `8:1`, or numbers that no device has. */
  readonly device: string;
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
    const [, , device = '', , on] = before.split(' ');
    const [kind = '', source = ''] = after.split(' ');
    return on === undefined ? [] : [{ device, on: unescaped(on), kind, source: unescaped(source) }];
  });
}

/** What is mounted for this process. */
export async function mountsNow(): Promise<readonly Mount[]> {
  return readMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** The pool that the machine runs from, if it does. */
export function poolOfRoot(mounts: readonly Mount[]): string | undefined {
  return mounts.find(({ on, kind }) => on === '/' && kind === 'zfs')?.source.split('/')[0];
}

/** The paths of the devices and files in `/proc/swaps`, which are the first of its columns. */
export function readSwaps(swaps: string): readonly string[] {
  const [, ...lines] = swaps.split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [unescaped(line.split(/\s/)[0] ?? '')]));
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
