import { folderOf } from '../../engine/declare/location.ts';
import type { Facts, Touched } from '../../engine/facts/facts.ts';
import { act, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { isWithin, parentOf } from '../../lib/path.ts';

/** The steps that move datasets and zvols to the bin of their pool, and back. */

const isThere = async ({ zfs }: Host, name: string) => (await zfs.datasets({ names: [name] })).length > 0;

/** The dataset below which a pool, or an encryption root in it, keeps what is in the bin. */
export const makeBin = ensure<'name', Texts<'name'>>({
  kind: 'make bin',
  keeps: ['name'],
  title: ({ name }) => `create the bin ${name}`,
  is: (host, { name }) => isThere(host, name),
  // Read-only is inherited, and ends by itself when something leaves the bin.
  make: ({ zfs }, { name }) => zfs.createDataset(name, { mountpoint: 'none', properties: { readonly: 'on' } }),
  async unmake({ zfs }, { name }) {
    const below = await zfs.datasets({ trees: [name] });
    if (below.length === 1) await zfs.destroyDataset(name);
  },
  touches: ({ name }) => [{ dataset: name }],
});

type Move = Texts<'name' | 'to'>;

interface Restoration extends Move {
  /** Where its files will be; undefined for a zvol. */
  readonly mountpoint: string | undefined;
}

const touched = ({ name, to }: Move): readonly Touched[] => [
  { dataset: name, below: true },
  { dataset: to, below: true },
];

/** A move that failed or was cut short may have unmounted some of it, so that it is taken back in any case. */
async function moveBack({ zfs }: Host, { name, to }: Texts<'name' | 'to'>, mounted: boolean): Promise<void> {
  const found = await zfs.datasets({ names: [name, to] });
  const from = found.find((one) => one.name === to)?.name ?? found[0]?.name;
  if (from !== undefined) await zfs.moveDataset(from, name, { mounted });
}

export const moveToBin = ensure<'name' | 'to', Move>({
  kind: 'move to bin',
  keeps: ['name', 'to'],
  isExclusive: true,
  title: ({ name }) => `move ${name} to the bin`,
  is: (host, { to }) => isThere(host, to),
  isBegun: async () => true,
  make: ({ zfs }, { name, to }) => zfs.moveDataset(name, to, { mounted: false }),
  unmake: (host, of) => moveBack(host, of, true),
  touches: touched,
  foresees: ({ name }, { facts }) => ({ facts: without(facts, name) }),
});

export const restoreFromBin = ensure<'name' | 'to', Restoration>({
  kind: 'restore from bin',
  keeps: ['name', 'to'],
  isExclusive: true,
  title: ({ to }) => `restore ${to} from the bin`,
  is: (host, { to }) => isThere(host, to),
  isBegun: async () => true,
  async make({ files, zfs }, { name, to, mountpoint }) {
    // ZFS would mount it over a folder that is there.
    if (mountpoint !== undefined && (await files.kind(mountpoint)) !== undefined)
      throw new HostError(`${to} cannot be restored: a file or folder of this name is there. Send another name.`);
    await zfs.moveDataset(name, to, { mounted: true });
  },
  unmake: (host, of) => moveBack(host, of, false),
  // With a path, the records of the same change are checked and rendered with what is restored.
  touches: ({ mountpoint, ...move }) => [...touched(move), { path: mountpoint ?? `/dev/zvol/${move.to}` }],
  foresees: (move, { facts }) => ({ facts: withRestored(facts, move) }),
});

interface Destruction extends Texts<'name'> {
  readonly origins: readonly string[];
}

export const destroyFromBin = act<'name', Destruction>({
  kind: 'destroy from bin',
  keeps: ['name'],
  title: ({ name }) => `destroy ${name}`,
  isDone: async (host, { name }) => !(await isThere(host, name)),
  perform: ({ zfs }, { name }) => zfs.destroyDataset(name, { recursive: true }),
  touches: ({ name, origins }) => [{ dataset: name, below: true }, ...origins.map((dataset) => ({ dataset }))],
});

function without(facts: Facts, root: string): Facts {
  const datasets = new Map([...facts.storage.datasets].filter(([name]) => !isWithin(name, root)));
  return { ...facts, storage: { ...facts.storage, datasets } };
}

/** The datasets with what is restored, below the mount point of its parent. */
function withRestored(facts: Facts, { name, to }: Move): Facts {
  const { binned, datasets, missing } = facts.storage;
  const all = new Map(datasets);
  for (const one of [...binned.values()].filter((candidate) => isWithin(candidate.name, name))) {
    const moved = `${to}${one.name.slice(name.length)}`;
    const above = all.get(parentOf(moved))?.mountpoint;
    const mountpoint =
      one.kind === 'volume' || above === undefined ? undefined : `${above}${moved.slice(parentOf(moved).length)}`;
    const restored: Dataset = { ...one, name: moved, mountpoint };
    all.set(moved, Object.freeze(restored));
  }
  const left = new Map([...binned].filter(([one]) => !isWithin(one, name)));
  const ordered = new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
  const stillMissing = new Set([...missing].filter((path) => !isWithin(path, folderOf(to))));
  return { ...facts, storage: { ...facts.storage, datasets: ordered, binned: left, missing: stillMissing } };
}

/** What a start can find in the journal. */
export const binStepKinds: readonly StepKind[] = [makeBin, moveToBin, restoreFromBin, destroyFromBin].map(
  ({ stepKind }) => stepKind,
);
