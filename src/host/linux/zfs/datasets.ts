import { collected } from '../../../lib/slices.ts';
import { HostError } from '../../ports/index.ts';
import type { Dataset, DatasetScope, DatasetSettings, Datasets, Named, NewDatasetSettings } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { isMade } from './made.ts';
import { moveDataset } from './moving.ts';
import { areGone, ofSystem, type Programs } from './programs.ts';
import { asking, type Properties } from './properties.ts';
import { describing, type Look, readDataset } from './read-datasets.ts';
import { readSnapshot, snapshotProperties } from './read-snapshots.ts';
import { encryptionArgv, markArgv, optionsOf, ownSettings, restore, set, wantedOf } from './settings.ts';
import { deviceOfVolume } from './volume-device.ts';

/** Those of datasets and of snapshots, which lack most of the former. */
const namedProperties: readonly string[] = [...new Set([...describing, ...snapshotProperties])];

export function linuxDatasets(programs: Programs): Datasets {
  // Its numbers are part of some stamps, which are compared with those of an earlier run.
  let looks = Date.now();
  const newLook = (): Look => {
    looks += 1;
    return { now: Date.now() / 1000, look: looks };
  };
  const datasets: Datasets = {
    async datasets(scope?: DatasetScope): Promise<readonly Dataset[]> {
      const look = newLook();
      const { names = [], trees = [] } = scope ?? {};
      const lists =
        scope === undefined
          ? [await list(programs, look, [])]
          : await Promise.all([
              names.length === 0 ? [] : list(programs, look, [], names),
              trees.length === 0 ? [] : list(programs, look, ['-r'], trees),
            ]);
      return await ofAppliance(lists.flat());
    },

    async named(names: readonly string[]): Promise<Named> {
      const look = newLook();
      const found = await collected(
        await propertiesOf(programs, namedProperties, ['-t', 'filesystem,volume,snapshot'], names),
      );
      const [snapshots, others] = [
        found.filter(([name]) => name.includes('@')),
        found.filter(([name]) => !name.includes('@')),
      ];
      return {
        datasets: await ofAppliance(others.map(([name, properties]) => readDataset(name, properties, look))),
        snapshots: snapshots.map(([name, properties]) => readSnapshot(name, properties)),
      };
    },

    async createDataset(name: string, settings: NewDatasetSettings = {}): Promise<void> {
      await create(programs, settings, '--', name);
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

/** All datasets, or those of these names that are there. */
async function list(
  programs: Programs,
  look: Look,
  options: readonly string[],
  names: readonly string[] = [],
): Promise<readonly Dataset[]> {
  const found = await propertiesOf(programs, describing, [...options, '-t', 'filesystem,volume'], names);
  return await collected(found.map(([name, properties]) => readDataset(name, properties, look)));
}

/** The properties of all, or of those of these names that are there, read one after the other. */
async function propertiesOf(
  programs: Programs,
  properties: readonly string[],
  options: readonly string[],
  names: readonly string[],
): Promise<IteratorObject<readonly [string, Properties]>> {
  const question = asking(properties);
  const argv = question.argv(names, options);
  const outcome = await programs.run(...argv);
  // Those that are there are printed regardless.
  if (!(names.length > 0 && areGone(outcome))) expectSuccess(outcome, argv);
  return Iterator.from(question.read(outcome.stdout));
}

/** Without those of the machine's own system, each once, parents before children. */
async function ofAppliance(found: readonly Dataset[]): Promise<readonly Dataset[]> {
  const isSystem = await ofSystem();
  const byName = new Map(found.map((one) => [one.name, one]));
  return [...byName.values()].filter(({ name }) => !isSystem(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}
