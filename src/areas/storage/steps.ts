import { volumesFolder } from '../../engine/declare/formats.ts';
import type { Facts, Touched } from '../../engine/facts/facts.ts';
import { act, actOnce, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import {
  type Dataset,
  type DatasetSettings,
  type DiskGroup,
  emptyFigures,
  initialFigures,
  type NewDatasetSettings,
  newMark,
  type Pool,
  type PoolSpec,
} from '../../host/ports/zfs.ts';
import { lastElement, parentOf } from '../../lib/path.ts';
import { messageOf } from '../../lib/text.ts';

/** The steps that create and destroy pools, datasets and snapshots. Each is declared once, here. */

/**
 * ZFS creates nothing that is there already, so what was created is the step's own. A step that failed, or a start that
 * finds the step begun, recognizes it by the mark of its creation, which the journal has as `before`.
 */
const marked = {
  before: async () => newMark(),
  isBegun: (host: Host, { name }: { readonly name: string }, mark: string) => isOwn(host, name, mark),
};

/** An earlier version kept no mark: it had looked, before the step, that there was nothing of this name. */
const isOwn = (host: Host, name: string, mark: string): Promise<boolean> =>
  mark === '' ? isThere(host, name) : host.zfs.isMade(name, mark);

async function isThere({ zfs }: Host, name: string): Promise<boolean> {
  const { datasets, snapshots } = await zfs.named([name]);
  return datasets.length + snapshots.length > 0;
}

/** Takes a creation back, unless what has its name is another one's. */
async function destroyOwn(
  host: Host,
  { name, mark }: { readonly name: string; readonly mark: string },
  options: { readonly recursive?: boolean } = {},
): Promise<void> {
  if (await isOwn(host, name, mark)) await host.zfs.destroyDataset(name, options);
}

/** A new dataset, as far as it is known before it is there. */
const emptyDataset: Omit<Dataset, 'name'> = Object.freeze({
  kind: 'filesystem',
  used: 0,
  available: 0,
  referenced: 0,
  figures: emptyFigures,
  mountpoint: undefined,
  properties: Object.freeze({}),
  inherited: [],
  comment: undefined,
  origin: undefined,
  snapshotStamp: '',
});

/** A new pool. ZFS chooses its GUID. */
function emptyPool(name: string): Pool {
  const sizes = { size: 0, allocated: 0, free: 0 };
  const rest = { figures: initialFigures, upgraded: true, scan: undefined, groups: [] };
  return { name, guid: `new pool ${name}`, health: 'ONLINE', ...sizes, ...rest };
}

function withDataset(facts: Facts, dataset: Dataset): Facts {
  const datasets = new Map([...facts.storage.datasets, [dataset.name, dataset]]);
  return { ...facts, storage: { ...facts.storage, datasets } };
}

/** Where ZFS mounts a new dataset by itself: below the one that it is in. */
function mountpointIn({ storage: { datasets } }: Facts, name: string): string | undefined {
  const above = datasets.get(parentOf(name))?.mountpoint;
  return above === undefined ? undefined : `${above}/${lastElement(name)}`;
}

interface NewDataset {
  readonly name: string;
  readonly settings: NewDatasetSettings;
  /** Where the parent is mounted. ZFS would mount the dataset over a folder that is there (gaps 12.2). */
  readonly above?: string | undefined;
}

export const createDataset = ensure<'name', NewDataset>({
  kind: 'create dataset',
  keeps: ['name'],
  title: ({ name }) => `create the dataset ${name}`,
  ...marked,
  async make({ files, zfs }, { name, settings, above }, _, mark) {
    if (above !== undefined && (await files.kind(`${above}/${lastElement(name)}`)) !== undefined)
      throw new HostError(`cannot create '${name}': dataset already exists, or a file or folder of this name`);
    await zfs.createDataset(name, { ...settings, mark });
  },
  // With snapshots or children, which others made meanwhile, it stays.
  unmake: (host, { name }, { before: mark }) => destroyOwn(host, { name, mark }),
  touches: ({ name }) => [{ dataset: name, isNew: true }],
  foresees: ({ name, above }, { facts }) => {
    const mountpoint = above === undefined ? undefined : `${above}/${lastElement(name)}`;
    return { facts: withDataset(facts, { ...emptyDataset, name, mountpoint }) };
  },
});

interface FilledDataset {
  readonly name: string;
  /** Bytes of the contents: a small archive may unpack to a great deal. */
  readonly most: number;
}

/** A dataset that the steps after it fill, such as a template of jails. It is taken back with its contents. */
export const createFilledDataset = ensure<'name', FilledDataset>({
  kind: 'create filled dataset',
  keeps: ['name'],
  title: ({ name }) => `create the dataset ${name}`,
  ...marked,
  make: ({ zfs }, { name, most }, _, mark) => zfs.createDataset(name, { properties: { refquota: String(most) }, mark }),
  unmake: (host, { name }, { before: mark }) => destroyOwn(host, { name, mark }, { recursive: true }),
  touches: ({ name }) => [{ dataset: name }],
  foresees: ({ name }, { facts }) => ({
    facts: withDataset(facts, { ...emptyDataset, name, mountpoint: mountpointIn(facts, name) }),
  }),
});

interface NewVolume {
  readonly name: string;
  readonly bytes: number;
  readonly settings: NewDatasetSettings;
}

export const createVolume = ensure<'name', NewVolume>({
  kind: 'create zvol',
  keeps: ['name'],
  title: ({ name }) => `create the zvol ${name}`,
  ...marked,
  make: ({ zfs }, { name, bytes, settings }, _, mark) => zfs.createVolume(name, bytes, { ...settings, mark }),
  unmake: (host, { name }, { before: mark }) => destroyOwn(host, { name, mark }),
  touches: ({ name }) => [{ dataset: name }],
});

interface DatasetDestruction {
  readonly name: string;
  /** With `clones`, what was cloned from its snapshots goes too. */
  readonly with: 'nothing' | 'children' | 'clones';
  /** What is different afterwards, where that is more than the dataset and everything below it. */
  readonly touches?: readonly Touched[];
}

export const destroyDataset = act<'name' | 'with', DatasetDestruction>({
  kind: 'destroy dataset',
  keeps: ['name', 'with'],
  title: ({ name }) => `destroy the dataset ${name}`,
  isDone: async (host, { name }) => !(await isThere(host, name)),
  perform: ({ zfs }, { name, with: along }) =>
    zfs.destroyDataset(name, { recursive: along === 'children', clones: along === 'clones' }),
  touches: ({ name, touches }) => touches ?? [{ dataset: name, below: true, isGone: true }],
});

/** Destroys a dataset that belongs to nothing. Two jobs may do so at once, so a missing dataset is not an error. */
export const clearDataset = ensure<'name', Texts<'name'>>({
  kind: 'clear dataset',
  keeps: ['name'],
  isExclusive: true,
  title: ({ name }) => `destroy the dataset ${name}`,
  is: async (host, { name }) => !(await isThere(host, name)),
  async make(host, { name }) {
    try {
      await host.zfs.destroyDataset(name, { recursive: true });
    } catch (error) {
      if (await isThere(host, name)) throw error;
    }
  },
  unmake: async () => {},
  touches: ({ name }) => [{ dataset: name, below: true }],
});

interface DatasetChange extends Texts<'name' | 'former'> {
  readonly what: string;
  readonly settings: DatasetSettings;
}

function settingsOf(text: string): DatasetSettings {
  const settings: DatasetSettings = JSON.parse(text);
  return settings;
}

/** `former` are the settings that restore what there was, as JSON. */
export const changeDataset = ensure<'name' | 'former', DatasetChange>({
  kind: 'change dataset',
  keeps: ['name', 'former'],
  title: ({ name, what }) => `change the ${what} ${name}`,
  make: ({ zfs }, { name, settings, former }) => zfs.changeDataset(name, settings, settingsOf(former)),
  unmake: ({ zfs }, { name, former }) => zfs.changeDataset(name, settingsOf(former)),
  // Descendants inherit the properties.
  touches: ({ name }) => [{ dataset: name, below: 'known' }],
});

interface NewSnapshot {
  readonly dataset: string;
  readonly name: string;
  /** With `below`, everything below the dataset gets a snapshot too, in the same moment. */
  readonly scope: 'one' | 'below';
}

export const createSnapshot = ensure<'dataset' | 'name' | 'scope', NewSnapshot>({
  kind: 'create snapshot',
  keeps: ['dataset', 'name', 'scope'],
  title: ({ dataset, name, scope }) =>
    `create the snapshot ${dataset}@${name}${scope === 'below' ? ' recursively' : ''}`,
  ...marked,
  make: ({ zfs }, { dataset, name, scope }, _, mark) =>
    zfs.createSnapshot(`${dataset}@${name}`, { recursive: scope === 'below', mark }),
  // Those below came in the same moment as this one, or none did.
  isBegun: (host, { dataset, name }, mark) => isOwn(host, `${dataset}@${name}`, mark),
  async unmake(host, { dataset, name, scope }, { before: mark }) {
    const id = `${dataset}@${name}`;
    if (await isOwn(host, id, mark)) await host.zfs.destroySnapshot(id, { recursive: scope === 'below' });
  },
  touches: ({ dataset, name, scope }) => [scope === 'below' ? { dataset, below: true } : { dataset, snapshot: name }],
  foresees: ({ dataset, name }, { facts }) => {
    const { storage } = facts;
    const kind = storage.datasets.get(dataset)?.kind ?? 'filesystem';
    return {
      facts: { ...facts, storage: { ...storage, snapshots: storage.snapshots.withNew({ dataset, name }, kind) } },
    };
  },
});

interface TimedSnapshot extends Texts<'dataset' | 'name'> {
  readonly recursive: boolean;
  /** Id of the snapshot task, which the snapshot carries. */
  readonly task: number;
}

/** ZFS makes the whole of it or nothing. It stays after a crash, because its time cannot come again. */
export const takeSnapshot = actOnce<'dataset' | 'name', TimedSnapshot>({
  kind: 'take snapshot',
  keeps: ['dataset', 'name'],
  title: ({ dataset, name }) => `create the snapshot ${dataset}@${name}`,
  perform: ({ zfs }, { dataset, name, recursive, task }) =>
    zfs.createSnapshot(`${dataset}@${name}`, { recursive, task }),
  touches: ({ dataset, name, recursive }) => [recursive ? { dataset, below: true } : { dataset, snapshot: name }],
});

interface Expired extends Texts<'snapshots'> {
  /** What they are snapshots of, for the title. */
  readonly of: string;
}

/** `snapshots` are the full names, one on each line. One that is in use stays, and the next time it is tried again. */
export const destroyExpired = act<'snapshots', Expired, { readonly deleted: string[]; readonly kept: string[] }>({
  kind: 'destroy expired snapshots',
  aborts: true,
  keeps: ['snapshots'],
  title: ({ of }) => `destroy the expired snapshots of ${of}`,
  isDone: async () => false,
  async perform({ zfs }, { snapshots }, _, running) {
    const deleted: string[] = [];
    const kept: string[] = [];
    for (const id of snapshots.split('\n')) {
      if (running?.signal.aborted === true) break;
      try {
        await zfs.destroySnapshot(id, { deferred: true });
        deleted.push(id);
      } catch (error) {
        kept.push(`${id}: ${messageOf(error)}`);
      }
    }
    return { deleted, kept };
  },
  touches: ({ snapshots }) =>
    snapshots
      .split('\n')
      .map((id) => ({ dataset: id.slice(0, id.indexOf('@')), snapshot: id.slice(id.indexOf('@') + 1) })),
});

/** A snapshot with clones is destroyed together with its last clone (clients-need B7). */
export const destroySnapshot = act<'dataset' | 'name', Texts<'dataset' | 'name'>>({
  kind: 'destroy snapshot',
  keeps: ['dataset', 'name'],
  title: ({ dataset, name }) => `destroy the snapshot ${dataset}@${name}`,
  isDone: async (host, { dataset, name }) => !(await isThere(host, `${dataset}@${name}`)),
  perform: ({ zfs }, { dataset, name }) => zfs.destroySnapshot(`${dataset}@${name}`, { deferred: true }),
  touches: ({ dataset, name }) => [{ dataset, snapshot: name }],
});

interface Rollback extends Texts<'dataset' | 'id'> {
  readonly force: boolean;
}

/** A second rollback would take what was written since the first. */
export const rollBack = actOnce<'dataset' | 'id', Rollback>({
  kind: 'roll back',
  keeps: ['dataset', 'id'],
  title: ({ dataset, id }) => `roll ${dataset} back to ${id}`,
  perform: ({ zfs }, { id, force }) => zfs.rollback(id, { force }),
  touches: ({ dataset }) => [{ dataset, below: true }],
});

interface NewClone {
  readonly snapshot: string;
  readonly name: string;
  /** Whether it is taken back with what was created in it. */
  readonly with: 'nothing' | 'children';
}

export const cloneSnapshot = ensure<'name' | 'with', NewClone>({
  kind: 'clone snapshot',
  keeps: ['name', 'with'],
  title: ({ snapshot, name }) => `clone ${snapshot} as ${name}`,
  ...marked,
  make: ({ zfs }, { snapshot, name }, _, mark) => zfs.cloneSnapshot(snapshot, name, { mark }),
  unmake: (host, { name, with: along }, { before: mark }) =>
    destroyOwn(host, { name, mark }, { recursive: along === 'children' }),
  // Also the dataset of the snapshot: that may be gone, and a clone keeps its snapshot.
  touches: ({ snapshot, name }) => [{ dataset: name }, { dataset: snapshot.split('@')[0] ?? snapshot }],
  foresees: ({ snapshot, name }, { facts }) => {
    const kind = facts.storage.datasets.get(snapshot.split('@')[0] ?? snapshot)?.kind ?? 'filesystem';
    const mountpoint = kind === 'filesystem' ? mountpointIn(facts, name) : undefined;
    return { facts: withDataset(facts, { ...emptyDataset, name, kind, mountpoint, origin: snapshot }) };
  },
});

const ofPool = ({ name }: { readonly name: string }) => ({ subjects: [`pool ${name}`] });

interface NewPool {
  readonly name: string;
  readonly spec: PoolSpec;
}

export const createPool = ensure<'name', NewPool>({
  kind: 'create pool',
  keeps: ['name'],
  // A pool of this name that was there is another one's, and why this one could not be created.
  isExclusive: true,
  title: ({ name }) => `create the pool ${name}`,
  shows: ofPool,
  is: async ({ zfs }, { name }) => (await zfs.pools([name])).length > 0,
  make: ({ zfs }, { spec }) => zfs.createPool(spec),
  unmake: ({ zfs }, { name }) => zfs.destroyPool(name),
  touches: () => ['storage', 'disks'],
  foresees: ({ name, spec }, { facts }) => ({
    facts: withDataset(
      { ...facts, storage: { ...facts.storage, pools: new Map([...facts.storage.pools, [name, emptyPool(name)]]) } },
      { ...emptyDataset, name, mountpoint: spec.mountpoint },
    ),
  }),
});

const isImported = async ({ zfs }: Host, guid: string) => (await zfs.pools()).some((pool) => pool.guid === guid);

/** A pool that there is. */
type KnownPool = Texts<'name' | 'guid'>;

export const exportPool = ensure<'name' | 'guid', KnownPool>({
  kind: 'export pool',
  keeps: ['name', 'guid'],
  title: ({ name }) => `export the pool ${name}`,
  shows: ofPool,
  is: async (host, { guid }) => !(await isImported(host, guid)),
  make: ({ zfs }, { name }) => zfs.exportPool(name),
  unmake: ({ zfs }, { guid }) => zfs.importPool(guid),
  afterCrash: 'go on',
  goOn: ({ zfs }, { name }) => zfs.exportPool(name),
  touches: () => ['storage', 'disks'],
});

export const destroyPool = act<'name' | 'guid', KnownPool>({
  kind: 'destroy pool',
  keeps: ['name', 'guid'],
  title: ({ name }) => `destroy the pool ${name}`,
  shows: ofPool,
  // A pool that is only not imported now still exists.
  isDone: async (host, { guid }) =>
    !(await isImported(host, guid)) && !(await host.zfs.importable()).some((pool) => pool.guid === guid),
  perform: ({ zfs }, { name }) => zfs.destroyPool(name),
  touches: () => ['storage', 'disks'],
});

/**
 * Imports a pool and mounts it below the folder of volumes. One that another machine used last is imported only if a
 * person asked for it by name, who was shown which machine that is.
 */
export const importPool = ensure<'name' | 'guid' | 'isAsked', Texts<'name' | 'guid' | 'isAsked'>>({
  kind: 'import pool',
  keeps: ['name', 'guid', 'isAsked'],
  isExclusive: true,
  title: ({ name }) => `import the pool ${name}`,
  shows: ofPool,
  // Only an imported pool shows whether it is encrypted.
  decides: true,
  is: (host, { guid }) => isImported(host, guid),
  make: ({ zfs }, { name, guid, isAsked }) =>
    zfs.importPool(guid, { mountpoint: `${volumesFolder}/${name}`, takesOver: isAsked === 'yes' }),
  unmake: ({ zfs }, { name }) => zfs.exportPool(name),
  touches: () => ['storage', 'disks'],
});

/** A service that was restarted is as it was, so there is nothing to take back. */
export const restartService = ensure<'name', Texts<'name'>>({
  kind: 'restart service',
  keeps: ['name'],
  title: ({ name }) => `restart ${name}`,
  shows: ({ name }) => ({ subjects: [`service ${name}`], services: [{ service: name, action: 'restart' }] }),
  make: ({ services }, { name }) => services.restart(name),
  unmake: async () => {},
  touches: () => ['services'],
});

/** What a disk without a pool contained is not kept. */
export const scrambleDisk = ensure<'disk', Texts<'disk'>>({
  kind: 'scramble disk',
  keeps: ['disk'],
  title: ({ disk }) => `fill ${disk} with random data`,
  make: ({ disks }, { disk }) => disks.scramble(disk),
  unmake: async () => {},
});

interface Extension extends Texts<'name'> {
  readonly groups: readonly DiskGroup[];
}

/** Disks cannot be removed from a pool again. */
export const extendPool = actOnce<'name', Extension>({
  kind: 'extend pool',
  keeps: ['name'],
  title: ({ name }) => `extend the pool ${name}`,
  perform: ({ zfs }, { name, groups }) => zfs.extendPool(name, groups),
  touches: () => ['storage', 'disks'],
});

export const upgradePool = actOnce<'name', Texts<'name'>>({
  kind: 'upgrade pool',
  keeps: ['name'],
  title: ({ name }) => `upgrade the pool ${name}`,
  perform: ({ zfs }, { name }) => zfs.upgradePool(name),
  touches: ({ name }) => [{ pool: name }],
});

interface Scrub extends Texts<'pool'> {
  readonly what: 'start' | 'stop';
}

export const switchScrub = actOnce<'pool', Scrub>({
  kind: 'switch scrub',
  keeps: ['pool'],
  title: ({ pool, what }) => `${what} the scrub of ${pool}`,
  perform: ({ zfs }, { pool, what }) => (what === 'start' ? zfs.startScrub(pool) : zfs.stopScrub(pool)),
  touches: ({ pool }) => [{ pool }],
});

/** What a start can find in the journal. */
export const storageStepKinds: readonly StepKind[] = [
  createDataset,
  createFilledDataset,
  createVolume,
  destroyDataset,
  clearDataset,
  changeDataset,
  createSnapshot,
  takeSnapshot,
  destroyExpired,
  destroySnapshot,
  rollBack,
  cloneSnapshot,
  createPool,
  exportPool,
  destroyPool,
  importPool,
  restartService,
  scrambleDisk,
  extendPool,
  upgradePool,
  switchScrub,
].map(({ stepKind }) => stepKind);
