/** The names that the kernel and udev give a disk. */
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/**
 * The whole disk that a device path leads to (`/dev/disk/by-id/ata-X-part1` to `sda`), or undefined when it leads
 * nowhere.
 */
export async function diskBehind(path: string): Promise<string | undefined> {
  try {
    const name = basename(await realpath(path));
    const device = await realpath(`/sys/class/block/${name}`);
    return (await exists(`${device}/partition`)) ? basename(dirname(device)) : name;
  } catch {
    return undefined;
  }
}

/** For each disk, the path that stays the same wherever it is plugged in. */
export async function stablePaths(): Promise<ReadonlyMap<string, string>> {
  const folder = '/dev/disk/by-id';
  const links = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    links.map(async (link) => [link, await realpath(`${folder}/${link}`).catch(() => undefined)] as const),
  );
  const targets = found.flatMap(([link, target]) => (target === undefined ? [] : [[link, basename(target)] as const]));
  return new Map(
    [...Map.groupBy(targets, ([, disk]) => disk)].map(([disk, entries]) => [
      disk,
      `${folder}/${preferred(entries.map(([link]) => link))}`,
    ]),
  );
}

/** Prefers names with the maker's serial number, which is printed on the disk. */
const order = [
  /^nvme-(?!eui|nvme|uuid)/,
  /^ata-/,
  /^scsi-S/,
  /^scsi-/,
  /^virtio-/,
  /^usb-/,
  /^mmc-/,
  /^nvme-/,
  /^wwn-/,
];

export function preferred(links: readonly string[]): string {
  const rank = (link: string) => {
    const found = order.findIndex((pattern) => pattern.test(link));
    return found < 0 ? order.length : found;
  };
  return links.toSorted((a, b) => rank(a) - rank(b) || a.length - b.length || (a < b ? -1 : 1))[0] ?? '';
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
