/**
 * Pure readers of OpenZFS 2.3's JSON output with `-p` and `-P`: each number is a text of digits, each device a path.
 */
import { isObject } from '../../lib/json.ts';
import { HostError } from '../ports/index.ts';
import {
  commentProperty,
  type Dataset,
  type DatasetProperty,
  datasetProperties,
  type ErrorCounts,
  type GroupKind,
  type Health,
  type ImportableGroup,
  type ImportablePool,
  keySlotsProperty,
  type Pool,
  type PoolDevice,
  type PoolGroup,
  type Scan,
  type Snapshot,
  taskProperty,
} from '../ports/zfs.ts';

type Members = Readonly<Record<string, unknown>>;

/** The columns of `zfs list` that describe a dataset. */
export const datasetColumns: readonly string[] = [
  'name',
  'type',
  'used',
  'available',
  'referenced',
  'mountpoint',
  'mounted',
  ...datasetProperties,
  commentProperty,
  'keystatus',
  keySlotsProperty,
  'guid',
  'origin',
  'snapshots_changed',
  'usedbysnapshots',
];

/** The columns of `zfs list -t snapshot` that describe a snapshot. */
export const snapshotColumns: readonly string[] = [
  'name',
  'used',
  'referenced',
  'creation',
  'defer_destroy',
  taskProperty,
];

/** The name of the disk that a device path leads to now, or undefined when it leads nowhere. */
export type DiskOf = (path: string) => string | undefined;

interface Property {
  readonly value: string;
  readonly source: string;
}

/** The pools, from `zpool status -jpP` and `zpool get -jp all`. */
export function readPools(status: string, properties: string, diskOf: DiskOf): readonly Pool[] {
  const propertiesOf = new Map(entriesOf(parse(properties), 'pools'));
  return entriesOf(parse(status), 'pools').map(([name, pool]) =>
    readPool(name, pool, memberOf(propertiesOf.get(name) ?? {}, 'properties'), diskOf),
  );
}

function readPool(name: string, pool: Members, properties: Members, diskOf: DiskOf): Pool {
  const health = propertyOf(properties, 'health')?.value ?? textOf(pool, 'state');
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
    upgraded: isUpgraded(properties),
    scan: readScan(memberOf(pool, 'scan_stats')),
    groups: Object.freeze(groups),
  });
}

/** A pool older than feature flags has a version; a current one has no disabled feature. */
function isUpgraded(properties: Members): boolean {
  if (/^\d+$/.test(propertyOf(properties, 'version')?.value ?? '-')) return false;
  return !Object.keys(properties).some(
    (name) => name.startsWith('feature@') && propertyOf(properties, name)?.value === 'disabled',
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

function kindOf(type: string, name: string): GroupKind {
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
function healthOf(state: string): Health {
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
    case 'SCANNING':
      return Object.freeze({ kind, state: number('scrub_pause') > 0 ? 'paused' : 'running', percent: part, errors });
    default:
      return undefined;
  }
}

/**
 * The datasets, from `zfs list -jp` with the columns above, printed at the time `now` in seconds. ZFS reports the
 * second
 * in which a dataset last got or lost a snapshot. While that second is recent, more changes may follow within it, so
 * the
 * stamp then contains a value that never repeats.
 */
export function readDatasets(
  list: string,
  { now, look }: { readonly now: number; readonly look: number } = { now: Number.MAX_SAFE_INTEGER, look: 0 },
): readonly Dataset[] {
  return entriesOf(parse(list), 'datasets').map(([name, dataset]) => {
    const properties = memberOf(dataset, 'properties');
    const values: Partial<Record<DatasetProperty, string>> = {};
    const inherited: DatasetProperty[] = [];
    for (const property of datasetProperties) {
      const { value = '-', source } = propertyOf(properties, property) ?? {};
      // The property does not apply. Its source is then a leftover of the property before.
      if (value === '-') continue;
      values[property] = value;
      if (source === 'DEFAULT' || source === 'INHERITED') inherited.push(property);
    }
    const comment = propertyOf(properties, commentProperty);
    const text = (property: string) => (propertyOf(properties, property)?.value ?? '-').replace(/^-$/, '');
    return Object.freeze({
      name,
      kind: propertyOf(properties, 'type')?.value === 'volume' ? 'volume' : 'filesystem',
      used: bytesOf(properties, 'used'),
      available: bytesOf(properties, 'available'),
      referenced: bytesOf(properties, 'referenced'),
      mountpoint:
        propertyOf(properties, 'mounted')?.value === 'yes' ? propertyOf(properties, 'mountpoint')?.value : undefined,
      properties: Object.freeze(values),
      inherited: Object.freeze(inherited),
      // An inherited comment describes the parent.
      comment:
        comment !== undefined && isOwn(comment) && comment.value !== '-' && comment.value !== ''
          ? comment.value
          : undefined,
      key:
        text('keystatus') === 'available'
          ? 'available'
          : text('keystatus') === 'unavailable'
            ? 'unavailable'
            : undefined,
      // Only of the pool's root; all other datasets inherit it.
      keySlots: name.includes('/') || text(keySlotsProperty) === '' ? undefined : text(keySlotsProperty),
      origin: text('origin') === '' ? undefined : text('origin'),
      // The space that snapshots use alone changes with the contents that they share with the dataset.
      snapshotStamp: [
        text('guid'),
        text('origin'),
        text('snapshots_changed'),
        text('usedbysnapshots'),
        bytesOf(properties, 'snapshots_changed') > now - settling ? look : '',
      ].join(' '),
    });
  });
}

/** Seconds after which the time of a dataset's last snapshot change is final. */
const settling = 3;

/** The snapshots, from `zfs list -Hp` with the columns above. */
export function readSnapshots(list: string): readonly Snapshot[] {
  return list.split('\n').flatMap((line) => {
    const [fullName = '', used, referenced, created, deferred, task = ''] = line.split('\t');
    const at = fullName.indexOf('@');
    if (at < 0) return [];
    return [
      Object.freeze({
        dataset: fullName.slice(0, at),
        name: fullName.slice(at + 1),
        used: Number(used) || 0,
        referenced: Number(referenced) || 0,
        created: Number(created) || 0,
        deferred: deferred === 'on',
        ...(/^\d+$/.test(task) ? { task: Number(task) } : {}),
      }),
    ];
  });
}

/**
 * The properties that a dataset itself sets, by name, from `zfs get -jp`; properties that do not apply are left out.
 */
export function readOwnSettings(got: string, name: string): ReadonlyMap<string, string | undefined> {
  const dataset = new Map(entriesOf(parse(got), 'datasets')).get(name) ?? {};
  return new Map(
    entriesOf(dataset, 'properties').flatMap(([property]) => {
      const found = propertyOf(memberOf(dataset, 'properties'), property);
      return found === undefined ? [] : [[property, isOwn(found) ? found.value : undefined] as const];
    }),
  );
}

function isOwn({ source }: Property): boolean {
  return source === 'LOCAL' || source === 'RECEIVED';
}

/**
 * Comments by dataset, from `zfs get -H -o name,value` for datasets with a comment of their own. A comment may contain
 * line breaks; a line that does not begin with the next name belongs to the comment before it.
 */
export function readComments(text: string, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  let current: string | undefined;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const at = line.indexOf('\t');
    const name = at < 0 ? '' : line.slice(0, at);
    if (names.has(name) && !comments.has(name)) {
      current = name;
      comments.set(name, line.slice(at + 1));
    } else if (current !== undefined) {
      comments.set(current, `${comments.get(current) ?? ''}\n${line}`);
    }
  }
  return comments;
}

/** A label of a pool that is not imported here. */
export interface Label {
  readonly pool: string;
  readonly guid: string;
  /** Of the machine that imported it last. */
  readonly hostname: string;
}

export interface FoundLabel extends Label {
  /** Relative to /dev. */
  readonly device: string;
}

/**
 * The label that `zdb -l` finds on a device: that of an importable pool; undefined without a label or for a destroyed
 * pool.
 */
export function readLabel(text: string): Label | undefined {
  const state = /^ {4}state: (\d)$/m.exec(text)?.[1];
  const pool = /^ {4}name: '(.*)'$/m.exec(text)?.[1];
  // The state 0 is a pool in use, here or elsewhere, 1 an exported pool; the others are destroyed pools, spares and
  // caches.
  if (pool === undefined || (state !== '0' && state !== '1')) return undefined;
  return {
    pool,
    guid: /^ {4}pool_guid: (\d+)$/m.exec(text)?.[1] ?? '',
    hostname: /^ {4}hostname: '(.*)'$/m.exec(text)?.[1] ?? '',
  };
}

/** The pools that `zpool import` finds. It has no JSON output. */
export function readImportable(text: string): readonly Omit<ImportablePool, 'hostname'>[] {
  return text.split(/^ {2,3}pool: /m).flatMap((part) => {
    const name = part.split('\n', 1)[0] ?? '';
    const guid = /^ {2,5}id: (\d+)$/m.exec(part)?.[1];
    const health = /^ {1,2}state: (\w+)/m.exec(part)?.[1];
    if (guid === undefined || health === undefined) return [];
    return [Object.freeze({ name, guid, health: healthOf(health), groups: importableGroups(part) })];
  });
}

const sections: Readonly<Record<string, GroupKind>> = { logs: 'log', cache: 'cache', spares: 'spare' };

/** The tree of a pool, in which each level is indented by two more blanks: pool or section, group, device. */
function importableGroups(part: string): readonly ImportableGroup[] {
  const groups: { kind: GroupKind; name: string; health: Health; devices: { name: string; health: Health }[] }[] = [];
  let section: GroupKind | undefined;
  for (const line of part.slice(part.indexOf('config:')).split('\n')) {
    const [, blanks = '', name = '', state] = /^\t( *)(\S+)(?: +(\S+))?/.exec(line) ?? [];
    if (name === '') continue;
    // Healthy spares and caches are printed without a state.
    const health = state === undefined ? 'ONLINE' : healthOf(state);
    const depth = blanks.length / 2;
    if (depth === 0) section = sections[name];
    else if (depth === 1) {
      const isGroup = /^(mirror|d?raidz[123]?)-\d/.test(name);
      const kind = section ?? kindOf(name.startsWith('mirror') ? 'mirror' : '', name);
      groups.push({ kind, name, health, devices: isGroup ? [] : [{ name, health }] });
    }
    // Both disks of a replacement are below the line `replacing`.
    else if (!/^(replacing|spare)-\d/.test(name)) groups.at(-1)?.devices.push({ name, health });
  }
  return Object.freeze(groups.map((group) => Object.freeze({ ...group, devices: Object.freeze(group.devices) })));
}

function parse(text: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (error) {
    throw new HostError(`expected JSON from OpenZFS, got: ${text.slice(0, 200)}`, { cause: error });
  }
  return isObject(value) ? value : {};
}

function memberOf(holder: Members, name: string): Members {
  const member = holder[name];
  return isObject(member) ? member : {};
}

function entriesOf(holder: Members, name: string): readonly [string, Members][] {
  return Object.entries(memberOf(holder, name)).flatMap(([key, value]): [string, Members][] =>
    isObject(value) ? [[key, value]] : [],
  );
}

function textOf(holder: Members, name: string): string {
  const value = holder[name];
  return typeof value === 'string' ? value : '';
}

function propertyOf(properties: Members, name: string): Property | undefined {
  const property = properties[name];
  return isObject(property) && typeof property['value'] === 'string'
    ? { value: property['value'], source: textOf(memberOf(property, 'source'), 'type') }
    : undefined;
}

function bytesOf(properties: Members, name: string): number {
  return Number(propertyOf(properties, name)?.value ?? 0) || 0;
}
