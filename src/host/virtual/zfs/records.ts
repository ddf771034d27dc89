import { hash, randomBytes } from 'node:crypto';
import type { Dataset, NewDatasetSettings } from '../../ports/zfs.ts';
import { checkedMountpoint } from './names.ts';
import type { Values } from './properties.ts';
import type { DatasetRecord, SnapshotRecord, ZfsRecord } from './record.ts';
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

export function snapshotNames({ name, snapshots = [] }: DatasetRecord): readonly string[] {
  return snapshots.map((snapshot) => `${name}@${snapshot.name}`);
}

export function withSnapshots(dataset: DatasetRecord, snapshots: readonly SnapshotRecord[]): DatasetRecord {
  return snapshots.length === (dataset.snapshots?.length ?? 0) &&
    snapshots.every((snapshot, index) => snapshot === dataset.snapshots?.[index])
    ? dataset
    : Object.freeze({ ...dataset, snapshots: Object.freeze(snapshots) });
}

/** Removes deferred snapshots that have no clones any more. */
export function withoutDeferred(datasets: readonly DatasetRecord[]): readonly DatasetRecord[] {
  if (!datasets.some(({ snapshots }) => snapshots?.some(({ deferred }) => deferred))) return datasets;
  const origins = new Set(datasets.map((record) => record.origin));
  return datasets.map((record) =>
    record.snapshots?.some(({ deferred }) => deferred) === true
      ? withSnapshots(
          record,
          record.snapshots.filter(({ deferred, name }) => deferred !== true || origins.has(`${record.name}@${name}`)),
        )
      : record,
  );
}

export function guidsOf(record: ZfsRecord): ReadonlySet<string> {
  return new Set(record.pools.flatMap((pool) => pool.datasets.map((dataset) => dataset.guid)));
}

export function snapshotGuidsOf(record: ZfsRecord): ReadonlySet<string> {
  return new Set(
    record.pools.flatMap((pool) =>
      pool.datasets.flatMap((dataset) => (dataset.snapshots ?? []).map((snapshot) => snapshot.guid)),
    ),
  );
}
