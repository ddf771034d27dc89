import { isWithin } from '../../../lib/path.ts';
import { HostError } from '../../ports/index.ts';
import type { Dataset, DatasetScope, DatasetSettings, Datasets, Named, NewDatasetSettings } from '../../ports/zfs.ts';
import { shapesOf } from './groups.ts';
import { checkedMountpoint, deviceOf, poolNameOf } from './names.ts';
import { settingsAfterChange, settingsAtCreation } from './properties.ts';
import type { DatasetRecord, PoolRecord } from './record.ts';
import { datasetRecord, encryptionRootOf, snapshotNames } from './records.ts';
import { snapshotsIn } from './snapshots.ts';
import { parentOf, volumeReservation } from './space.ts';
import { outOfSpace, type PoolStore } from './store.ts';
import { viewOf } from './view.ts';
import { changedVolume, isWhole, mustFitVolume } from './volumes.ts';

export function virtualDatasets(store: PoolStore): Datasets {
  return {
    async datasets(scope?: DatasetScope): Promise<readonly Dataset[]> {
      const all = store.imported().flatMap((pool) => viewOf(pool).datasets);
      if (scope === undefined) return all;
      const { names = [], trees = [] } = scope;
      return all.filter(({ name }) => names.includes(name) || trees.some((root) => isWithin(name, root)));
    },

    async named(names: readonly string[]): Promise<Named> {
      const wanted = new Set(names);
      const holders = new Set(names.flatMap((name) => (name.includes('@') ? [name.split('@')[0]] : [])));
      const pools = store.imported();
      const among = pools
        .flatMap(({ datasets }) => datasets.filter(({ name }) => holders.has(name)))
        .flatMap(snapshotsIn);
      return {
        datasets: pools.flatMap((pool) => viewOf(pool).datasets.filter(({ name }) => wanted.has(name))),
        snapshots: among.filter(({ dataset, name }) => wanted.has(`${dataset}@${name}`)),
      };
    },

    async createDataset(name: string, settings: NewDatasetSettings = {}): Promise<void> {
      const pool = store.poolForNew(name);
      const local = settingsAtCreation(name, 'filesystem', settings.properties ?? {});
      // New children take the case sensitivity of their parent, and keep it.
      const above = pool.datasets.find((record) => record.name === parentOf(name))?.properties.casesensitivity;
      const properties = above === undefined ? local : Object.freeze({ casesensitivity: above, ...local });
      store.add(pool, datasetRecord(name, 'filesystem', properties, settings));
    },

    async createVolume(name: string, size: number, settings: NewDatasetSettings = {}): Promise<void> {
      const pool = store.poolForNew(name);
      if (!Number.isSafeInteger(size) || size <= 0)
        throw new HostError(`cannot create '${name}': volume size must be greater than zero`);
      const { volsize: _, refreservation, ...others } = settings.properties ?? {};
      const checked = settingsAtCreation(name, 'volume', others);
      const blocksize = Number(checked.volblocksize ?? '16384');
      const volsize = Math.ceil(size / blocksize) * blocksize;
      const whole = String(volumeReservation(volsize, blocksize, shapesOf(pool.groups)));
      const isReserved = refreservation === undefined || refreservation === 'inherit' || isWhole(refreservation);
      const properties = Object.freeze({
        ...checked,
        volsize: String(volsize),
        ...(isReserved ? { refreservation: whole } : settingsAtCreation(name, 'volume', { refreservation })),
      });
      mustFitVolume(properties, whole, (reason) => `cannot create '${name}': ${reason}`);
      store.add(pool, datasetRecord(name, 'volume', properties, settings));
    },

    async changeDataset(name: string, settings: DatasetSettings): Promise<void> {
      const { pool, dataset } = store.dataset(name);
      const refuse = (reason: string) => `cannot set property for '${name}': ${reason}`;
      const changes = settings.properties ?? {};
      const properties =
        dataset.kind === 'volume'
          ? changedVolume(dataset, pool, changes, refuse)
          : settingsAfterChange(name, dataset.kind, dataset.properties, changes);
      const changed = Object.freeze({
        ...dataset,
        properties,
        comment: settings.comment === undefined ? dataset.comment : settings.comment || undefined,
        mountpoint: settings.mountpoint === undefined ? dataset.mountpoint : checkedMountpoint(settings.mountpoint),
      });
      const tooSmall = changes.quota !== undefined || changes.refquota !== undefined;
      store.replace(
        pool,
        { ...pool, datasets: pool.datasets.map((record) => (record === dataset ? changed : record)) },
        () =>
          refuse(
            tooSmall ? 'size is less than current used or reserved space' : 'size is greater than available space',
          ),
      );
    },

    async destroyDataset(
      name: string,
      { recursive = false, clones = false }: { recursive?: boolean; clones?: boolean } = {},
    ): Promise<void> {
      const { pool } = store.dataset(name);
      if (parentOf(name) === undefined)
        throw new HostError(
          `cannot destroy '${name}': operation does not apply to pools\nuse 'zpool destroy ${name}' to destroy the pool itself`,
        );
      const gone = new Set(pool.datasets.filter((record) => isWithin(record.name, name)));
      const below = [...gone].flatMap((candidate) => [
        ...(candidate.name === name ? [] : [candidate.name]),
        ...snapshotNames(candidate),
      ]);
      if (below.length > 0 && !recursive && !clones) {
        throw new HostError(
          [
            `cannot destroy '${name}': filesystem has children`,
            "use '-r' to destroy the following datasets:",
            ...below,
          ].join('\n'),
        );
      }
      const dependants = dependantsOf(pool, gone);
      if (dependants.length > 0 && !clones) {
        throw new HostError(
          [
            `cannot destroy '${name}': filesystem has dependent clones`,
            "use '-R' to destroy the following datasets:",
            ...dependants.map((dependant) => dependant.name),
          ].join('\n'),
        );
      }
      for (const dependant of dependants) gone.add(dependant);
      const busy = [...gone].find((record) => store.busyDevices().has(deviceOf(record.name)));
      if (busy !== undefined) throw new HostError(`cannot destroy '${busy.name}': dataset is busy`);
      store.replace(pool, { ...pool, datasets: pool.datasets.filter((record) => !gone.has(record)) }, outOfSpace(name));
    },

    async moveDataset(name: string, to: string, { mounted }: { mounted: boolean }): Promise<void> {
      const { pool } = store.dataset(name);
      if (parentOf(name) === undefined)
        throw new HostError(`cannot rename '${name}': operation does not apply to pools`);
      if (name !== to) mustBeFree(store, name, to);
      const moved = (one: string) => `${to}${one.slice(name.length)}`;
      const isMoved = (one: string) => isWithin(one, name);
      const busy = pool.datasets.find(
        (record) => isMoved(record.name) && store.busyDevices().has(deviceOf(record.name)),
      );
      if (busy !== undefined) throw new HostError(`cannot rename '${busy.name}': dataset is busy`);
      const datasets = pool.datasets.map((record) => {
        const { unmounted: _, ...rest } = record;
        const [of = '', snapshot] = (record.origin ?? '').split('@');
        const origin = snapshot !== undefined && isMoved(of) ? { origin: `${moved(of)}@${snapshot}` } : {};
        if (!isMoved(record.name)) return Object.freeze({ ...record, ...origin });
        return Object.freeze({ ...rest, ...origin, name: moved(record.name), ...(!mounted && { unmounted: true }) });
      });
      const ordered = datasets.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      store.replace(pool, { ...pool, datasets: ordered }, outOfSpace(to));
    },

    /** A creation of the virtual machine is whole or not there. */
    async isMade(name: string, mark: string): Promise<boolean> {
      const [of = '', snapshot] = name.split('@');
      const dataset = store
        .imported()
        .flatMap((pool) => pool.datasets)
        .find((record) => record.name === of);
      const found = snapshot === undefined ? dataset : dataset?.snapshots?.find(snapshot);
      return found?.made === mark;
    },
  };
}

/** As ZFS, which renames only within an encryption root. */
function mustBeFree(store: PoolStore, name: string, to: string): void {
  const refuse = (reason: string) => new HostError(`cannot rename '${name}': ${reason}`);
  const { pool, dataset } = store.dataset(name);
  if (poolNameOf(to) !== pool.name) throw refuse('datasets must be within same pool');
  if (to.startsWith(`${name}/`)) throw refuse('New dataset name cannot be a descendant of current dataset name');
  const parent = pool.datasets.find((record) => record.name === parentOf(to));
  if (pool.datasets.some((record) => record.name === to))
    throw new HostError(`cannot rename to '${to}': dataset already exists`);
  if (parent === undefined) throw new HostError(`cannot rename to '${to}': parent does not exist`);
  if (parent.kind !== 'filesystem') throw new HostError(`cannot create '${to}': parent is not a filesystem`);
  const byName = new Map(pool.datasets.map((record) => [record.name, record]));
  const root = encryptionRootOf(dataset, byName);
  if (root !== dataset && root !== encryptionRootOf(parent, byName))
    throw refuse('cannot move encrypted child outside of its encryption root');
}

/** The clones of these datasets' snapshots, their children, and, recursively, the clones of those. */
function dependantsOf(pool: PoolRecord, gone: ReadonlySet<DatasetRecord>): readonly DatasetRecord[] {
  const all = new Set(gone);
  for (const record of all) {
    const names = new Set(snapshotNames(record));
    for (const other of pool.datasets)
      if (names.has(other.origin ?? '') || other.name.startsWith(`${record.name}/`)) all.add(other);
  }
  return pool.datasets.filter((record) => all.has(record) && !gone.has(record));
}
