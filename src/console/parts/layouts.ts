/** Which pools can be made of some disks: pure arithmetic, without the page and without the appliance. */

export type DataKind = 'stripe' | 'mirror' | 'raidz' | 'raidz2' | 'raidz3';

export interface LayoutDisk {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

export interface Layout {
  readonly kind: DataKind;
  /** The data groups, all with the same number of disks. */
  readonly groups: readonly (readonly LayoutDisk[])[];
  readonly spares: readonly LayoutDisk[];
  /** Bytes for data, about: ZFS rounds by its own segments. */
  readonly usable: number;
  /** Bytes of the data groups for copies or parity, and what ZFS keeps for itself. */
  readonly redundancy: number;
  /** Bytes that no data comes to, because a disk is larger than the smallest of its group. */
  readonly unused: number;
  /** How many disks may fail at the same time, whichever they are. */
  readonly bearable: number;
  /** How many may fail if they are in different groups as far as possible. */
  readonly atBest: number;
}

const parity: Readonly<Record<DataKind, number>> = { stripe: 0, mirror: 0, raidz: 1, raidz2: 2, raidz3: 3 };
const fewest: Readonly<Record<DataKind, number>> = { stripe: 1, mirror: 2, raidz: 3, raidz2: 4, raidz3: 5 };
const kinds: readonly DataKind[] = ['mirror', 'raidz', 'raidz2', 'raidz3', 'stripe'];

/** Wider groups take long to resilver. */
const widest = 12;
const MiB = 1024 ** 2;
/** The partition table and the reserved partition of a whole disk, the labels and the boot block. */
const aroundData = 13.5 * MiB;
const [leastReserve, mostReserve] = [128 * MiB, 128 * 1024 * MiB];
/** Sectors of 4 KiB in a record of 128 KiB, by which ZFS computes the space that parity takes. */
const recordSectors = 32;

/**
 * Every layout of these disks, with at least `spares` of them as spares. Disks that would make groups of different widths
 * become spares too. The largest disks are the spares, because a spare replaces only what is not larger than itself.
 */
export function layoutsOf(disks: readonly LayoutDisk[], spares = 0): readonly Layout[] {
  const bySize = disks.toSorted((a, b) => a.size - b.size || a.name.localeCompare(b.name, 'en', { numeric: true }));
  const data = disks.length - spares;
  return kinds.filter((kind) => data >= fewest[kind]).map((kind) => layoutOf(kind, bySize, data));
}

function layoutOf(kind: DataKind, disks: readonly LayoutDisk[], data: number): Layout {
  const [count, width] = shapeOf(kind, data);
  const groups = Array.from({ length: count }, (_, index) => disks.slice(index * width, (index + 1) * width));
  const total = sum(groups.flat().map(({ size }) => size));
  const unused =
    kind === 'stripe' ? 0 : sum(groups.map((group) => sum(group.map(({ size }) => size - smallest(group)))));
  const usable = usableOf(kind, groups);
  const each = kind === 'mirror' ? width - 1 : parity[kind];
  return {
    ...{ kind, groups, usable, unused, spares: disks.slice(count * width) },
    redundancy: Math.max(0, total - unused - usable),
    ...{ bearable: each, atBest: each * count },
  };
}

/** How many groups of how many disks. */
function shapeOf(kind: DataKind, data: number): readonly [count: number, width: number] {
  if (kind === 'stripe') return [1, data];
  if (kind === 'mirror') return data <= 3 ? [1, data] : [Math.floor(data / 2), 2];
  const count = Math.ceil(data / widest);
  return [count, Math.floor(data / count)];
}

/** Bytes for data, after parity and ZFS's reserve (slop space). */
function usableOf(kind: DataKind, groups: readonly (readonly LayoutDisk[])[]): number {
  const device = (size: number) => Math.max(0, size - aroundData);
  const data = sum(
    groups.map((group) => {
      if (kind === 'stripe') return sum(group.map(({ size }) => device(size)));
      const one = device(smallest(group));
      return kind === 'mirror' ? one : one * group.length * shareOf(parity[kind], group.length);
    }),
  );
  return Math.max(0, data - Math.min(mostReserve, Math.max(data / 32, Math.min(data / 2, leastReserve))));
}

/** The part of a raidz group that is for data: whole rows of sectors, padded to multiples of the parity and one. */
function shareOf(lost: number, width: number): number {
  const sectors = recordSectors + lost * Math.ceil(recordSectors / (width - lost));
  return recordSectors / (Math.ceil(sectors / (lost + 1)) * (lost + 1));
}

const smallest = (group: readonly LayoutDisk[]): number => Math.min(...group.map(({ size }) => size));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The kind that is proposed for a number of data disks. */
export function proposed(data: number): DataKind {
  if (data <= 1) return 'stripe';
  if (data === 2) return 'mirror';
  return data < 6 ? 'raidz' : 'raidz2';
}

/** The layout as a request has it. */
export function groupsOf({ kind, groups, spares }: Layout): readonly { vdevtype: string; disks: readonly string[] }[] {
  const names = (disks: readonly LayoutDisk[]) => disks.map(({ name }) => name);
  return [
    ...groups.map((group) => ({ vdevtype: kind, disks: names(group) })),
    ...(spares.length === 0 ? [] : [{ vdevtype: 'spare', disks: names(spares) }]),
  ];
}
