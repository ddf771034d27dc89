import { refused } from '../../engine/declare/errors.ts';
import type { Draft, Operations } from '../../engine/declare/resource.ts';
import type { Removed } from '../../engine/services.ts';
import { binFolder } from '../../host/ports/zfs.ts';
import { isWithin, lastElement } from '../../lib/path.ts';
import { type BinEntry, binEntry, binSettingsOf, contentText } from './bin-entry.ts';
import { makeBin, moveToBin } from './steps.ts';

const day = 86_400_000;

/** Who moves it, and when. */
export type Mover = Pick<Operations, 'actor' | 'now'>;

/**
 * Removes records and keeps them in an entry of the bin. What removing them would do to the machine in addition to what
 * subsystems render could not be restored from the records, so that it is refused.
 */
export function keepInBin(draft: Draft, removed: Removed, by: Mover, remove: () => void): BinEntry {
  const { changes, steps, isLater } = draft.noting(remove);
  const step = steps.find(({ nature }) => nature !== 'check');
  if (step !== undefined || isLater)
    throw refused(
      `The ${removed.title} ${removed.name} cannot go to the bin, because removing it does more: ${step?.title ?? 'a job follows'}. Send DELETE to remove it at once.`,
    );
  const at = by.now();
  return draft.create(
    binEntry,
    {},
    {
      ...removed,
      ...{ name: removed.name.slice(0, 1024), removed_by: by.actor, removed: timeOf(at) },
      ends: timeOf(at + binSettingsOf(draft).days * day),
      ...{ dataset: '', kept_as: '', pool: '' },
      content: contentText(changes),
    },
  );
}

const timeOf = (at: number) => new Date(at).toISOString();

/** Moves a dataset or zvol to the bin, with everything below it and the records that `remove` removes. */
export function putDatasetAway(draft: Draft, removed: Removed, mover: Mover, remove: () => void): BinEntry {
  const { name } = removed;
  const { datasets, binned, pools } = draft.facts.storage;
  const dataset = datasets.get(name);
  const [pool = ''] = name.split('/');
  refuseClones(name, draft);
  const entry = keepInBin(draft, removed, mover, remove);
  // What is encrypted with the key of a dataset above stays below that.
  const root = dataset?.encryptionRoot;
  const bin = `${root === undefined || root === name ? pool : root}/${binFolder}`;
  if (!binned.has(bin)) draft.plan.first(makeBin({ name: bin }));
  const to = `${bin}/${entry.id}-${lastElement(name)}`;
  draft.plan.last(moveToBin({ name, to }));
  return draft.update(binEntry, entry.id, {}, { dataset: name, kept_as: to, pool: pools.get(pool)?.guid ?? '' });
}

/** What was cloned from it would hold it in the bin for ever. */
function refuseClones(name: string, { facts }: Draft): void {
  const isIn = (one: string) => isWithin(one, name);
  const clone = [...facts.storage.datasets.values(), ...facts.storage.binned.values()].find(
    (one) => one.origin !== undefined && isIn(one.origin.split('@')[0] ?? '') && !isIn(one.name),
  );
  if (clone === undefined) return;
  throw refused(
    `${name} cannot go to the bin: it has dependent clones, such as ${clone.name} of ${clone.origin}. Remove or promote them first.`,
    { code: 'busy', holders: [{ kind: 'clone', title: `clone of ${clone.origin}`, name: clone.name }] },
  );
}
