import { HostError } from '../../ports/index.ts';
import type { Dataset, DatasetScope, DatasetSettings, Datasets } from '../../ports/zfs.ts';
import { shapesOf } from './groups.ts';
import { checkedMountpoint, deviceOf } from './names.ts';
import { settingsAfterChange, settingsAtCreation } from './properties.ts';
import type { DatasetRecord, PoolRecord } from './record.ts';
import { datasetRecord, snapshotNames } from './records.ts';
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
      return all.filter(
        ({ name }) => names.includes(name) || trees.some((root) => name === root || name.startsWith(`${root}/`)),
      );
    },

    async createDataset(name: string, settings: DatasetSettings = {}): Promise<void> {
      const pool = store.poolForNew(name);
      const local = settingsAtCreation(name, 'filesystem', settings.properties ?? {});
      // New children take the case sensitivity of their parent, and keep it.
      const above = pool.datasets.find((record) => record.name === parentOf(name))?.properties.casesensitivity;
      const properties = above === undefined ? local : Object.freeze({ casesensitivity: above, ...local });
      store.add(pool, datasetRecord(name, 'filesystem', properties, settings));
    },

    async createVolume(name: string, size: number, settings: DatasetSettings = {}): Promise<void> {
      const pool = store.poolForNew(name);
      if (!Number.isSafeInteger(size) || size <= 0)
        throw new HostError(`cannot create '${name}': volume size must be greater than zero`);
      const { volsize: _, refreservation, ...others } = settings.properties ?? {};
      const checked = settingsAtCreation(name, 'volume', others);
      const blocksize = Number(checked.volblocksize ?? '16384');
      const volsize = Math.ceil(size / blocksize) * blocksize;
      const whole = String(volumeReservation(volsize, blocksize, shapesOf(pool.groups)));
      const asked = settingsAtCreation(
        name,
        'volume',
        refreservation === undefined || isWhole(refreservation) ? {} : { refreservation },
      );
      const properties = Object.freeze({
        ...checked,
        volsize: String(volsize),
        refreservation: asked.refreservation ?? whole,
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
      const gone = new Set(
        pool.datasets.filter((record) => record.name === name || record.name.startsWith(`${name}/`)),
      );
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
  };
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
