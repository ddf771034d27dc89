import { randomBytes } from 'node:crypto';
import type { Dataset, DatasetSettings } from '../../ports/zfs.ts';
import { checkedMountpoint } from './names.ts';
import type { Values } from './properties.ts';
import type { DatasetRecord, EncryptionRecord, SnapshotRecord, ZfsRecord } from './record.ts';

export function datasetRecord(
  name: string,
  kind: Dataset['kind'],
  properties: Values,
  settings: DatasetSettings,
): DatasetRecord {
  const mountpoint = settings.mountpoint === undefined ? undefined : checkedMountpoint(settings.mountpoint);
  return Object.freeze({ guid: newGuid(), name, kind, properties, comment: settings.comment || undefined, mountpoint });
}

export function locked(encryption: EncryptionRecord | undefined): EncryptionRecord | undefined {
  return encryption && Object.freeze({ ...encryption, locked: true });
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
