/**
 * Two test machines with a cluster, whose pool moves many times under writes: `lab/enclosed node bench/pair.ts --switches
 * 20 --kills 20`. Each move has to keep every answered change and to leave one machine with the pool. Needs an image, the
 * package and its layers, which `bin/test test/lab/pair.test.ts` makes. With `--where FOLDER`, the folder gets the journals
 * of both machines and each program that their daemons ran, for each move. With `--shares`, Samba, NFS and a disk are served.
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isObject } from '../src/lib/json.ts';
import {
  formPair,
  holders,
  type Name,
  serveEverything,
  sharedAddress,
  sharedApi,
  startCluster,
} from '../test/support/lab/cluster.ts';
import { nothingIsLost, Writer } from '../test/support/lab/cluster-load.ts';
import { eventually } from '../test/support/lab/nas.ts';
import { noteProgramsIn } from './programs.ts';

const { values } = parseArgs({
  options: {
    switches: { type: 'string', default: '20' },
    kills: { type: 'string', default: '20' },
    where: { type: 'string' },
    shares: { type: 'boolean', default: false },
  },
});
const own = '/api/holdfast/v1';
const other = (name: Name): Name => (name === 'alpha' ? 'beta' : 'alpha');
const say = (text: string) => void process.stdout.write(`${text}\n`);

const shown = () => sharedApi().expect(200, 'GET', `${own}/cluster`);

async function served(name: Name): Promise<void> {
  await eventually(120, async () => assert.equal((await shown())['self'], name));
}

async function bothOnline(): Promise<void> {
  await eventually(120, async () => {
    const { nodes } = await shown();
    assert.ok(Array.isArray(nodes));
    assert.deepEqual(
      nodes.filter(isObject).map(({ state }) => state),
      ['online', 'online'],
    );
  });
}

/** The seconds until the other machine serves, and until a change is answered again. */
async function move(to: Name, deed: () => Promise<unknown>): Promise<number> {
  const writer = new Writer();
  let seconds: number;
  try {
    await eventually(30, async () => assert.ok(writer.answered.size >= 3));
    // Each time in another moment of a change.
    await pause(Math.random() * 1000);
    assert.notEqual((await shown())['self'], to, 'the pool is not there already');
    const began = performance.now();
    await deed();
    await served(to);
    seconds = (performance.now() - began) / 1000;
  } finally {
    await writer.end();
  }
  await nothingIsLost(writer);
  const { last_switch: last } = await shown();
  for (const step of isObject(last) && Array.isArray(last['steps']) ? last['steps'].filter(isObject) : []) {
    const title = String(step['title']).replaceAll(/alpha|beta/g, 'it');
    steps.set(title, [...(steps.get(title) ?? []), Number(step['seconds'])]);
  }
  return seconds;
}

/** What the machines did since the moment, in milliseconds since 1970. */
async function note(title: string, since: number, names: readonly Name[]): Promise<void> {
  const { where } = values;
  if (where === undefined) return;
  for (const name of names) {
    const found = await cluster.nas[name].machine.run(
      `journalctl --no-pager -o short-unix --since @${Math.floor(since / 1000)}; echo; cat /tmp/programs; : >/tmp/programs`,
    );
    await writeFile(join(where, `${title}-${name}`), `began ${since}\n${found}`);
  }
}

function summary(title: string, seconds: readonly number[]): void {
  if (seconds.length === 0) return;
  const sorted = seconds.toSorted((a, b) => a - b);
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1);
  say(`${title}: ${sorted.length}, median ${at(0.5)} s, least ${at(0)} s, most ${at(1)} s`);
}

/** The seconds of each step of the switches. */
const steps = new Map<string, number[]>();

await using cluster = await startCluster();
if (values.where !== undefined) {
  await mkdir(values.where, { recursive: true });
  for (const nas of Object.values(cluster.nas)) await noteProgramsIn(nas);
}
await formPair(cluster);
for (const node of ['alpha', 'beta'])
  await cluster.nas.alpha.api.expect(201, 'POST', `${own}/cluster/fences`, { node, agent: 'fence_lab' });
await cluster.nas.alpha.api.expect(200, 'PUT', `${own}/cluster`, { address: `${sharedAddress}/24` });
await served('alpha');
if (values.shares) await serveEverything();
let holder: Name = 'alpha';

const planned: number[] = [];
for (let n = 1; n <= Number(values.switches); n += 1) {
  await bothOnline();
  const to: Name = other(holder);
  const since = Date.now();
  planned.push(await move(to, () => sharedApi(60).expect(202, 'POST', `${own}/cluster/switch`, { to })));
  holder = to;
  assert.deepEqual(await holders(cluster), [holder]);
  assert.deepEqual(cluster.powerSwitch.ended, [], 'a switch ends no machine');
  say(`switch ${n} to ${holder}: ${planned.at(-1)?.toFixed(1)} s, load ${loadavg()[0]?.toFixed(1)}`);
  await note(`switch-${n}`, since, ['alpha', 'beta']);
}
summary('planned', planned);
for (const [title, seconds] of steps) summary(`  ${title}`, seconds);
steps.clear();

const unplanned: number[] = [];
for (let n = 1; n <= Number(values.kills); n += 1) {
  await bothOnline();
  const [dead, to, since] = [holder, other(holder), Date.now()];
  unplanned.push(await move(to, () => cluster.nas[dead].machine.cutPower()));
  holder = to;
  assert.deepEqual(await holders(cluster, [holder]), [holder]);
  await note(`kill-${n}`, since, [to]);
  await cluster.nas[dead].machine.boot();
  say(`kill ${n} of ${dead}: ${unplanned.at(-1)?.toFixed(1)} s, load ${loadavg()[0]?.toFixed(1)}`);
}

summary('unplanned', unplanned);
for (const [title, seconds] of steps) summary(`  ${title}`, seconds);
