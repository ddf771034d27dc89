import { memo } from '../../../lib/memo.ts';
import type { Dataset, DatasetFigures } from '../../ports/zfs.ts';
import type { MountTable } from '../mounts.ts';
import { shapesOf } from './groups.ts';
import { bytes, inForce, type Values } from './properties.ts';
import type { DatasetRecord, PoolRecord } from './record.ts';
import { encryptionRootOf } from './records.ts';
import { SnapshotList } from './snapshot-list.ts';
import { account, type Capacity, capacityOf, emptyFilesystem, emptyVolume, parentOf } from './space.ts';

/** The state of a pool that follows from its record. */
export interface PoolView {
  readonly capacity: Capacity;
  readonly allocated: number;
  readonly datasets: readonly Dataset[];
  readonly mounts: MountTable;
  readonly overfull: string | undefined;
}

export const viewOf = memo((pool: PoolRecord): PoolView => {
  const capacity = capacityOf(shapesOf(pool.groups));
  const { shares, overfull } = account(
    pool.datasets.map(({ name, kind, properties }) => ({
      name,
      referenced: referencedBy(kind),
      quota: bytes(properties, 'quota'),
      refquota: bytes(properties, 'refquota'),
      reservation: bytes(properties, 'reservation'),
      refreservation: bytes(properties, 'refreservation'),
    })),
    capacity.usable,
  );
  const above = new Map<string, { properties: Values; mountpoint: string | undefined; isOpen: boolean }>();
  const byName = new Map(pool.datasets.map((record) => [record.name, record]));
  const mounts = new Map<string, string>();
  const datasets = pool.datasets.map((record): Dataset => {
    const { name, kind, comment } = record;
    const parent = above.get(parentOf(name) ?? '');
    const { properties, inherited } = inForce(kind, record.properties, parent?.properties);
    const follows =
      parent?.mountpoint === undefined ? undefined : `${parent.mountpoint}/${name.slice(name.lastIndexOf('/') + 1)}`;
    const target = kind === 'volume' ? undefined : (record.mountpoint ?? follows);
    const root = encryptionRootOf(record, byName);
    // With a dataset whose key is unloaded, everything below it is unmounted.
    const isOpen = root?.encryption?.locked !== true && parent?.isOpen !== false;
    const place = target === 'none' || target === 'legacy' ? undefined : target;
    const mountpoint = isOpen && record.unmounted !== true ? place : undefined;
    if (mountpoint !== undefined) mounts.set(record.guid, mountpoint);
    above.set(name, { properties, mountpoint: place, isOpen });
    const { used, available } = shares.get(name) ?? { used: 0, available: 0 };
    return Object.freeze({
      name,
      kind,
      used,
      available,
      referenced: referencedBy(kind),
      figures: figuresOf(record),
      mountpoint,
      properties,
      inherited,
      comment,
      key: root?.encryption && (root.encryption.locked ? 'unavailable' : 'available'),
      encryptionRoot: root?.name,
      keySlots: record.keySlots,
      origin: record.origin,
      snapshotStamp: stampOf(record),
      isUntouched: record.snapshots === undefined,
    });
  });
  const referenced = pool.datasets.reduce((sum, dataset) => sum + referencedBy(dataset.kind), 0);
  return {
    capacity,
    allocated: Math.min(capacity.size, Math.ceil(referenced * capacity.rawPerByte)),
    datasets,
    mounts,
    overfull,
  };
});

/** Virtual datasets hold no data of their own, so nothing is compressed, and nothing of a snapshot differs. */
function figuresOf({ kind, snapshots = SnapshotList.none }: DatasetRecord): DatasetFigures {
  const size = referencedBy(kind);
  const written = snapshots.length === 0 ? size : 0;
  return Object.freeze({ logicalUsed: size, usedByDataset: size, usedBySnapshots: 0, written, compression: 1 });
}

export function referencedBy(kind: Dataset['kind']): number {
  return kind === 'volume' ? emptyVolume : emptyFilesystem;
}

function stampOf({ guid, snapshots = SnapshotList.none }: DatasetRecord): string {
  return `${guid} ${snapshots.stamp}`;
}
