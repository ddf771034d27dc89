import { collected } from '../../../lib/slices.ts';
import { HostError } from '../../ports/index.ts';
import { type Hold, isHidden, type Snapshot, type Snapshots } from '../../ports/zfs.ts';
import { partsOf, poolNameOf } from './names.ts';
import type { Values } from './properties.ts';
import type { DatasetRecord, SnapshotRecord } from './record.ts';
import { datasetRecord, newGuid, snapshotNames, withSnapshots } from './records.ts';
import { SnapshotList } from './snapshot-list.ts';
import { outOfSpace, type PoolStore } from './store.ts';
import { referencedBy } from './view.ts';

export function virtualSnapshots(store: PoolStore): Snapshots {
  /** The datasets of which a new snapshot is taken. */
  function chosenFor(of: string, name: string, recursive: boolean): readonly DatasetRecord[] {
    const { pool, dataset } = store.dataset(of);
    const chosen = pool.datasets.filter(
      (record) => record === dataset || (recursive && record.name.startsWith(`${of}/`) && !isHidden(record.name)),
    );
    const taken = chosen.find((candidate) => candidate.snapshots?.find(name) !== undefined);
    if (taken !== undefined)
      throw new HostError(
        `cannot create snapshot '${taken.name}@${name}': dataset already exists\nno snapshots were created`,
      );
    return chosen;
  }

  /** A pool before and after a dataset is rolled back to a snapshot. */
  function rolledBack(snapshotName: string, force: boolean) {
    const { pool, dataset, snapshot } = store.snapshot(snapshotName, `cannot open '${snapshotName}'`);
    const all = dataset.snapshots ?? SnapshotList.none;
    const count = (all.positionOf(snapshot.name) ?? 0) + 1;
    const newer = snapshotNames(dataset).slice(count);
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
    const left = newer.length === 0 ? all : SnapshotList.of([...all].slice(0, count));
    const back = Object.freeze({ ...withSnapshots(dataset, left), properties });
    const next = { ...pool, datasets: pool.datasets.map((record) => (record === dataset ? back : record)) };
    return { pool, next, dataset, snapshot };
  }

  return {
    async snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]> {
      const names = datasets && new Set(datasets);
      const chosen = store.imported().flatMap((pool) => pool.datasets.filter(({ name }) => names?.has(name) ?? true));
      return (await collected(chosen.values().map(snapshotsIn))).flat();
    },

    async createSnapshot(
      fullName: string,
      { recursive = false, task, mark }: { recursive?: boolean; task?: number; mark?: string | undefined } = {},
    ): Promise<void> {
      const [of, name] = partsOf(fullName, 'cannot create snapshot');
      if (!/^[-A-Za-z0-9_.: ]+$/.test(name))
        throw new HostError(`cannot create snapshot '${fullName}': invalid character in name`);
      const created = Math.floor(store.now() / 1000);
      const made = new Map(
        chosenFor(of, name, recursive).map((candidate) => [
          candidate.guid,
          Object.freeze({
            guid: newGuid(),
            name,
            created,
            ...contentOf(candidate),
            ...(task === undefined ? {} : { task }),
            ...(mark === undefined ? {} : { made: mark }),
          }),
        ]),
      );
      try {
        for (const [guid, snapshot] of made) await store.mounts.capture(store.mountTable, guid, snapshot.guid);
        // Other changes may have been made during the copy.
        chosenFor(of, name, recursive);
        const { pool } = store.dataset(of);
        const datasets = pool.datasets.map((record) => {
          const snapshot = made.get(record.guid);
          return snapshot ? withSnapshots(record, (record.snapshots ?? SnapshotList.none).with([snapshot])) : record;
        });
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
        record.snapshots?.find(name) !== undefined;
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
        has(record) ? withSnapshots(record, SnapshotList.of(Array.from(record.snapshots ?? [], marked))) : record,
      );
      store.replace(pool, { ...pool, datasets }, outOfSpace(of));
    },

    /** No program of the virtual machine holds snapshots. */
    async holds(): Promise<readonly Hold[]> {
      return [];
    },

    async cloneSnapshot(
      snapshotName: string,
      name: string,
      { mark }: { mark?: string | undefined } = {},
    ): Promise<void> {
      const { pool, dataset, snapshot } = store.snapshot(snapshotName, `cannot open '${snapshotName}'`);
      if (poolNameOf(name) !== pool.name)
        throw new HostError(`cannot create '${name}': source and target pools differ`);
      store.poolForNew(name);
      const clone = Object.freeze({
        ...datasetRecord(name, dataset.kind, snapshot.properties ?? {}, { mark }),
        origin: snapshotName,
      });
      try {
        await store.mounts.seed(clone.guid, snapshot.guid);
        // Other changes may have been made during the copy.
        store.snapshot(snapshotName, `cannot open '${snapshotName}'`);
        store.add(store.poolForNew(name), clone);
      } catch (error) {
        store.mounts.forget(clone.guid);
        throw error;
      }
    },

    async rollback(snapshotName: string, { force = false }: { force?: boolean } = {}): Promise<void> {
      await store.mounts.stage(rolledBack(snapshotName, force).snapshot.guid);
      const { pool, next, dataset, snapshot } = rolledBack(snapshotName, force);
      store.mounts.restore(store.mountTable, dataset.guid, snapshot.guid, () =>
        store.replace(pool, next, outOfSpace(dataset.name)),
      );
    },

    async differences(from, to, { most }) {
      const message = `cannot compare '${from}'`;
      const { dataset, snapshot } = store.snapshot(from, message);
      const later = to === undefined ? undefined : store.snapshot(to, message);
      const at = (one: SnapshotRecord) => dataset.snapshots?.positionOf(one.name) ?? 0;
      if (later !== undefined && (later.dataset !== dataset || at(later.snapshot) <= at(snapshot)))
        throw new HostError(`${message}: ${to} is not a later snapshot of ${dataset.name}`);
      if (later === undefined && !store.mountTable.has(dataset.guid))
        throw new HostError(`${message}: ${dataset.name} is not mounted`);
      const found = await store.mounts.compare(store.mountTable, dataset.guid, snapshot.guid, later?.snapshot.guid);
      return { found: found.slice(0, most), isWhole: found.length <= most };
    },
  };
}

export function snapshotsIn({
  name: dataset,
  kind,
  snapshots = SnapshotList.none,
}: DatasetRecord): readonly Snapshot[] {
  return Array.from(snapshots, ({ name, created, deferred = false, task }) =>
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

/** The properties that belong to a dataset's content, which a rollback restores. Most snapshots have none. */
function contentOf({
  kind,
  properties: { volsize, volblocksize, casesensitivity },
}: DatasetRecord): Pick<SnapshotRecord, 'properties'> {
  const properties: Values = {
    ...(kind === 'volume' && volsize !== undefined && { volsize }),
    ...(kind === 'volume' && volblocksize !== undefined && { volblocksize }),
    ...(kind === 'filesystem' && casesensitivity !== undefined && { casesensitivity }),
  };
  return Object.keys(properties).length === 0 ? {} : { properties: Object.freeze(properties) };
}
