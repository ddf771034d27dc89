import type {
  ErrorCounts,
  GroupKind,
  Health,
  Pool,
  PoolDevice,
  PoolFigures,
  PoolGroup,
  Scan,
} from '../../ports/zfs.ts';
import { bytesOf, entriesOf, type Members, memberOf, parse, propertyOf, textOf } from './json.ts';

/** The name of the disk that a device path leads to now, or undefined when it leads nowhere. */
export type DiskOf = (path: string) => string | undefined;

/** The pools, from `zpool status -jpP` and `zpool get -jp all`. */
export function readPools(status: string, properties: string, diskOf: DiskOf): readonly Pool[] {
  const propertiesOf = new Map(entriesOf(parse(properties), 'pools'));
  return entriesOf(parse(status), 'pools').map(([name, pool]) =>
    readPool(name, pool, memberOf(propertiesOf.get(name) ?? {}, 'properties'), diskOf),
  );
}

function readPool(name: string, pool: Members, properties: Members, diskOf: DiskOf): Pool {
  const health = propertyOf(properties, 'health') ?? textOf(pool, 'state');
  const [root] = entriesOf(pool, 'vdevs');
  const groups = [
    ...groupsOf(root?.[1] ?? {}, 'vdevs', undefined, diskOf),
    // The special and dedup groups.
    ...groupsOf(pool, 'special', undefined, diskOf),
    ...groupsOf(pool, 'dedup', undefined, diskOf),
    ...groupsOf(pool, 'logs', 'log', diskOf),
    ...groupsOf(pool, 'l2cache', 'cache', diskOf),
    ...groupsOf(pool, 'spares', 'spare', diskOf),
  ];
  return Object.freeze({
    name,
    guid: textOf(pool, 'pool_guid'),
    health: healthOf(health),
    size: bytesOf(properties, 'size'),
    allocated: bytesOf(properties, 'allocated'),
    free: bytesOf(properties, 'free'),
    figures: figuresOf(properties),
    upgraded: isUpgraded(properties),
    scan: readScan(memberOf(pool, 'scan_stats')),
    groups: Object.freeze(groups),
  });
}

function figuresOf(properties: Members): PoolFigures {
  const text = (name: string) => propertyOf(properties, name) ?? '';
  const percent = text('fragmentation');
  return Object.freeze({
    freeing: bytesOf(properties, 'freeing'),
    leaked: bytesOf(properties, 'leaked'),
    // A pool without space maps of every device has a hyphen.
    fragmentation: /^\d+%?$/.test(percent) ? Number.parseInt(percent, 10) / 100 : undefined,
    deduplication: Number.parseFloat(text('dedupratio')) || 1,
    isReadonly: text('readonly') === 'on',
  });
}

/** A pool older than feature flags has a version; a current one has no disabled feature. */
function isUpgraded(properties: Members): boolean {
  if (/^\d+$/.test(propertyOf(properties, 'version') ?? '-')) return false;
  return !Object.keys(properties).some(
    (name) => name.startsWith('feature@') && propertyOf(properties, name) === 'disabled',
  );
}

function groupsOf(holder: Members, section: string, kind: GroupKind | undefined, diskOf: DiskOf): readonly PoolGroup[] {
  return entriesOf(holder, section).flatMap(([key, vdev]) => {
    const type = textOf(vdev, 'vdev_type');
    // The remains of a removed device.
    if (type === 'hole' || type === 'indirect') return [];
    const devices = leavesOf(key, vdev).map(([name, leaf]) => deviceOf(name, leaf, diskOf));
    const alone = type === 'disk' || type === 'file' || type === 'missing' || type === 'replacing' || type === 'spare';
    const name = alone ? (devices[0]?.disk ?? key) : textOf(vdev, 'name');
    return [
      Object.freeze({
        kind: kind ?? kindOf(type, textOf(vdev, 'name')),
        name,
        health: healthOf(textOf(vdev, 'state')),
        errors: errorsOf(vdev),
        devices: Object.freeze(devices),
      }),
    ];
  });
}

export function kindOf(type: string, name: string): GroupKind {
  if (type === 'mirror') return 'mirror';
  const parity = /^d?raidz?([123])/.exec(name)?.[1];
  if (parity === undefined) return 'stripe';
  return parity === '1' ? 'raidz' : parity === '2' ? 'raidz2' : 'raidz3';
}

/** The disks of a group, including those below a replacement or a spare in use. */
function leavesOf(key: string, vdev: Members): readonly [string, Members][] {
  const below = entriesOf(vdev, 'vdevs');
  return below.length === 0 ? [[key, vdev]] : below.flatMap(([name, child]) => leavesOf(name, child));
}

function deviceOf(key: string, leaf: Members, diskOf: DiskOf): PoolDevice {
  // A missing device is named by its guid; `was` holds its former path.
  const path = textOf(leaf, 'was') || textOf(leaf, 'path') || key;
  const absent = leaf['not_present'] !== undefined;
  const state = textOf(leaf, 'state');
  return Object.freeze({
    disk: (absent ? undefined : diskOf(path)) ?? withoutDev(path),
    label: absent ? key : withoutDev(path),
    guid: textOf(leaf, 'guid'),
    health: state === 'AVAIL' || state === 'INUSE' ? state : healthOf(state),
    errors: errorsOf(leaf),
  });
}

function withoutDev(path: string): string {
  return path.startsWith('/dev/') ? path.slice('/dev/'.length) : path;
}

const healths: Readonly<Record<string, Health>> = {
  ONLINE: 'ONLINE',
  HEALTHY: 'ONLINE',
  DEGRADED: 'DEGRADED',
  FAULTED: 'FAULTED',
  OFFLINE: 'OFFLINE',
  REMOVED: 'REMOVED',
  SUSPENDED: 'SUSPENDED',
  // Of spares.
  AVAIL: 'ONLINE',
  INUSE: 'ONLINE',
};

/** In JSON a device has its internal state; the plain output shows `CANT_OPEN` and the others as UNAVAIL. */
export function healthOf(state: string): Health {
  return healths[state] ?? 'UNAVAIL';
}

function errorsOf(vdev: Members): ErrorCounts {
  const count = (name: string) => Number(vdev[name] ?? 0);
  return Object.freeze({
    read: count('read_errors'),
    write: count('write_errors'),
    checksum: count('checksum_errors'),
  });
}

function readScan(stats: Members): Scan | undefined {
  const kind =
    textOf(stats, 'function') === 'SCRUB' ? 'scrub' : textOf(stats, 'function') === 'RESILVER' ? 'resilver' : undefined;
  if (kind === undefined) return undefined;
  const number = (name: string) => Number(stats[name] ?? 0) || 0;
  const total = number('to_examine') - number('skipped');
  const part = total > 0 ? Math.min(100, (number('issued') / total) * 100) : 0;
  const errors = number('errors');
  switch (textOf(stats, 'state')) {
    case 'FINISHED':
      return Object.freeze({ kind, state: 'finished', percent: 100, errors, ended: number('end_time') });
    case 'CANCELED':
      return Object.freeze({ kind, state: 'cancelled', percent: part, errors });
    case 'SCANNING': {
      const state = number('scrub_pause') > 0 ? 'paused' : 'running';
      return Object.freeze({ kind, state, percent: part, errors, began: number('start_time') });
    }
    default:
      return undefined;
  }
}
