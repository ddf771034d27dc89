import { HostError } from '../../ports/index.ts';
import type { Dataset, DatasetScope, DatasetSettings, Datasets, NewDatasetSettings } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { Comments } from './comments.ts';
import { isMade } from './made.ts';
import { moveDataset } from './moving.ts';
import { ofSystem, type Programs } from './programs.ts';
import { datasetColumns, readDatasets } from './read-datasets.ts';
import { encryptionArgv, markArgv, optionsOf, ownSettings, restore, set, wantedOf } from './settings.ts';
import { deviceOfVolume } from './volume-device.ts';

export function linuxDatasets(programs: Programs): Datasets {
  let looks = 0;
  const comments = new Comments(programs);
  const datasets: Datasets = {
    async datasets(scope?: DatasetScope): Promise<readonly Dataset[]> {
      const begun = Date.now() / 1000;
      const { names = [], trees = [] } = scope ?? {};
      const lists =
        scope === undefined
          ? [await listDatasets(programs, [])]
          : await Promise.all([
              names.length === 0 ? '' : listDatasets(programs, [], names),
              trees.length === 0 ? '' : listDatasets(programs, ['-r'], trees),
            ]);
      looks += 1;
      const isSystem = await ofSystem();
      const found = lists
        .flatMap((list) => readDatasets(list, { now: begun, look: looks }))
        .filter(({ name }) => !isSystem(name));
      const datasets =
        lists.length === 1
          ? found
          : [...new Map(found.map((one) => [one.name, one])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
      return await comments.complete(datasets, scope === undefined);
    },

    async createDataset(name: string, settings: NewDatasetSettings = {}): Promise<void> {
      await create(programs, settings, '--', name);
      comments.note(name, settings.comment);
    },

    /**
     * In two steps. ZFS refuses space that a volume cannot get only after it has made the volume. OpenZFS 2.3 then tries
     * in the kernel, without a pause, to destroy the volume while udev still has it open: a machine with one processor hangs.
     */
    async createVolume(name: string, size: number, settings: NewDatasetSettings = {}): Promise<void> {
      const { volsize: _, reservation, refreservation = 'auto', ...properties } = settings.properties ?? {};
      await create(programs, { ...settings, properties }, '-s', '-V', String(size), '--', name);
      const space = [
        ...(reservation === undefined || reservation === 'inherit' ? [] : [['reservation', reservation] as const]),
        // A volume that is created so reserves nothing.
        ...(refreservation === '0' || refreservation === 'none'
          ? []
          : [['refreservation', refreservation === 'inherit' ? 'auto' : refreservation] as const]),
      ];
      try {
        if (space.length > 0) await set(programs, name, space);
      } catch (error) {
        await datasets.destroyDataset(name);
        throw error instanceof HostError
          ? new HostError(error.message.replace(/^cannot set property for/, 'cannot create'), { cause: error })
          : error;
      }
      comments.note(name, settings.comment);
      await deviceOfVolume(name);
    },

    async changeDataset(name: string, settings: DatasetSettings, former?: DatasetSettings): Promise<void> {
      const wanted = wantedOf(settings);
      if (wanted.length === 0) return;
      const names = wanted.map(([property]) => property);
      const own = wanted.filter(([, value]) => value !== undefined);
      const inherit = wanted.filter(([, value]) => value === undefined);
      // zfs sets several one after the other, and may have changed some when it fails.
      const before =
        names.length > 1 &&
        (former === undefined ? await ownSettings(programs, name, names) : new Map(wantedOf(former)));
      try {
        if (own.length > 0) await set(programs, name, own);
        for (const [property] of inherit) await programs.do('zfs', 'inherit', property, name);
      } catch (error) {
        if (before !== false) await restore(programs, name, before, names);
        throw error;
      }
      comments.note(name, settings.comment);
    },

    async destroyDataset(
      name: string,
      { recursive = false, clones = false }: { recursive?: boolean; clones?: boolean } = {},
    ): Promise<void> {
      // `zfs destroy` would also accept a snapshot.
      if (name.includes('@')) throw new HostError(`cannot open '${name}': it is not a dataset`);
      await programs.patiently('zfs', 'destroy', ...(clones ? ['-R'] : recursive ? ['-r'] : []), '--', name);
    },

    moveDataset: (name, to, { mounted }) => moveDataset(programs, name, to, mounted),

    isMade: (name, mark) => isMade(programs, name, mark),
  };
  return datasets;
}

async function create(
  programs: Programs,
  { encryption, mark, ...settings }: NewDatasetSettings,
  ...rest: readonly string[]
): Promise<void> {
  const own = [...encryptionArgv('-o', encryption), ...markArgv(mark), ...optionsOf('-o', settings)];
  const argv = ['zfs', 'create', ...own, ...rest];
  expectSuccess(
    encryption === undefined ? await programs.run(...argv) : await programs.runWithKey(encryption.key, ...argv),
    argv,
  );
}

/**
 * With JSON output zfs prints nothing but errors when one of several datasets does not exist, so the others are
 * listed again.
 */
async function listDatasets(
  programs: Programs,
  options: readonly string[],
  names: readonly string[] = [],
): Promise<string> {
  const argv = ['zfs', 'list', '-jp', ...options, '-t', 'filesystem,volume', '-o', datasetColumns.join(',')];
  const outcome = await programs.run(...argv, ...names);
  if (outcome.status === 0) return outcome.stdout;
  const gone = new Set(
    [...outcome.stderr.matchAll(/^cannot open '([^']+)': (?:dataset does not exist|no such pool)/gm)].map(
      (match) => match[1],
    ),
  );
  const left = names.filter((name) => !gone.has(name));
  if (left.length === names.length) expectSuccess(outcome, argv);
  return left.length === 0 ? '' : await listDatasets(programs, options, left);
}
