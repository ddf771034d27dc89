import type { Resource } from '../engine/declare/resource.ts';
import type { Engine } from '../engine/engine.ts';
import { type Answer, json } from './answer.ts';
import type { Exchange } from './exchange.ts';
import { refusal } from './problem-answer.ts';
import { pathOf } from './routes.ts';

/** Seconds after which a client should send the request again. */
const retryAfter = { 'retry-after': '5' };

/** The answer to a probe without a credential: the status and one word. The reasons are for those with a credential. */
export function probed(engine: Engine, { method, url }: Pick<Exchange, 'method' | 'url'>): Answer | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const path = pathOf(url);
  if (path !== 'healthz' && path !== 'readyz') return undefined;
  const { status, word, headers } = path === 'healthz' ? alive : stateOf(engine);
  return { status, type: 'text/plain; charset=utf-8', body: `${word}\n`, ...(headers && { headers }) };
}

interface State {
  readonly status: 200 | 503;
  readonly word: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const alive: State = { status: 200, word: 'alive' };

function stateOf({ startup, obstacle, condition }: Engine): State {
  if (startup.phase !== 'done') return { status: 503, word: 'starting', headers: retryAfter };
  if (obstacle !== undefined) return { status: 503, word: 'read-only' };
  // Anybody can send probes: what this reads was computed before.
  const isDegraded = condition.problems.some(({ severity }) => severity === 'critical');
  return { status: 200, word: isDegraded ? 'degraded' : 'ready' };
}

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
  return refusal('starting', 503, `Holdfast is starting (${startup.what}). ${sentence}`, {
    member: 'error_message',
    headers: retryAfter,
    help: { method: 'GET', path: '/readyz' },
  });
}
