import type { GroupKind } from '../../ports/zfs.ts';

/** The arithmetic of OpenZFS 2.3 on disks with sectors of 4 KiB. All sizes are bytes. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

const sector = 4 * KiB;
/**
 * Space that ZFS does not use for data: the partition table and reserved partition of a whole disk, labels, boot block.
 */
const aroundPartition = 9 * MiB;
const labels = 4 * MiB + 512 * KiB;
const recordForRatio = 128 * KiB;

export const smallestDevice = 64 * MiB;

/** Bytes that a new filesystem and a new volume use. */
export const emptyFilesystem = 96 * KiB;
export const emptyVolume = 56 * KiB;

export interface Shape {
  readonly kind: GroupKind;
  /** The size of each device. */
  readonly sizes: readonly number[];
}

export interface Capacity {
  /** The size that `zpool list` shows; for raidz it includes parity. */
  readonly size: number;
  /** Bytes for datasets, after parity and ZFS's own reserve (slop space). */
  readonly usable: number;
  /** Raw bytes per usable byte. */
  readonly rawPerByte: number;
}

export function parityOf(kind: GroupKind): number {
  if (kind === 'raidz') return 1;
  if (kind === 'raidz2') return 2;
  return kind === 'raidz3' ? 3 : 0;
}

/** The capacity of the data groups of a pool. */
export function capacityOf(shapes: readonly Shape[]): Capacity {
  let size = 0;
  let data = 0;
  let embeddedLog = 0;
  for (const { kind, sizes } of shapes) {
    const { bytes, segment } = allocatable(kind, sizes);
    // ZFS stores the ratio as an integer number of 512ths.
    const ratio = Math.floor(recordForRatio / (onRaidz(recordForRatio, parityOf(kind), sizes.length) / 512)) / 512;
    const log = bytes / segment >= 64 ? segment : 0;
    size += bytes;
    data += Math.floor((bytes - log) * ratio);
    embeddedLog += Math.floor(log * ratio);
  }
  const share = Math.min(Math.floor(data / 32), 128 * GiB);
  const reserve = Math.max(share - Math.min(embeddedLog, share / 2), Math.min(data / 2, 128 * MiB));
  return {
    size,
    usable: Math.max(0, Math.floor(data - reserve)),
    rawPerByte: data === 0 ? 1 : size / (data + embeddedLog),
  };
}

/** Bytes of a group that ZFS can allocate, in whole segments (metaslabs). */
function allocatable(kind: GroupKind, sizes: readonly number[]): { bytes: number; segment: number } {
  const smallest = Math.min(...sizes);
  const device = Math.floor((smallest - aroundPartition) / (256 * KiB)) * 256 * KiB - labels;
  const whole = Math.max(0, parityOf(kind) === 0 ? device : device * sizes.length);
  let shift = 29;
  if (whole / 2 ** shift < 16) shift = highestBit(whole / 16);
  else if (whole / 2 ** shift > 200) shift = Math.min(34, highestBit(whole / 200));
  const segment = 2 ** Math.max(24, shift);
  return { bytes: Math.floor(whole / segment) * segment, segment };
}

function highestBit(value: number): number {
  return value < 1 ? 0 : Math.floor(Math.log2(value)) + 1;
}

/** The allocated size of a block with parity and padding. */
function onRaidz(block: number, parity: number, disks: number): number {
  if (parity === 0) return block;
  const dataSectors = Math.ceil(block / sector);
  const sectors = dataSectors + parity * Math.ceil(dataSectors / (disks - parity));
  return Math.ceil(sectors / (parity + 1)) * (parity + 1) * sector;
}

/** What ZFS reserves for a volume that is not sparse: its size, its indirect blocks twice, and padding on raidz. */
export function volumeReservation(size: number, blocksize: number, shapes: readonly Shape[]): number {
  let blocks = Math.ceil(size / blocksize);
  let indirect = 7;
  while (blocks > 1) {
    blocks = Math.floor((blocks + 1023) / 1024);
    indirect += blocks;
  }
  const stretch = shapes.map(({ kind, sizes }) => {
    const parity = parityOf(kind);
    const here = onRaidz(blocksize, parity, sizes.length) / blocksize;
    return Math.max(1, here / (onRaidz(recordForRatio, parity, sizes.length) / recordForRatio));
  });
  return Math.ceil(size * Math.max(1, ...stretch)) + indirect * 2 * 128 * KiB;
}

/** The sizes and limits of one dataset. Zero means no limit or no reservation. */
export interface Tenant {
  readonly name: string;
  readonly referenced: number;
  readonly quota: number;
  readonly refquota: number;
  readonly reservation: number;
  readonly refreservation: number;
}

export interface Share {
  readonly used: number;
  readonly available: number;
}

export interface Accounting {
  readonly shares: ReadonlyMap<string, Share>;
  /** The first dataset that exceeds its limit. */
  readonly overfull: string | undefined;
}

/**
 * Computes the used and available space of each dataset. Parents come before children, the pool's root dataset first.
 */
export function account(tenants: readonly Tenant[], usable: number): Accounting {
  const used = new Map<string, number>();
  for (const tenant of tenants.toReversed()) {
    const mine = (used.get(tenant.name) ?? 0) + Math.max(tenant.referenced, tenant.refreservation);
    used.set(tenant.name, mine);
    const parent = parentOf(tenant.name);
    if (parent !== undefined) used.set(parent, (used.get(parent) ?? 0) + Math.max(mine, tenant.reservation));
  }
  const free = new Map<string, number>();
  const shares = new Map<string, Share>();
  let overfull: string | undefined;
  for (const tenant of tenants) {
    const mine = used.get(tenant.name) ?? 0;
    const parent = parentOf(tenant.name);
    const limit = tenant.quota === 0 ? Number.POSITIVE_INFINITY : tenant.quota;
    const fromParent = parent === undefined ? usable - Math.max(mine, tenant.reservation) : (free.get(parent) ?? 0);
    if (mine > limit || tenant.reservation > limit || tenant.referenced > (tenant.refquota || limit) || fromParent < 0)
      overfull ??= tenant.name;
    const left = Math.max(0, Math.min(fromParent + Math.max(0, tenant.reservation - mine), limit - mine));
    free.set(tenant.name, left);
    const own = left + Math.max(0, tenant.refreservation - tenant.referenced);
    const available = tenant.refquota === 0 ? own : Math.max(0, Math.min(own, tenant.refquota - tenant.referenced));
    shares.set(tenant.name, { used: mine, available });
  }
  return { shares, overfull };
}

/** The parent dataset, or undefined for a pool's root dataset. */
export function parentOf(name: string): string | undefined {
  const slash = name.lastIndexOf('/');
  return slash < 0 ? undefined : name.slice(0, slash);
}
