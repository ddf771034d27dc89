/**
 * Two test machines with a cluster, whose pool moves many times under writes: `lab/enclosed node bench/pair.ts --switches
 * 20 --kills 20`. Each move has to keep every answered change and to leave one machine with the pool. Needs an image, the
 * package and its layers, which `bin/test test/lab/pair.test.ts` makes. With `--where FOLDER`, the folder gets the journals
 * of both machines and each program that their daemons ran, for each move. With `--shares`, Samba, NFS and a disk are
 * served, and a third machine writes to an open file and to the disk: each move also says how long that and a client of
 * SMB waited.
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
import { ClusterClient, type Protocol } from '../test/support/lab/cluster-client.ts';
import { underWrites } from '../test/support/lab/cluster-load.ts';
import { eventually } from '../test/support/lab/nas.ts';
import { runClient } from '../test/support/lab/network.ts';
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

/** Asks again after two seconds: a connection that began before the address moved would wait longer and longer. */
async function served(name: Name): Promise<void> {
  await eventually(120, async () =>
    assert.equal((await sharedApi(2).expect(200, 'GET', `${own}/cluster`))['self'], name),
  );
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

/** Writes a file by SMB, and reads it back. */
async function writesBySmb(text: string): Promise<void> {
  const smb = (command: string, input = '') =>
    runClient(['smbclient', `//${sharedAddress}/media`, '-U', 'anna%her secret', '-c', command], {
      input,
      seconds: 20,
    });
  const { stdout, stderr } = await smb('put - smb', text);
  assert.ok((await smb('get smb -')).stdout.includes(text), stdout + stderr);
}

/** How long the clients waited in each move, in seconds. */
const waits: Readonly<Record<'smb' | Protocol, number[]>> = { smb: [], nfs: [], iscsi: [] };

/** Waits until all clients write again, and notes how long each of them could not. */
async function clientsGoOn(since: number, to: Name): Promise<void> {
  if (client === undefined) return;
  await eventually(100, () => writesBySmb(`at ${since}`));
  waits.smb.push((Date.now() - since) / 1000);
  await client.writesAgain(100);
  for (const protocol of ['nfs', 'iscsi'] satisfies Protocol[])
    waits[protocol].push(await client.pauseSince(protocol, since));
  await client.nothingIsLost(cluster.nas[to].machine);
  say(
    `  waited: ${Object.entries(waits)
      .map(([name, all]) => `${name} ${all.at(-1)?.toFixed(1)} s`)
      .join(', ')}`,
  );
}

/** The seconds until the other machine serves, and until a change is answered again. */
async function move(to: Name, deed: () => Promise<unknown>): Promise<number> {
  const seconds = await underWrites(async () => {
    // Each time in another moment of a change.
    await pause(Math.random() * 1000);
    assert.notEqual((await shown())['self'], to, 'the pool is not there already');
    const began = performance.now();
    const since = Date.now();
    await deed();
    await served(to);
    const until = performance.now();
    await clientsGoOn(since, to);
    return (until - began) / 1000;
  });
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

/** The moves of one kind, their steps, and how long clients waited. */
function summarize(kind: string, seconds: readonly number[]): void {
  summary(kind, seconds);
  for (const [title, all] of steps) summary(`  ${title}`, all);
  steps.clear();
  for (const [title, all] of Object.entries(waits)) summary(`  without ${title}`, all.splice(0));
}

/** The seconds of each step of the switches. */
const steps = new Map<string, number[]>();

await using cluster = await startCluster(values.shares ? 'whole' : undefined);
if (values.where !== undefined) {
  await mkdir(values.where, { recursive: true });
  for (const nas of Object.values(cluster.nas)) await noteProgramsIn(nas);
}
await formPair(cluster);
for (const node of ['alpha', 'beta'])
  await cluster.nas.alpha.api.expect(201, 'POST', `${own}/cluster/fences`, { node, agent: 'fence_lab' });
await cluster.nas.alpha.api.expect(200, 'PUT', `${own}/cluster`, { address: `${sharedAddress}/24` });
await served('alpha');
if (values.shares) {
  await serveEverything();
  await cluster.nas.alpha.machine.run('chmod 777 /mnt/tank/media');
}
await using client = values.shares ? await ClusterClient.start() : undefined;
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
summarize('planned', planned);

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

summarize('unplanned', unplanned);
