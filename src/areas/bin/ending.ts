import type { Fields } from '../../engine/declare/fields.ts';
import type { Collection, Draft, Due, Task } from '../../engine/declare/resource.ts';
import { isWithin } from '../../lib/path.ts';
import { destroyFromBin } from './steps.ts';

/** What the end of an entry depends on. */
interface Ending {
  readonly id: number;
  readonly title: string;
  readonly name: string;
  readonly ends: string;
  readonly kept_as: string;
  readonly pool: string;
}

/**
 * The job that destroys what an entry keeps, from its end on. While the pool is not imported, or something holds the
 * dataset, it is tried again every hour.
 */
export function endTask<F extends Fields>(of: Collection<F>, entry: Ending, due: Due): Task | undefined {
  const { id, title, name, ends, kept_as, pool } = entry;
  const over = due.at - Date.parse(ends);
  if (over < 0) return undefined;
  const subject = `${of.path}/${id}`;
  const isFirst = due.runs.last(subject) === undefined;
  if (!isFirst && Math.floor(due.at / minute) % 60 !== id % 60) return undefined;
  if (kept_as !== '' && ![...due.facts.storage.pools.values()].some(({ guid }) => guid === pool)) return undefined;
  return {
    title: `destroy the ${title} ${name} in the bin`,
    subject,
    alone: true,
    async run(work) {
      await work.change((draft) => endEntry(draft, of, entry));
      return { destroyed: name };
    },
  };
}

const minute = 60_000;

/** Removes the entry, and destroys its dataset. */
export function endEntry<F extends Fields>(draft: Draft, of: Collection<F>, { id, kept_as }: Ending): void {
  if (draft.get(of, id) === undefined) return;
  draft.remove(of, id);
  if (kept_as !== '' && draft.facts.storage.binned.has(kept_as))
    draft.plan.last(destroyFromBin({ name: kept_as, origins: originsOf(kept_as, draft) }));
}

/** The datasets that those in the bin were cloned from: a deferred snapshot there goes with its last clone. */
function originsOf(name: string, { facts }: Draft): readonly string[] {
  const within = [...facts.storage.binned.values()].filter((one) => isWithin(one.name, name));
  return [...new Set(within.flatMap(({ origin }) => origin?.split('@')[0] ?? []))];
}
