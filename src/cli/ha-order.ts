/**
 * The orders of `holdfast ha` to the daemon. They load nothing of the server: Pacemaker waits for them while no machine
 * serves.
 */
import { isObject } from '../lib/json.ts';
import { StoreError } from '../store/open.ts';
import { ask, pairSocket } from './local-socket.ts';
import { expectVoteHost, pairOf } from './pair-files.ts';
import type { Settings } from './settings.ts';

type Say = (line: string) => void;

/** Has the daemon take or release the pool. The OCF agent of Pacemaker calls this. */
export async function movePool(settings: Settings, order: 'take' | 'release', say: Say): Promise<void> {
  const { pool } = ownPair(settings.state);
  await ask(pairSocket(settings), 'POST', `/${order}`, {});
  say(order === 'take' ? `This machine serves ${pool}.` : `This machine has released ${pool}.`);
}

/** Has the daemon ask another machine for the third vote of the pair, or no more without one. */
export async function orderVote(settings: Settings, host: string | undefined, say: Say): Promise<void> {
  const { self, nodes } = ownPair(settings.state);
  if (host !== undefined) expectVoteHost(host);
  await ask(pairSocket(settings), 'POST', '/vote', { host: host ?? null });
  const other = Object.keys(nodes).find((name) => name !== self) ?? '';
  say(
    host === undefined
      ? `This machine has no third vote. Run this command on ${other} too.`
      : `This machine asks ${host} for the third vote. Run this command on ${other} too.`,
  );
}

/** Shows which machine has the pool. */
export async function showPair(settings: Settings, say: Say): Promise<void> {
  const { pool, self, nodes } = ownPair(settings.state);
  const answer: unknown = JSON.parse(await ask(pairSocket(settings), 'GET', '/'));
  if (!isObject(answer)) throw new StoreError('the daemon gave no answer that can be read');
  const holder = typeof answer['holder'] === 'string' ? answer['holder'] : undefined;
  const states = new Map(
    (Array.isArray(answer['members']) ? answer['members'] : [])
      .filter(isObject)
      .map(({ name, state }) => [String(name), String(state)]),
  );
  say(`Pool: ${pool}, ${answer['hasPool'] === true ? 'served by this machine' : 'not on this machine'}`);
  for (const [name, url] of Object.entries(nodes)) {
    const roles = [name === self ? 'this machine' : undefined, name === holder ? 'has the lease' : undefined];
    say(`  ${[`${name}  ${states.get(name) ?? 'unknown'}  ${url}`, ...roles.filter(Boolean)].join(', ')}`);
  }
}

function ownPair(state: string) {
  const pair = pairOf(state);
  if (pair === undefined)
    throw new StoreError(
      'This machine is not part of a pair. To make one, run: holdfast ha form, or holdfast ha join.',
    );
  return pair;
}
