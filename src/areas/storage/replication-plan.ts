import type { Replica, ReplicaSnapshot } from '../../host/ports/replication.ts';
import { isPeriodic } from './snapshot-times.ts';

export interface Plan {
  /** The local dataset, and the remote dataset that corresponds to its pool. */
  readonly source: string;
  readonly destination: string;
  readonly recursive: boolean;
  /** Whether to destroy remote snapshots that no longer exist locally. */
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

/** The most bytes that an empty dataset references. */
const emptyBytes = 256 * 1024;

/** The remote name of a local dataset: its path below the pool, appended to the destination. */
export function targetOf({ destination }: Pick<Plan, 'destination'>, dataset: string): string {
  const slash = dataset.indexOf('/');
  return slash < 0 ? destination : `${destination}${dataset.slice(slash)}`;
}

/**
 * The next step for each dataset, parents first, that brings the periodic snapshots of this machine to the other one.
 * The caller plans again after each step, so every run continues from the actual state of the other machine, however
 * the previous run ended.
 */
export function stepsOf(plan: Plan, near: readonly Replica[], far: readonly Replica[]): readonly Step[] {
  const targets = new Map(far.map((replica) => [replica.name, replica]));
  return near.flatMap((replica) => stepOf(plan, replica, targets.get(targetOf(plan, replica.name))) ?? []);
}

function stepOf(plan: Plan, here: Replica, there: Replica | undefined): Step | undefined {
  const dataset = here.name;
  const target = targetOf(plan, dataset);
  const own = here.snapshots.filter(({ name }) => isPeriodic(name));
  const arrived = there?.snapshots ?? [];
  const known = new Map([
    ...here.marks.map(({ guid, name }) => [guid, `#${name}`] as const),
    ...here.snapshots.map(({ guid, name }) => [guid, `@${name}`] as const),
  ]);
  const common = arrived.findLast(({ guid }) => known.has(guid));
  const next = common === undefined ? own[0] : nextAfter(own, arrived, here);
  if (there?.resumeToken !== undefined)
    return { kind: 'resume', dataset, snapshot: next, token: there.resumeToken, target };
  if (there === undefined || arrived.length === 0) {
    if (next === undefined) return undefined;
    if (there !== undefined && there.referenced > emptyBytes)
      return stuck(dataset, `${target} already exists with contents of its own and is not overwritten.`);
    return { kind: 'send', dataset, snapshot: next, base: undefined, target, over: there !== undefined };
  }
  if (common === undefined)
    return stuck(
      dataset,
      `${target} and ${dataset} have no snapshot in common: one of them was recreated, or the last sent snapshot was destroyed.`,
    );
  const present = new Set(here.snapshots.map(({ guid }) => guid));
  // The next incremental stream starts at the last common snapshot, so that one stays.
  const surplus = arrived.filter((one) => isPeriodic(one.name) && !present.has(one.guid) && one.guid !== common.guid);
  if (plan.followDelete && surplus.length > 0)
    return { kind: 'destroy', dataset, snapshots: surplus.map(({ name }) => `${target}@${name}`) };
  if (next === undefined) return undefined;
  const newer = arrived.at(-1);
  if (newer !== undefined && newer.guid !== common.guid)
    return stuck(
      dataset,
      `${target} has the snapshot ${newer.name}, which is newer than the last common snapshot. Destroy it on the other machine first.`,
    );
  return { kind: 'send', dataset, snapshot: next, base: `${dataset}${known.get(common.guid)}`, target, over: false };
}

/** The first periodic snapshot that is newer than every snapshot that exists on both machines. */
function nextAfter(
  own: readonly ReplicaSnapshot[],
  arrived: readonly ReplicaSnapshot[],
  here: Replica,
): ReplicaSnapshot | undefined {
  const there = new Set(arrived.map(({ guid }) => guid));
  const index = here.snapshots.findLastIndex(({ guid }) => there.has(guid));
  const later = new Set(here.snapshots.slice(index + 1));
  return own.find((snapshot) => later.has(snapshot));
}

function stuck(dataset: string, reason: string): Step {
  return { kind: 'stuck', dataset, reason };
}
