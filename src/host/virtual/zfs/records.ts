import { hash, randomBytes } from 'node:crypto';
import type { Dataset, NewDatasetSettings } from '../../ports/zfs.ts';
import { checkedMountpoint } from './names.ts';
import type { Values } from './properties.ts';
import type { DatasetRecord, ZfsRecord } from './record.ts';
import { SnapshotList } from './snapshot-list.ts';
import { parentOf } from './space.ts';

export function datasetRecord(
  name: string,
  kind: Dataset['kind'],
  properties: Values,
  settings: NewDatasetSettings,
): DatasetRecord {
  const mountpoint = settings.mountpoint === undefined ? undefined : checkedMountpoint(settings.mountpoint);
  const { key, slots } = settings.encryption ?? {};
  const own = key === undefined ? {} : { encryption: { digest: digestOf(key), locked: false }, keySlots: slots };
  const comment = settings.comment || undefined;
  return Object.freeze({
    ...{ guid: newGuid(), name, kind, properties, comment, mountpoint, ...own },
    ...(settings.mark !== undefined && { made: settings.mark }),
  });
}

/** How a key is recognized. */
export function digestOf(key: string): string {
  return hash('sha256', key);
}

/** The datasets when no key is loaded, or none of these encryption roots. */
export function locked(
  datasets: readonly DatasetRecord[],
  isMeant: (root: DatasetRecord) => boolean = () => true,
): readonly DatasetRecord[] {
  return datasets.map((record) =>
    record.encryption === undefined || record.encryption.locked || !isMeant(record)
      ? record
      : Object.freeze({ ...record, encryption: Object.freeze({ ...record.encryption, locked: true }) }),
  );
}

/**
 * The dataset whose key encrypts this one: itself, or that of the dataset whose snapshot it was cloned from, or that of
 * its parent; undefined for one that is not encrypted.
 */
export function encryptionRootOf(
  record: DatasetRecord,
  byName: ReadonlyMap<string, DatasetRecord>,
): DatasetRecord | undefined {
  if (record.encryption !== undefined) return record;
  const next = byName.get(record.origin?.split('@')[0] ?? parentOf(record.name) ?? '');
  return next && encryptionRootOf(next, byName);
}

/** 64 bits in decimal digits, never 0. */
export function newGuid(): string {
  return String(randomBytes(8).readBigUInt64BE() | 1n);
}

export function snapshotNames({ name, snapshots = SnapshotList.none }: DatasetRecord): readonly string[] {
  return Array.from(snapshots, (snapshot) => `${name}@${snapshot.name}`);
}

export function withSnapshots(dataset: DatasetRecord, snapshots: SnapshotList): DatasetRecord {
  return Object.freeze({ ...dataset, snapshots });
}

/** Removes deferred snapshots that have no clones any more. */
export function withoutDeferred(datasets: readonly DatasetRecord[]): readonly DatasetRecord[] {
  if (!datasets.some(({ snapshots }) => snapshots?.hasDeferred === true)) return datasets;
  const origins = new Set(datasets.map((record) => record.origin));
  return datasets.map((record) => {
    const { snapshots } = record;
    if (snapshots?.hasDeferred !== true) return record;
    const kept = [...snapshots].filter(
      ({ deferred, name }) => deferred !== true || origins.has(`${record.name}@${name}`),
    );
    return kept.length === snapshots.length ? record : withSnapshots(record, SnapshotList.of(kept));
  });
}

export function guidsOf(record: ZfsRecord): ReadonlySet<string> {
  return new Set(record.pools.flatMap((pool) => pool.datasets.map((dataset) => dataset.guid)));
}

export function snapshotGuidsOf(datasets: readonly DatasetRecord[]): ReadonlySet<string> {
  return new Set(datasets.flatMap(({ snapshots = SnapshotList.none }) => Array.from(snapshots, ({ guid }) => guid)));
}

/** The guids of snapshots that were there before and are not after. Lists that are the same are not searched. */
export function guidsLost(before: readonly DatasetRecord[], after: readonly DatasetRecord[]): readonly string[] {
  const listsOf = (datasets: readonly DatasetRecord[]) => new Set(datasets.map(({ snapshots }) => snapshots));
  const [old, now] = [listsOf(before), listsOf(after)];
  const kept = snapshotGuidsOf(after.filter(({ snapshots }) => !old.has(snapshots)));
  const changed = snapshotGuidsOf(before.filter(({ snapshots }) => !now.has(snapshots)));
  return [...changed].filter((guid) => !kept.has(guid));
}
