import { IssueList, invalid } from '../../engine/declare/errors.ts';
import { flag, optional, required, text } from '../../engine/declare/fields.ts';
import { volumesFolder } from '../../engine/declare/location.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import type { World } from '../../engine/declare/resource.ts';
import { choiceOf, flagOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import { snapshotsFolder } from '../../host/ports/zfs.ts';
import { isWithin, lastElement, normalPath, parentOf } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { restoreFiles } from '../folders/folders.ts';
import { iscsiExtent } from '../services/iscsi/extent.ts';
import { createSnapshot } from '../storage/steps.ts';
import { datasetAt, mountedIn } from './choices.ts';

/** The most differences of an answer: more are nothing to read. */
const mostDifferences = 10_000;

const name = (description: string) => text({ description, max: 255 });

/** A file or folder of a snapshot, and where it is restored. */
interface Wanted {
  readonly dataset: string;
  readonly from: string;
  readonly to: string;
  readonly within: string;
}

export const snapshots = section('snapshots', 'What snapshots have, and getting single files back from one.', [
  operation({
    method: 'GET',
    path: 'snapshots/differences',
    name: 'listDifferences',
    title:
      'Lists what differs between a snapshot and a later one, or the dataset as it is now. It takes as long as there are changes; ZFS takes a snapshot for it that is gone with the answer.',
    query: {
      from: required(name('Full name of the snapshot, such as tank/media@monday.')),
      to: optional(name('Full name of a later snapshot of the same dataset. Without it, the dataset as it is now.')),
    },
    answer: objectOf('Differences', {
      complete: flagOf(`Whether these are all differences; otherwise there are more than ${mostDifferences}.`),
      differences: listOf(
        objectOf('Difference', {
          change: choiceOf(['added', 'removed', 'changed', 'renamed'], 'What happened to it.'),
          kind: choiceOf(['file', 'folder', 'link', 'other'], 'What it is.'),
          path: stringOf('Path in the dataset; empty for its own folder.'),
          to: orNull(stringOf('Later path of what was renamed.')),
        }),
        'By path.',
      ),
    }),
    example: { query: { from: 'tank@snap0' } },
    async run({ query: { from, to }, operations, context }) {
      const { world } = operations;
      const dataset = datasetOf(from, 'from', world);
      if (to !== undefined && datasetOf(to, 'to', world) !== dataset)
        throw invalid({ to: [`Expected a snapshot of ${dataset}, got ${quote(to)}.`] });
      const confinedTo = context.access?.rights.dataset ?? '';
      if (confinedTo !== '' && !isWithin(dataset, confinedTo))
        throw invalid({
          from: [
            `Expected a snapshot in the dataset ${quote(confinedTo)}, to which the key is confined, got ${quote(from)}.`,
          ],
        });
      const { found, isWhole } = await operations.ask(`compare ${from} with ${to ?? 'the dataset'}`, ({ zfs }) =>
        zfs.differences(from, to, { most: mostDifferences }).catch((error: unknown) => {
          throw error instanceof HostError
            ? invalid({ from: [`Expected a snapshot that can be compared: ${error.message}.`] })
            : error;
        }),
      );
      const differences = found
        .map(({ change, kind, path, to: later }) => ({ change, kind, path, to: later ?? null }))
        .toSorted((a, b) => (a.path < b.path ? -1 : 1));
      return { complete: isWhole, differences };
    },
  }),
  operation({
    method: 'POST',
    path: 'snapshots/restore',
    name: 'restoreFromSnapshot',
    title:
      'Copies a file or folder from a snapshot back to its dataset, with owner, permissions and times. With replaces, a snapshot before it keeps what was there.',
    body: {
      snapshot: required(name('Full name of the snapshot, such as tank/media@monday.')),
      path: required(
        text({ description: 'Path of the file or folder in the dataset, such as letters/may.odt.', max: 4096 }),
      ),
      to: optional(
        text({ description: 'Path in the dataset that it gets. Without it, the one that it had.', max: 4096 }),
      ),
      replaces: flag(false, {
        description: 'Whether what has this path now is replaced. Without this, it is refused.',
      }),
    },
    answer: objectOf('Restored', {
      path: stringOf('Path of what was restored.'),
      kept_in: orNull(stringOf('Full name of the snapshot that keeps what was replaced; null if nothing was.')),
    }),
    example: { body: { snapshot: 'tank/media@monday', path: 'letter.txt' } },
    async run({ body: { snapshot, path, to, replaces }, operations }) {
      const wanted = wantedOf(snapshot, path, to ?? path, operations.world);
      const isThere = await operations.ask(`look at ${wanted.to}`, (host) =>
        throwUnlessPossible(host, wanted, replaces),
      );
      const keeping =
        replaces && isThere ? { dataset: wanted.dataset, name: keepingName(operations.now()) } : undefined;
      if (keeping !== undefined) throwIfServed(wanted, operations.world);
      await operations.work(`restore ${wanted.to} from ${snapshot}`, [`files:${wanted.within}`], (work) =>
        work.steps([
          ...(keeping === undefined ? [] : [createSnapshot({ ...keeping, scope: 'one' })]),
          restoreFiles({ from: wanted.from, to: wanted.to, within: wanted.within, replaces: keeping !== undefined }),
        ]),
      );
      return { path: wanted.to, kept_in: keeping === undefined ? null : `${keeping.dataset}@${keeping.name}` };
    },
  }),
]);

/** The dataset of a snapshot that is there. */
function datasetOf(snapshot: string, field: string, { facts: { storage } }: World): string {
  const found = storage.snapshots.find(snapshot);
  if (found === undefined) throw invalid({ [field]: [`The snapshot ${quote(snapshot)} does not exist.`] });
  if (found.kind !== 'filesystem')
    throw invalid({ [field]: [`Expected a snapshot of a dataset, got ${quote(snapshot)} of a zvol.`] });
  return found.dataset;
}

function wantedOf(snapshot: string, path: string, to: string, world: World): Wanted {
  const dataset = datasetOf(snapshot, 'snapshot', world);
  const mountpoint = world.facts.storage.datasets.get(dataset)?.mountpoint;
  if (typeof mountpoint !== 'string' || !isWithin(mountpoint, volumesFolder))
    throw invalid({ snapshot: [`The dataset ${quote(dataset)} is not mounted.`] });
  const name = snapshot.slice(dataset.length + 1);
  const issues = new IssueList<'path' | 'to'>();
  const check = (field: 'path' | 'to', sent: string) => {
    const parts = sent.split('/');
    if (sent === '' || parts.some((part) => part === '' || part === '.' || part === '..') || parts[0] === '.zfs')
      issues.add(field, `Expected a path in the dataset, such as letters/may.odt, got ${quote(sent)}.`);
  };
  check('path', path);
  check('to', to);
  const target = `${mountpoint}/${to}`;
  const mounted = mountedIn(world.facts);
  const at = datasetAt(parentOf(target), mounted);
  if (at !== undefined && at !== dataset) issues.add('to', `Expected a path in ${dataset}, got one in ${at}.`);
  const inside = [...mounted].find(([place]) => isWithin(place, target))?.[1];
  if (inside !== undefined) issues.add('to', `The dataset ${inside} is mounted there.`);
  issues.throwIfAny();
  return {
    ...{ dataset, to: normalPath(target), within: volumesFolder },
    from: `${mountpoint}/${snapshotsFolder}/${name}/${path}`,
  };
}

/** Refuses what cannot be restored there. Returns whether something has the path. */
async function throwUnlessPossible({ files }: Host, { from, to }: Wanted, replaces: boolean): Promise<boolean> {
  const issues = new IssueList<'path' | 'to'>();
  const listed = async (path: string) => {
    if ((await files.kind(path)) !== undefined) return true;
    // A link that leads nowhere is something too.
    const options = { within: volumesFolder, foldersOnly: false, most: Number.MAX_SAFE_INTEGER };
    const beside = await files.entries(parentOf(path), options).catch(() => []);
    return beside.some(({ name }) => name === lastElement(path));
  };
  if (!(await listed(from)))
    issues.add(
      'path',
      `The snapshot has no ${quote(from.slice(from.indexOf(snapshotsFolder) + snapshotsFolder.length + 1))}.`,
    );
  const isThere = await listed(to);
  if (isThere && !replaces)
    issues.add('to', `${quote(to)} exists. Send another path, or replaces: true, which keeps it in a snapshot.`);
  if (!isThere && (await files.kind(parentOf(to))) !== 'folder')
    issues.add('to', `Expected a path in an existing folder: there is no folder ${quote(parentOf(to))}.`);
  issues.throwIfAny();
  return isThere;
}

/** A target goes on to serve the file that it has opened, whatever has its name. */
function throwIfServed({ to }: Wanted, { view }: World): void {
  const served = view.occupants({ path: to }).find(({ resource }) => resource.path === iscsiExtent.path);
  if (served !== undefined) throw invalid({ to: [`${quote(to)} is served over iSCSI. Restore it to another path.`] });
}

function keepingName(now: number): string {
  return `before-restore-${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}`;
}
