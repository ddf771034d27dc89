/**
 * `bin/script bench/profile.ts WHAT [--protocol nfs|cifs|afp] [--shares N] [--snapshots N] [--functions N]
 * [--daemon FILE]`: where the daemon's time goes, by part and by function. WHAT is `get`, `list`, `put`, `post`,
 * `idle` (two minutes, a minute after the start) or `start`. V8 samples the main thread every 100 µs, also while it
 * waits for the disk or the processor; a sample counts for at most twice that, so that waiting hardly counts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { load } from './load.ts';
import { request, startDaemon } from './processes.ts';
import { makeShares, protocolNamed, shareOf } from './shares.ts';
import { withSnapshots } from './snapshot-state.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    protocol: { type: 'string', default: 'nfs' },
    shares: { type: 'string', default: '100' },
    snapshots: { type: 'string', default: '0' },
    functions: { type: 'string', default: '25' },
    daemon: { type: 'string' },
  },
});

/** Between two samples. */
const microseconds = 100;

/** Milliseconds that are measured at rest. */
const idleFor = 120_000;

const protocol = protocolNamed(options.protocol);
const list = `/api/v1.0/sharing/${protocol}/`;
/** Above the numbers of the shares that are there. */
let count = 100_000;
const newShare = () => {
  count += 1;
  return JSON.stringify(shareOf(protocol, count, '/mnt/tank').body);
};
const newComment = () => {
  count += 1;
  return JSON.stringify({ [`${protocol}_comment`]: `comment ${count}` });
};
const loads = {
  get: { status: 200, requests: 20_000, request: () => request('GET', `${list}50/`) },
  list: { status: 200, requests: 15_000, request: () => request('GET', list) },
  put: {
    status: 200,
    requests: 3000,
    request: () => request('PUT', `${list}50/`, newComment()),
  },
  post: { status: 201, requests: 1000, request: () => request('POST', list, newShare()) },
};

/** Parts of the daemon by the beginning of the source file; the first that fits counts. */
const parts: readonly (readonly [string, string])[] = [
  ['node_modules/pino', 'log'],
  ['node_modules', 'other packages'],
  ['src/http/authenticator', 'authentication'],
  ['src/http/login-budget', 'authentication'],
  ['src/http/sessions', 'authentication'],
  ['src/engine/passwords', 'authentication'],
  ['src/areas/keys', 'authentication'],
  ['src/areas/people', 'authentication'],
  ['src/http/limits', 'limits and origin'],
  ['src/http/origin', 'limits and origin'],
  ['src/http/tags', 'tags'],
  ['src/http', 'requests and answers'],
  ['src/engine/change', 'change queue'],
  ['src/engine/configuration', 'draft'],
  ['src/engine/declare', 'fields and records'],
  ['src/engine/plan', 'plan, converge, journal'],
  ['src/engine/facts', 'facts'],
  ['src/engine/upkeep', 'upkeep'],
  ['src/engine', 'engine, other'],
  ['src/store/audit', 'audit'],
  ['src/areas/audit', 'audit'],
  ['src/store', 'store (SQLite)'],
  ['src/subsystems', 'render'],
  ['src/areas', 'areas'],
  ['src/host', 'host (virtual)'],
  ['src', 'other'],
];

interface Node {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  readonly children?: readonly number[];
}
interface Profile {
  readonly nodes: readonly Node[];
  /** Microseconds of the monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const maps = new Map<string, SourceMap | undefined>();

// On a disk, like a real state folder: /tmp is often in memory.
const folder = mkdtempSync('/var/tmp/holdfast-profile-');
try {
  await measure();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const [what = ''] = positionals;
  if (options.daemon === undefined) await bundle('dist');
  const program = options.daemon ?? join(root, 'dist/holdfast.mjs');
  if (Number(options.shares) > 0) await makeShares(folder, Number(options.shares), protocol);
  if (Number(options.snapshots) > 0) withSnapshots(folder, Number(options.snapshots));
  const profiles = join(folder, 'profiles');
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${microseconds}`];
  const daemon = await startDaemon(folder, { program, nodeOptions, isFirstEnough: what === 'start' });
  let from = 0;
  let to = Number.POSITIVE_INFINITY;
  let answers = 1;
  if (what === 'start') to = monotonic();
  else if (what === 'idle') {
    await pause(60_000);
    from = monotonic();
    await pause(idleFor);
    to = monotonic();
  } else {
    const one = Object.entries(loads).find(([name]) => name === what)?.[1];
    if (one === undefined) throw new Error(`expected get, list, put, post, idle or start, got ${what}`);
    const run = (requests: number) =>
      load({ port: daemon.port, status: one.status, request: one.request }, { connections: 16, seconds: 60, requests });
    // The first third warms up.
    await run(Math.ceil(one.requests / 3));
    from = monotonic();
    answers = (await run(one.requests)).requests;
    to = monotonic();
  }
  await daemon.stop();
  const [largest] = readdirSync(profiles)
    .map((name) => readFileSync(join(profiles, name), 'utf8'))
    .toSorted((a, b) => b.length - a.length);
  if (largest === undefined) throw new Error('the daemon wrote no profile');
  print(what, tally(JSON.parse(largest), from, to), answers);
}

interface Tally {
  readonly parts: ReadonlyMap<string, number>;
  readonly functions: ReadonlyMap<string, number>;
}

/** Microseconds between two moments, by part and by function. */
function tally({ nodes, startTime, samples, timeDeltas }: Profile, from: number, to: number): Tally {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const placeOf = new Map<number, { readonly part: string; readonly name: string }>();
  const place = (id: number): { readonly part: string; readonly name: string } => {
    const known = placeOf.get(id);
    if (known !== undefined) return known;
    const node = byId.get(id);
    const parent = parentOf.get(id);
    const source = node === undefined ? undefined : sourceOf(node.callFrame);
    const { functionName = '' } = node?.callFrame ?? {};
    // Node's own and native functions count for the function of the daemon that calls them.
    const above = parent === undefined ? undefined : place(parent);
    const native = functionName.startsWith('(') && functionName.endsWith(')');
    const found =
      source !== undefined
        ? { part: partOf(source), name: `${functionName || '(anonymous)'} ${source}` }
        : native || above === undefined
          ? { part: functionName, name: functionName }
          : above.part === '(root)'
            ? { part: 'Node (HTTP, sockets, timers)', name: `${functionName} ${node?.callFrame.url}` }
            : above.part === 'Node (HTTP, sockets, timers)'
              ? { ...above, name: `${functionName} ${node?.callFrame.url}` }
              : { part: above.part, name: `${functionName} < ${above.name.split(' < ').at(-1)}` };
    placeOf.set(id, found);
    return found;
  };
  const byPart = new Map<string, number>();
  const byFunction = new Map<string, number>();
  let time = startTime;
  for (const [index, id] of samples.entries()) {
    time += timeDeltas[index] ?? 0;
    const spent = Math.min(timeDeltas[index + 1] ?? 0, 2 * microseconds);
    if (time < from || time > to) continue;
    const { part, name } = place(id);
    byPart.set(part, (byPart.get(part) ?? 0) + spent);
    byFunction.set(name, (byFunction.get(name) ?? 0) + spent);
  }
  return { parts: byPart, functions: byFunction };
}

function partOf(source: string): string {
  return parts.find(([prefix]) => source.includes(prefix))?.[1] ?? 'other';
}

/** The source file of a function of the bundle; undefined for Node's own functions. */
function sourceOf({ url, lineNumber, columnNumber }: Node['callFrame']): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  const file = fileURLToPath(url);
  if (!maps.has(file)) {
    try {
      maps.set(file, new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))));
    } catch {
      maps.set(file, undefined);
    }
  }
  const entry = maps.get(file)?.findEntry(lineNumber, columnNumber);
  if (entry === undefined || !('originalSource' in entry)) return relative(root, file);
  return relative(root, resolve(dirname(file), entry.originalSource));
}

function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function print(what: string, { parts: byPart, functions }: Tally, answers: number): void {
  const isWhole = what === 'start' || what === 'idle';
  const unit = isWhole ? 1000 : answers;
  const label = isWhole ? 'ms' : 'µs each';
  const lines = (map: ReadonlyMap<string, number>) =>
    [...map].filter(([name]) => name !== '(idle)').toSorted((a, b) => b[1] - a[1]);
  const total = lines(byPart).reduce((sum, [, spent]) => sum + spent, 0);
  process.stdout.write(`${what}: ${(total / unit).toFixed(1)} ${label}\n`);
  for (const [name, spent] of lines(byPart))
    process.stdout.write(
      `${name.padEnd(34)}${(spent / unit).toFixed(1).padStart(8)} ${`${((spent / total) * 100).toFixed(0)} %`.padStart(5)}\n`,
    );
  process.stdout.write('\n');
  for (const [name, spent] of lines(functions).slice(0, Number(options.functions)))
    process.stdout.write(`${(spent / unit).toFixed(2).padStart(8)}  ${name}\n`);
}
