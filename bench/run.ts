/**
 * `npm run bench [-- --quick] [-- --daemon FILE] [-- --machine]`: the aims of the project beside what is measured on the
 * virtual host, and what the last run measured. The daemon takes turns with a bare node:http server that sends the same
 * bytes. Other load on the machine changes the wall clock more than the processor time, so that most figures are processor
 * time, and ratios within one run. With `--machine` the figures are those of the test machine (bench/machine.ts).
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { isObject } from '../src/lib/json.ts';
import { durableCommits } from './commits.ts';
import { type Figure, median, report } from './figures.ts';
import { ask, load, type Target } from './load.ts';
import {
  type Bare,
  type Daemon,
  memoryOf,
  type Running,
  request,
  spentBy,
  startBare,
  startDaemon,
  startLeast,
} from './processes.ts';
import { makeShares } from './shares.ts';
import { withSnapshots } from './snapshot-state.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    daemon: { type: 'string' },
    machine: { type: 'boolean', default: false },
  },
});
const quick = options.quick;
const turns = quick ? 5 : 13;
/** Milliseconds after its start by which a daemon has kept its functions compiled. */
const untilKept = 3000;
const starts = quick ? 3 : 7;
const sizes = quick ? { shares: 1000, snapshots: 10_000 } : { shares: 10_000, snapshots: 100_000 };
const connections = 16;
const cifs = '/api/v1.0/sharing/cifs/';
const firstPage = '/api/v1.0/storage/snapshot/?limit=20';

if (options.machine) {
  const argv = [process.execPath, join(root, 'bench/machine.ts')];
  process.exitCode = spawnSync(join(root, 'lab/enclosed'), argv, { stdio: 'inherit' }).status ?? 1;
} else {
  await measure();
}

async function measure(): Promise<void> {
  // On a disk, like a real state folder: /tmp is often in memory.
  const folder = mkdtempSync('/var/tmp/holdfast-bench-');
  try {
    if (options.daemon === undefined) await bundle('dist');
    const program = options.daemon ?? join(root, 'dist/holdfast.mjs');
    const small = mkdtempSync(join(folder, 'small-'));
    await makeShares(small, 100);
    const large = mkdtempSync(join(folder, 'large-'));
    await makeShares(large, sizes.shares);
    withSnapshots(large, sizes.snapshots);
    const figures = [
      ...(await startsOf('fresh', program, () => mkdtempSync(join(folder, 'fresh-')), { ratio: 2.5, memory: 100 })),
      ...(await startsOf(`${sizes.shares} shares, ${sizes.snapshots} snapshots`, program, () => large, { ratio: 4 })),
      ...(await requestsOf(program, small, folder)),
      ...(await loadOf(program, large)),
    ];
    report(quick ? 'virtual-quick' : 'virtual', figures);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** First answers, in turns with those of a bare server. The compiled code is cached, as in the package. */
async function startsOf(
  title: string,
  program: string,
  stateOf: () => string,
  aims: { readonly ratio: number; readonly memory?: number },
): Promise<readonly Figure[]> {
  const runs: { ours: number; bare: number; ourWall: number; bareWall: number; memory: number }[] = [];
  for (let turn = 0; turn <= starts; turn += 1) {
    const bare = await startLeast();
    const [bareTime, bareWall] = [spentBy(bare), bare.startedIn];
    await bare.stop();
    const daemon = await startDaemon(stateOf(), { program, isFirstEnough: turn > 0 });
    if (turn === 0) await pause(untilKept);
    runs.push({ ours: spentBy(daemon), bare: bareTime, ourWall: daemon.startedIn, bareWall, memory: memoryOf(daemon) });
    await daemon.stop();
  }
  // The first one filled the caches.
  const of = (name: keyof (typeof runs)[number]) => median(runs.slice(1).map((run) => run[name]));
  const what = `first answer, ${title}`;
  return [
    { what: `${what}: processor time`, value: of('ours') / 1000, unit: 'ms' },
    { what: `${what}: times bare Node's`, value: of('ours') / of('bare'), unit: '', aim: { most: aims.ratio } },
    { what: `${what}: wall clock, times bare Node's`, value: of('ourWall') / of('bareWall'), unit: '' },
    {
      what: `resident, ${title}`,
      value: of('memory'),
      unit: 'MB',
      ...(aims.memory !== undefined && { aim: { most: aims.memory } }),
    },
  ];
}

async function requestsOf(program: string, state: string, folder: string): Promise<readonly Figure[]> {
  const daemon = await startDaemon(state, { program });
  const bare = await startBare();
  try {
    const ratio = async (what: string, path: string, least?: number): Promise<Figure> => ({
      what: `${what}: of bare node:http`,
      ...{ value: await ratioOf(daemon, bare, path), unit: '' },
      ...(least !== undefined && { aim: { least } }),
    });
    const reads = [
      await ratio('GET one', `${cifs}50/`, 0.85),
      await ratio('GET a singleton', '/api/v1.0/services/cifs/'),
      await ratio('GET 20 of a list', `${cifs}?limit=20&offset=50`),
    ];
    let count = 0;
    const share = () => {
      count += 1;
      return JSON.stringify({ cifs_path: '/mnt/tank/share-00001', cifs_name: `bench-${count}`, cifs_comment: 'Files' });
    };
    const post = { status: 201, request: () => request('POST', cifs, share()) };
    const put = {
      status: 200,
      request: () => request('PUT', `${cifs}50/`, JSON.stringify({ cifs_comment: `c${count++}` })),
    };
    const bursts = async () => {
      const [posts, puts, commits]: [Spent[], Spent[], number[]] = [[], [], []];
      for (let turn = 0; turn <= turns; turn += 1) {
        commits.push(durableCommits(folder, 0.5, share()));
        posts.push(await spentOn(daemon, post, 150));
        puts.push(await spentOn(daemon, put, 150));
      }
      return { posts, puts, commits };
    };
    const { posts, puts, commits } = await bursts();
    // V8 has compiled everything for speed after that.
    await spentOn(daemon, put, quick ? 1000 : 5000);
    await spentOn(daemon, post, quick ? 500 : 2000);
    const warm = await bursts();
    const each = (runs: readonly Spent[]) => median(runs.slice(1).map(({ each }) => each)) / 1000;
    const perCommit = (runs: readonly Spent[]) =>
      median(runs.slice(1).map(({ perSecond }, index) => perSecond / (commits[index + 1] ?? 1)));
    return [
      ...reads,
      { what: 'POST, 16 at once: processor time each', value: each(posts), unit: 'ms', aim: { most: 0.35 } },
      { what: 'PUT, 16 at once: processor time each', value: each(puts), unit: 'ms', aim: { most: 0.35 } },
      { what: 'POST, after some thousands: the same', value: each(warm.posts), unit: 'ms', aim: { most: 0.35 } },
      { what: 'PUT, after some thousands: the same', value: each(warm.puts), unit: 'ms', aim: { most: 0.35 } },
      { what: 'POST, 16 at once: of single durable commits', value: perCommit(posts), unit: '', aim: { least: 1 } },
      { what: 'PUT, 16 at once: of single durable commits', value: perCommit(puts), unit: '', aim: { least: 1 } },
      { what: 'idle: part of a core', value: await idleOf(daemon), unit: '%', aim: { most: 0.1 } },
    ];
  } finally {
    await daemon.stop();
    await bare.stop();
  }
}

/** Memory and the longest computation under load, with very many objects. */
async function loadOf(program: string, state: string): Promise<readonly Figure[]> {
  const daemon = await startDaemon(state, { program, environment: { HOLDFAST_STALL: '10' } });
  try {
    const page: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      const begun = performance.now();
      await ask(daemon.port, request('GET', firstPage));
      page.push(performance.now() - begun);
    }
    const memory: number[] = [];
    for (let turn = 0; turn < (quick ? 2 : 6); turn += 1) {
      let count = 0;
      for (const [path, requests] of [
        [`${cifs}50/`, 5000],
        [`${cifs}?limit=20&offset=500`, 2000],
        [firstPage, 500],
        ['/api/v1.0/storage/snapshot/?limit=0', 2],
      ] as const)
        await load(
          { port: daemon.port, status: 200, request: () => request('GET', path) },
          { connections, seconds: 60, requests },
        );
      const name = () => `load-${turn}-${count++}`;
      const share = () => JSON.stringify({ cifs_path: '/mnt/tank/share-00001', cifs_name: name() });
      await load(
        { port: daemon.port, status: 201, request: () => request('POST', cifs, share()) },
        { connections, seconds: 60, requests: 200 },
      );
      memory.push(memoryOf(daemon));
    }
    const answer: unknown = JSON.parse((await ask(daemon.port, request('GET', '/api/holdfast/v1/daemon'))).body);
    const longest = isObject(answer) ? Number(answer['longest_stall']) : Number.NaN;
    return [
      { what: 'first page of all snapshots', value: median(page), unit: 'ms', aim: { most: 20 } },
      { what: 'resident after load', value: memory.at(-1) ?? Number.NaN, unit: 'MB', aim: { most: 160 } },
      {
        what: 'growth in the second half of the load',
        value: (memory.at(-1) ?? 0) - (memory[Math.floor(memory.length / 2)] ?? 0),
        unit: 'MB',
      },
      { what: 'longest computation without a pause', value: longest, unit: 'ms', aim: { most: 20 } },
    ];
  } finally {
    await daemon.stop();
  }
}

interface Spent {
  /** Microseconds of processor time for each answer. */
  readonly each: number;
  readonly perSecond: number;
}

async function spentOn(server: Running, target: Omit<Target, 'port'>, requests: number): Promise<Spent> {
  const before = spentBy(server);
  const result = await load({ ...target, port: server.port }, { connections, seconds: 60, requests });
  return { each: (spentBy(server) - before) / result.requests, perSecond: result.perSecond };
}

/** Processor time of the bare server for each answer, as a part of the daemon's. */
async function ratioOf(daemon: Daemon, bare: Bare, path: string): Promise<number> {
  const bytes = request('GET', path);
  const { status, head, body } = await ask(daemon.port, bytes);
  const pairs = head
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const)
    .filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name.toLowerCase()));
  await bare.know('GET', path, { status, headers: Object.fromEntries(pairs), body });
  const target = { status: 200, request: () => bytes };
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let turn = 0; turn <= turns; turn += 1) {
    theirs.push((await spentOn(bare, target, 3000)).each);
    ours.push((await spentOn(daemon, target, 3000)).each);
  }
  return leastOf(theirs.slice(1)) / leastOf(ours.slice(1));
}

/** Other load makes a round dearer, by caches that it empties, and never cheaper: the mean of the least quarter. */
function leastOf(numbers: readonly number[]): number {
  const least = numbers.toSorted((a, b) => a - b).slice(0, Math.ceil(numbers.length / 4));
  return least.reduce((sum, one) => sum + one, 0) / least.length;
}

async function idleOf(daemon: Daemon): Promise<number> {
  await pause(quick ? 15_000 : 60_000);
  const [before, begun] = [spentBy(daemon), performance.now()];
  await pause(quick ? 10_000 : 60_000);
  return ((spentBy(daemon) - before) / 1000 / (performance.now() - begun)) * 100;
}
