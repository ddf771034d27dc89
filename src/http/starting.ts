import type { Resource } from '../engine/declare/resource.ts';
import type { Engine } from '../engine/engine.ts';
import { type Answer, json } from './answer.ts';

/** Seconds after which a client asks again. */
const retryAfter = { 'retry-after': '5' };

/** Whether the machine is served as it is configured, and if not, what is being waited for. */
export function readiness({ startup, isDegraded, obstacle }: Engine): Answer {
  if (startup.phase !== 'done') return json(503, { status: 'starting', what: startup.what }, retryAfter);
  // A load balancer or a monitor reads the status; a person the reason.
  if (obstacle !== undefined) return json(503, { status: 'read-only', reason: obstacle });
  return json(200, { status: isDegraded ? 'degraded' : 'ready' });
}

/**
 * The answer to a change that comes while the machine is being brought to the configuration; undefined when it can be
 * carried out. Waiting for the end of the start would take longer than clients wait, and those that give up would not know
 * whether the change was made.
 */
export function heldChange(engine: Engine): Answer | undefined {
  return engine.startup.holdsChanges
    ? starting(engine, 'Nothing was changed. Send the request again in a few seconds.')
    : undefined;
}

/**
 * The answer to a read of what is not known yet; undefined when it can be answered. Records that are kept are known at
 * once. What is shown of the machine is not, and an empty list of pools would be taken for a machine without pools.
 */
export function heldRead(engine: Engine, resource: Resource): Answer | undefined {
  const { startup } = engine;
  if (!startup.holdsChanges) return undefined;
  const awaitsFirst = resource.kind !== 'hosted' && startup.phase === 'loading' && engine.table(resource).lastId === 0;
  const unseen = resource.shows.some((topic) => !startup.hasSeen(topic));
  return awaitsFirst || unseen
    ? starting(engine, 'This is not known yet. Send the request again in a few seconds.')
    : undefined;
}

function starting({ startup }: Engine, sentence: string): Answer {
  return json(503, { error_message: `Holdfast is starting (${startup.what}). ${sentence}` }, retryAfter);
}
