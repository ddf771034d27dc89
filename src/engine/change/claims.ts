/**
 * What changes share, and therefore which of them may run at the same time.
 *
 * A change is drafted in one turn of the event loop, so at its end everything that it will read, write and touch is
 * known: these are its claims. It starts only if they do not meet the claims of the changes that are running. Otherwise
 * it waits until those have ended, and is drafted again from the configuration that they stored. A change takes all of
 * its claims at once and never waits while it holds some, so there are no deadlocks.
 *
 * For example, while the service of the UPS starts, its change claims the record of its switch and the subsystem `ups`.
 * A new group writes other records and renders other subsystems, and runs meanwhile. A change of the settings of the UPS
 * renders `ups` and waits. So does a service that takes the port of the UPS: the check of its ports reads the switch.
 *
 * A change may write what an earlier one has read. The outcome is that of the changes one after the other, in the order
 * in which they started.
 */
import type { Reads } from '../configuration/reads.ts';
import type { RecordChange } from '../declare/kept.ts';
import type { Claim, Step } from '../declare/step.ts';
import type { Desired } from '../declare/subsystem.ts';
import { type Topic, topicOf } from '../facts/facts.ts';
import type { Affected, SubsystemState } from './subsystem-states.ts';

export interface Claims {
  /** Whether nothing may run beside the change. */
  readonly everything: boolean;
  /** Undefined for a change that nothing ran beside when it started: only later changes are compared with it. */
  readonly reads: Reads | undefined;
  /** What was read to render the subsystems. */
  readonly rendering: Reads | undefined;
  readonly changes: readonly RecordChange[];
  /** The collections in which it assigns ids. */
  readonly numbered: ReadonlySet<string>;
  /** The subsystems that it renders. */
  readonly rendered: ReadonlySet<string>;
  /** The subsystems that it applies, and those that must be applied before them. */
  readonly applied: ReadonlySet<string>;
  readonly earlier: ReadonlySet<string>;
  /** The topics whose facts it changes. */
  readonly topics: ReadonlySet<Topic>;
  /** The parts of the machine that it works on, whether or not their facts change. */
  readonly held: ReadonlySet<Topic>;
}

/** What a change is made of, as far as it is known when it is drafted. */
export interface Drafted {
  /** Whether nothing may run beside it, whatever it touches. */
  readonly isWhole: boolean;
  readonly reads?: Reads;
  readonly rendering?: Reads;
  readonly changes: readonly RecordChange[];
  readonly concerned: readonly SubsystemState[];
  readonly affected: readonly Affected[];
  readonly steps: readonly Step[];
}

/** The claims of a change that nothing may run beside. */
export const everything: Claims = Object.freeze({
  everything: true,
  reads: undefined,
  rendering: undefined,
  changes: [],
  numbered: new Set<string>(),
  rendered: new Set<string>(),
  applied: new Set<string>(),
  earlier: new Set<string>(),
  topics: new Set<Topic>(),
  held: new Set<Topic>(),
});

export function claimsOf({ isWhole, reads, rendering, changes, concerned, affected, steps }: Drafted): Claims {
  if (isWhole || steps.some(({ claims }) => claims === 'everything')) return everything;
  const claimed = steps.flatMap(({ claims }) => (claims === 'everything' ? [] : claims));
  const repaired = claimed.flatMap((claim) => (typeof claim === 'string' ? [] : [claim.subsystem]));
  const topics = [
    ...steps.flatMap(({ touches }) => touches.map(topicOf)),
    ...affected.flatMap(({ desired }) => convergedParts(desired)),
  ];
  return {
    everything: false,
    reads,
    rendering,
    changes,
    numbered: new Set(changes.filter(({ before }) => before === undefined).map(({ resource }) => resource.path)),
    rendered: new Set([...concerned.map(nameOf), ...repaired]),
    applied: new Set([...affected.map(({ state }) => nameOf(state)), ...repaired]),
    earlier: new Set(affected.flatMap(({ state }) => state.subsystem.after ?? [])),
    topics: new Set(topics),
    held: new Set([...topics, ...claimed.filter((claim) => typeof claim === 'string')]),
  };
}

const nameOf = ({ subsystem }: SubsystemState) => subsystem.name;

/**
 * The parts of the machine that applying a subsystem changes, and that other subsystems read. Its services are its own:
 * no other subsystem starts or stops them.
 */
export function convergedParts({ accounts, links, hostname, targets }: Desired): readonly Topic[] {
  return [
    ...(accounts === undefined ? [] : ['accounts' as const]),
    ...(links === undefined && hostname === undefined ? [] : ['network' as const]),
    ...(targets === undefined ? [] : ['targets' as const]),
  ];
}

/** Whether a change has to wait for the end of one that is running. */
export function mustWait(later: Claims, running: Claims): boolean {
  return (
    meet(later, running) ||
    reads(later.reads, running) ||
    reads(later.rendering, running) ||
    overlap(later.rendered, running.applied) ||
    overlap(later.earlier, running.applied)
  );
}

/**
 * Whether two changes keep their order while both wait. What they read for subsystems that stay as they are does not
 * matter: each of them is drafted again.
 */
export function keepOrder(a: Claims, b: Claims): boolean {
  return meet(a, b) || reads(a.reads, b) || reads(b.reads, a);
}

function meet(a: Claims, b: Claims): boolean {
  if (a.everything || b.everything) return true;
  const written = new Set(a.changes.map(keyOf));
  return (
    b.changes.some((change) => written.has(keyOf(change))) ||
    overlap(a.numbered, b.numbered) ||
    overlap(a.applied, b.applied) ||
    overlap(a.held, b.held)
  );
}

function reads(read: Reads | undefined, { changes, topics }: Claims): boolean {
  return read !== undefined && (changes.some((change) => read.concern(change)) || overlap(read.topics, topics));
}

const keyOf = ({ resource, id }: RecordChange) => `${resource.path}/${id}`;

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const one of a) if (b.has(one)) return true;
  return false;
}

/** The claims of an operation that applies one subsystem as it is configured. */
export function claimsOfRepair(subsystem: string, desired: Desired): readonly Claim[] {
  return [{ subsystem }, ...convergedParts(desired)];
}
