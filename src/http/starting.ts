import type { Resource } from '../engine/declare/resource.ts';
import type { Engine } from '../engine/engine.ts';
import { type Answer, json } from './answer.ts';

/** Seconds after which a client should send the request again. */
const retryAfter = { 'retry-after': '5' };

/** Reports whether the daemon is ready, and otherwise what it is waiting for. */
export function readiness(engine: Engine): Answer {
  const { startup } = engine;
  if (startup.phase !== 'done') return json(503, { status: 'starting', what: startup.what }, retryAfter);
  const { obstacle } = engine;
  // Load balancers and monitors evaluate the status; the reason is for administrators.
  if (obstacle !== undefined) return json(503, { status: 'read-only', reason: obstacle });
  return json(200, { status: engine.problems.some(({ severity }) => severity === 'critical') ? 'degraded' : 'ready' });
}

/**
 * The 503 answer to a change that arrives while the machine converges on the configuration; undefined when the change
 * can be performed. The change is not queued until the start ends: that takes longer than clients wait, and a client
 * that gives up would not know whether its change was made.
 */
export function heldChange(engine: Engine): Answer | undefined {
  return engine.startup.holdsChanges
    ? starting(engine, 'Nothing was changed. Send the request again in a few seconds.')
    : undefined;
}

/**
 * The 503 answer to a read of state that is not known yet; undefined when the read can be answered. Records of the
 * configuration are known at once. State of the machine is not: an empty list of pools, for example, would look like a
 * machine without pools.
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
