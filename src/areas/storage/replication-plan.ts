import type { Replica, ReplicaSnapshot } from '../../host/ports/replication.ts';
import { isPeriodic } from './snapshot-times.ts';

export interface Plan {
  /** The dataset that is copied, and the dataset there that stands for its pool. */
  readonly source: string;
  readonly destination: string;
  readonly recursive: boolean;
  /** Whether snapshots that are gone here go there. */
  readonly followDelete: boolean;
}

export type Step =
  | {
      readonly kind: 'send';
      readonly dataset: string;
      readonly snapshot: ReplicaSnapshot;
      readonly base: string | undefined;
      readonly target: string;
      readonly over: boolean;
    }
  | {
      readonly kind: 'resume';
      readonly dataset: string;
      readonly snapshot: ReplicaSnapshot | undefined;
      readonly token: string;
      readonly target: string;
    }
  | { readonly kind: 'destroy'; readonly dataset: string; readonly snapshots: readonly string[] }
  | { readonly kind: 'stuck'; readonly dataset: string; readonly reason: string };

/** What a dataset with nothing in it refers to at most. */
const emptyBytes = 256 * 1024;

/** The name there: what follows the pool here, below the destination. */
export function targetOf({ destination }: Pick<Plan, 'destination'>, dataset: string): string {
  const slash = dataset.indexOf('/');
  return slash < 0 ? destination : `${destination}${dataset.slice(slash)}`;
}

/**
 * What is to be done so that the other machine has the periodic snapshots that are here: for each dataset its next step,
 * parents first. Looked at anew after each step, so that every run goes on from what is really there, whatever became
 * of the one before it.
 */
export function stepsOf(plan: Plan, near: readonly Replica[], far: readonly Replica[]): readonly Step[] {
  const there = new Map(far.map((replica) => [replica.name, replica]));
  return near.flatMap((replica) => stepOf(plan, replica, there.get(targetOf(plan, replica.name))) ?? []);
}

function stepOf(plan: Plan, here: Replica, there: Replica | undefined): Step | undefined {
  const dataset = here.name;
  const target = targetOf(plan, dataset);
  const own = here.snapshots.filter(({ name }) => isPeriodic(name));
  const arrived = there?.snapshots ?? [];
  const known = new Map([
    ...here.marks.map((one) => [one.guid, `#${one.name}`] as const),
    ...here.snapshots.map((one) => [one.guid, `@${one.name}`] as const),
  ]);
  const common = arrived.findLast(({ guid }) => known.has(guid));
  const next = common === undefined ? own[0] : nextAfter(own, arrived, here);
  if (there?.resumeToken !== undefined)
    return { kind: 'resume', dataset, snapshot: next, token: there.resumeToken, target };
  if (there === undefined || arrived.length === 0) {
    if (next === undefined) return undefined;
    if (there !== undefined && there.referenced > emptyBytes)
      return stuck(dataset, `${target} is there and has contents of its own, so nothing is sent over it.`);
    return { kind: 'send', dataset, snapshot: next, base: undefined, target, over: there !== undefined };
  }
  if (common === undefined)
    return stuck(
      dataset,
      `${target} and ${dataset} have no snapshot in common: one of them was made anew, or the last that was sent is gone.`,
    );
  const present = new Set(here.snapshots.map(({ guid }) => guid));
  // What is sent next begins at the last one they share, so that one stays.
  const surplus = arrived.filter((one) => isPeriodic(one.name) && !present.has(one.guid) && one.guid !== common.guid);
  if (plan.followDelete && surplus.length > 0)
    return { kind: 'destroy', dataset, snapshots: surplus.map(({ name }) => `${target}@${name}`) };
  if (next === undefined) return undefined;
  const newer = arrived.at(-1);
  if (newer !== undefined && newer.guid !== common.guid)
    return stuck(
      dataset,
      `${target} has the snapshot ${newer.name} that is not here and is newer than what they share; it would have to go first.`,
    );
  return { kind: 'send', dataset, snapshot: next, base: `${dataset}${known.get(common.guid)}`, target, over: false };
}

/** The first periodic snapshot that is newer than all that arrived. Those that arrived and are gone here were older too. */
function nextAfter(
  own: readonly ReplicaSnapshot[],
  arrived: readonly ReplicaSnapshot[],
  here: Replica,
): ReplicaSnapshot | undefined {
  const there = new Set(arrived.map(({ guid }) => guid));
  const place = here.snapshots.findLastIndex(({ guid }) => there.has(guid));
  const later = new Set(here.snapshots.slice(place + 1));
  return own.find((one) => later.has(one));
}

function stuck(dataset: string, reason: string): Step {
  return { kind: 'stuck', dataset, reason };
}
