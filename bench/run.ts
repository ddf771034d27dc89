/**
 * `node bench/run.ts [--seconds N] [--quick] [--daemon FILE]`: measures how fast the daemon answers on the virtual
 * host,
 * in turns with a bare node:http server that sends the same bytes. Two cores are enough. Other load on the machine
 * changes
 * the numbers more than their ratios.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { durableCommits } from './commits.ts';
import { ask, type Bounds, load, type Result, type Target } from './load.ts';
import {
  type Bare,
  computingOf,
  type Daemon,
  memoryOf,
  type Running,
  request,
  startBare,
  startDaemon,
} from './processes.ts';
import { makeShares } from './shares.ts';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string' }, quick: { type: 'boolean', default: false }, daemon: { type: 'string' } },
});
const seconds = Number(options.seconds ?? (options.quick ? 0.5 : 2));
const turns = options.quick ? 3 : 5;
const shareCount = 10_000;
const connections = 16;
const fewShares = 10;
/** POSTs of one run: enough for stable numbers, few enough that the number of shares stays about that of the title. */
const mostPosts = 200;

const list = '/api/v1.0/sharing/cifs/';
/** The folder exists already: creating folders would measure the disk, not the daemon. */
const postBody = (name: string) =>
  JSON.stringify({ cifs_path: '/mnt/tank/share-00001', cifs_name: name, cifs_comment: 'Files of a new team' });

/** One run, with the server's processor time for each answer in microseconds. */
interface Run extends Result {
  readonly computing: number;
}

interface Line {
  readonly what: string;
  readonly bare: Run;
  readonly ours: Run;
  readonly aim: number | undefined;
}

// On a disk, like a real state folder: /tmp is often in memory.
const folder = mkdtempSync('/var/tmp/holdfast-bench-');
try {
  await measure();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  if (options.daemon === undefined) await bundle('dist');
  const program = options.daemon ?? join(root, 'dist/holdfast.mjs');

  const fresh = await startupOf(program, (turn) => mkdtempSync(join(folder, `fresh-${turn}-`)));
  const small = mkdtempSync(join(folder, 'small-'));
  await makeShares(small, fewShares);
  const large = mkdtempSync(join(folder, 'large-'));
  await makeShares(large, shareCount);
  const full = await startupOf(program, () => large);

  const bare = await startBare();
  try {
    const withFew = await served(program, small, (daemon) => postsBeside('POST a share, few there', daemon, bare));
    const withMany = await served(program, large, async (daemon) => {
      const atStart = memoryOf(daemon);
      const gets = [
        await beside('GET a singleton', daemon, bare, '/api/v1.0/services/cifs/', 0.7),
        await beside('GET one share', daemon, bare, `${list}5000/`, 0.7),
        await beside(`GET 20 of ${shareCount} shares`, daemon, bare, `${list}?limit=20&offset=5000`, 0.4),
      ];
      const afterGets = memoryOf(daemon);
      const posts = await postsBeside(`POST a share, ${shareCount} there`, daemon, bare);
      return { gets, posts, memory: { atStart, afterGets, afterPosts: memoryOf(daemon) } };
    });

    printLines([...withMany.gets, withFew.line, withMany.posts.line]);
    print('');
    for (const { line, alone, commits } of [withFew, withMany.posts]) {
      const share = line.ours.perSecond / commits;
      print(
        `${line.what.padEnd(30)} one at a time, each with its own commit, ${whole(alone.perSecond)} per second; ${connections} at once ${(line.ours.perSecond / alone.perSecond).toFixed(1)} times as many`,
      );
      print(
        `${line.what.padEnd(30)} ${connections} at once, ${share.toFixed(2)} of the ${whole(commits)} durable commits a second that this disk allows (aim: more than 1)`,
      );
    }
    print(
      `${'start to first answer'.padEnd(30)} fresh ${whole(fresh.milliseconds)} ms, with ${shareCount} shares ${whole(full.milliseconds)} ms (aim: under 1000)`,
    );
    const { atStart, afterGets, afterPosts } = withMany.memory;
    print(`${'resident memory, fresh'.padEnd(30)} ${whole(fresh.memory)} MB (aim: under 120)`);
    print(
      `${`resident memory, ${shareCount} shares`.padEnd(30)} ${whole(atStart)} MB at start, ${whole(afterGets)} after the GETs, ${whole(afterPosts)} after the POSTs`,
    );
  } finally {
    await bare.stop();
  }
}

async function served<T>(program: string, state: string, work: (daemon: Daemon) => Promise<T>): Promise<T> {
  const daemon = await startDaemon(state, { program });
  try {
    return await work(daemon);
  } finally {
    await daemon.stop();
  }
}

async function startupOf(
  program: string,
  stateOf: (turn: number) => string,
): Promise<{ readonly milliseconds: number; readonly memory: number }> {
  const starts: { milliseconds: number; memory: number }[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    starts.push(
      await served(program, stateOf(turn), async (daemon) => ({
        milliseconds: daemon.startedIn,
        memory: memoryOf(daemon),
      })),
    );
  }
  return {
    milliseconds: median(starts.map((one) => one.milliseconds)),
    memory: median(starts.map((one) => one.memory)),
  };
}

async function beside(what: string, daemon: Daemon, bare: Bare, path: string, aim: number): Promise<Line> {
  const bytes = request('GET', path);
  await teach(bare, 'GET', path, await ask(daemon.port, bytes));
  const target = { status: 200, request: () => bytes };
  const bounds = { connections, seconds };
  const runs = await inTurns(
    () => run(bare, target, bounds),
    () => run(daemon, target, bounds),
  );
  return { what, aim, ...runs };
}

async function postsBeside(
  what: string,
  daemon: Daemon,
  bare: Bare,
): Promise<{ readonly line: Line; readonly alone: Run; readonly commits: number }> {
  const first = await ask(daemon.port, request('POST', list, postBody('bench-first')));
  if (first.status !== 201) throw new Error(`the POST answered ${first.status}: ${first.body}`);
  await teach(bare, 'POST', list, first);
  const commits: number[] = [];
  const series = process.hrtime.bigint();
  let count = 0;
  const target = {
    status: 201,
    request: () => {
      count += 1;
      return request('POST', list, postBody(`bench-${series}-${count}`));
    },
  };
  const alone: Run[] = [];
  const runs = await inTurns(
    () => run(bare, target, { connections, seconds: seconds / 4 }),
    async () => {
      commits.push(durableCommits(folder, seconds / 2, first.body));
      alone.push(await run(daemon, target, { connections: 1, seconds, requests: mostPosts }));
      return run(daemon, target, { connections, seconds, requests: mostPosts });
    },
  );
  return { line: { what, aim: undefined, ...runs }, alone: middle(alone.slice(1)), commits: median(commits) };
}

/** Short runs in turns, so that other load on the machine affects both servers alike. The first runs warm both up. */
async function inTurns(
  ofBare: () => Promise<Run>,
  ofOurs: () => Promise<Run>,
): Promise<{ readonly bare: Run; readonly ours: Run }> {
  const bare: Run[] = [];
  const ours: Run[] = [];
  for (let turn = 0; turn <= turns; turn += 1) {
    bare[turn] = await ofBare();
    ours[turn] = await ofOurs();
  }
  return { bare: middle(bare.slice(1)), ours: middle(ours.slice(1)) };
}

async function run(server: Running, target: Omit<Target, 'port'>, bounds: Bounds): Promise<Run> {
  const before = computingOf(server);
  const result = await load({ ...target, port: server.port }, bounds);
  return { ...result, computing: ((computingOf(server) - before) * 1000) / result.requests };
}

/** The bare server sends the daemon's answer byte for byte, without the headers that Node adds to both. */
async function teach(
  bare: Bare,
  method: string,
  path: string,
  { status, head, body }: Awaited<ReturnType<typeof ask>>,
): Promise<void> {
  const lines = head.trim().split('\r\n').slice(1);
  const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
  const headers = Object.fromEntries(
    pairs.filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name.toLowerCase())),
  );
  await bare.know(method, path, { status, headers, body });
}

function middle(results: readonly Run[]): Run {
  const of = (name: keyof Run) => median(results.map((result) => result[name]));
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    requests: of('requests'),
    computing: of('computing'),
  };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

function printLines(lines: readonly Line[]): void {
  const cells = (...texts: readonly string[]) =>
    print(texts.map((text, column) => (column === 0 ? text.padEnd(30) : text.padStart(9))).join(' '));
  cells('', 'bare /s', 'p99 ms', 'CPU µs', 'ours /s', 'p50 ms', 'p99 ms', 'CPU µs', 'ratio', 'aim');
  for (const { what, bare, ours, aim } of lines) {
    const ratio = ours.perSecond / bare.perSecond;
    const bareCells = [whole(bare.perSecond), bare.p99.toFixed(2), whole(bare.computing)];
    const ourCells = [whole(ours.perSecond), ours.p50.toFixed(2), ours.p99.toFixed(2), whole(ours.computing)];
    cells(what, ...bareCells, ...ourCells, ratio.toFixed(2), aim === undefined ? '' : aim.toFixed(2));
  }
}

function whole(number: number): string {
  return number.toFixed(0);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
