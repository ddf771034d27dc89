import { HostError } from '../../ports/index.ts';
import type { Snapshot, Snapshots } from '../../ports/zfs.ts';
import { partsOf, poolNameOf } from './names.ts';
import type { Values } from './properties.ts';
import type { DatasetRecord, SnapshotRecord } from './record.ts';
import { datasetRecord, newGuid, withSnapshots } from './records.ts';
import { outOfSpace, type PoolStore } from './store.ts';
import { referencedBy } from './view.ts';

export function virtualSnapshots(store: PoolStore): Snapshots {
  return {
    async snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]> {
      const names = datasets && new Set(datasets);
      return store
        .imported()
        .flatMap((pool) => pool.datasets.filter(({ name }) => names?.has(name) ?? true).flatMap(snapshotsIn));
    },

    async createSnapshot(
      fullName: string,
      { recursive = false, task }: { recursive?: boolean; task?: number } = {},
    ): Promise<void> {
      const [of, name] = partsOf(fullName, 'cannot create snapshot');
      const { pool, dataset } = store.dataset(of);
      if (!/^[-A-Za-z0-9_.: ]+$/.test(name))
        throw new HostError(`cannot create snapshot '${fullName}': invalid character in name`);
      const chosen = pool.datasets.filter(
        (record) => record === dataset || (recursive && record.name.startsWith(`${of}/`)),
      );
      const taken = chosen.find((candidate) => candidate.snapshots?.some((snapshot) => snapshot.name === name));
      if (taken !== undefined)
        throw new HostError(
          `cannot create snapshot '${taken.name}@${name}': dataset already exists\nno snapshots were created`,
        );
      const created = Math.floor(store.now() / 1000);
      const made = new Map(
        chosen.map(
          (candidate) =>
            [
              candidate,
              Object.freeze({
                guid: newGuid(),
                name,
                created,
                properties: contentProperties(candidate),
                ...(task === undefined ? {} : { task }),
              }),
            ] as const,
        ),
      );
      const table = store.mountTable;
      try {
        for (const [record, snapshot] of made) store.mounts.capture(table, record.guid, snapshot.guid);
        const datasets = pool.datasets.map((record) =>
          withSnapshots(record, [...(record.snapshots ?? []), ...[made.get(record) ?? []].flat()]),
        );
        store.replace(pool, { ...pool, datasets }, outOfSpace(fullName));
      } catch (error) {
        for (const snapshot of made.values()) store.mounts.forgetSnapshot(snapshot.guid);
        throw error;
      }
    },

    async destroySnapshot(
      fullName: string,
      { deferred = false, recursive = false }: { deferred?: boolean; recursive?: boolean } = {},
    ): Promise<void> {
      const [of, name] = partsOf(fullName, 'cannot destroy');
      const { pool } = store.snapshot(fullName);
      const has = (record: DatasetRecord) =>
        (record.name === of || (recursive && record.name.startsWith(`${of}/`))) &&
        record.snapshots?.some((snapshot) => snapshot.name === name) === true;
      const clones = pool.datasets.filter((record) =>
        pool.datasets.some((other) => has(other) && record.origin === `${other.name}@${name}`),
      );
      if (clones.length > 0 && !deferred) {
        throw new HostError(
          [
            `cannot destroy '${fullName}': snapshot has dependent clones`,
            "use '-R' to destroy the following datasets:",
            ...clones.map((clone) => clone.name),
          ].join('\n'),
        );
      }
      const marked = (snapshot: SnapshotRecord) =>
        snapshot.name === name ? Object.freeze({ ...snapshot, deferred: true }) : snapshot;
      // A snapshot without clones is marked too: `withoutDeferred` removes it at once.
      const datasets = pool.datasets.map((record) =>
        has(record) ? withSnapshots(record, (record.snapshots ?? []).map(marked)) : record,
      );
      store.replace(pool, { ...pool, datasets }, outOfSpace(of));
    },

    async cloneSnapshot(snapshotName: string, name: string): Promise<void> {
      const { pool, dataset, snapshot } = store.snapshot(snapshotName, `cannot open '${snapshotName}'`);
      if (poolNameOf(name) !== pool.name)
        throw new HostError(`cannot create '${name}': source and target pools differ`);
      store.poolForNew(name);
      const clone = Object.freeze({
        ...datasetRecord(name, dataset.kind, snapshot.properties, {}),
        origin: snapshotName,
      });
      try {
        store.mounts.seed(clone.guid, snapshot.guid);
        store.add(pool, clone);
      } catch (error) {
        store.mounts.forget(clone.guid);
        throw error;
      }
    },

    async rollback(snapshotName: string, { force = false }: { force?: boolean } = {}): Promise<void> {
      const { pool, dataset, snapshot } = store.snapshot(snapshotName, `cannot open '${snapshotName}'`);
      const all = dataset.snapshots ?? [];
      const newer = all.slice(all.indexOf(snapshot) + 1).map((candidate) => `${dataset.name}@${candidate.name}`);
      if (newer.length > 0 && !force) {
        const message = `cannot rollback to '${snapshotName}': more recent snapshots or bookmarks exist\nuse '-r' to force deletion of the following snapshots and bookmarks:`;
        throw new HostError([message, ...newer].join('\n'));
      }
      const clones = pool.datasets
        .filter((record) => newer.includes(record.origin ?? ''))
        .map((candidate) => candidate.name);
      if (clones.length > 0) {
        const message = `cannot rollback to '${snapshotName}': clones of previous snapshots exist\nuse '-R' to force deletion of the following clones and dependents:`;
        throw new HostError([message, ...clones].join('\n'));
      }
      const properties = Object.freeze({ ...dataset.properties, ...snapshot.properties });
      const back = Object.freeze({ ...withSnapshots(dataset, all.slice(0, all.indexOf(snapshot) + 1)), properties });
      const next = { ...pool, datasets: pool.datasets.map((record) => (record === dataset ? back : record)) };
      store.mounts.restore(store.mountTable, dataset.guid, snapshot.guid, () =>
        store.replace(pool, next, outOfSpace(dataset.name)),
      );
    },
  };
}

function snapshotsIn({ name: dataset, kind, snapshots = [] }: DatasetRecord): readonly Snapshot[] {
  return snapshots.map(({ name, created, deferred = false, task }) =>
    Object.freeze({
      dataset,
      name,
      created,
      deferred,
      used: 0,
      referenced: referencedBy(kind),
      ...(task === undefined ? {} : { task }),
    }),
  );
}

/** The properties that belong to a dataset's content, which a rollback restores. */
function contentProperties({ kind, properties: { volsize, volblocksize, casesensitivity } }: DatasetRecord): Values {
  if (kind === 'volume')
    return Object.freeze({
      ...(volsize === undefined ? {} : { volsize }),
      ...(volblocksize === undefined ? {} : { volblocksize }),
    });
  return Object.freeze(casesensitivity === undefined ? {} : { casesensitivity });
}
