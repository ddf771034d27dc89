/**
 * `npm run scale [-- --part 0.1] [-- --memory 1024] [-- --minutes 20]`: what cannot be built, on the virtual host: 2,000
 * disks, 1,000,000 snapshots, 100,000 shares and 500 clients, beside a tenth of each. It says what grows faster than its
 * cause: reads of one object and changes of one should cost the same at both sizes, a start and the memory ten times as
 * much. The daemon gets at most so many MB of heap, and the whole run ends after so many minutes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { bundle, root } from '../scripts/bundle.ts';
import { isObject } from '../src/lib/json.ts';
import { median } from './figures.ts';
import { ask, load } from './load.ts';
import { type Daemon, memoryOf, request, spentBy, startDaemon } from './processes.ts';
import { makeShares, shareOf } from './shares.ts';
import { withSnapshots } from './snapshot-state.ts';

const { values: options } = parseArgs({
  options: {
    part: { type: 'string', default: '1' },
    memory: { type: 'string', default: '1024' },
    minutes: { type: 'string', default: '20' },
    daemon: { type: 'string' },
  },
});
const part = Number(options.part);
const minutes = Number(options.minutes);
const step = 10;
const cifs = '/api/v1.0/sharing/cifs/';

interface Size {
  readonly disks: number;
  readonly shares: number;
  readonly snapshots: number;
  readonly clients: number;
}

const whole: Size = {
  disks: Math.max(step, Math.round(2000 * part)),
  shares: Math.round(100_000 * part),
  snapshots: Math.round(1_000_000 * part),
  clients: 500,
};
const tenth: Size = {
  ...whole,
  disks: whole.disks / step,
  shares: whole.shares / step,
  snapshots: whole.snapshots / step,
};

/** How a cost may grow: not at all, or with the size. */
type Growth = 'not' | 'with size';

interface Cost {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly growth: Growth;
}

// Measurements of a few milliseconds scatter.
const tolerance = { not: 1.5, 'with size': 1.2 * step };

const folder = mkdtempSync('/var/tmp/holdfast-scale-');
const timer = setTimeout(() => {
  process.stderr.write(`The run did not end within ${minutes} minutes.\n`);
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}, minutes * 60_000);
try {
  if (options.daemon === undefined) await bundle('dist');
  const small = await costsOf(tenth);
  const large = await costsOf(whole);
  print('', ...[tenth, whole].map(({ shares }) => `${shares} shares`), 'grows', '');
  let faster = 0;
  for (const [index, { what, value, unit, growth }] of large.entries()) {
    const before = small[index]?.value ?? Number.NaN;
    // Below a millisecond, the clock decides.
    const ratio = value / Math.max(before, unit === 'ms' ? 1 : 0);
    const isFaster = ratio > tolerance[growth];
    if (isFaster) faster += 1;
    print(
      what,
      `${before.toFixed(1)} ${unit}`,
      `${value.toFixed(1)} ${unit}`,
      `${ratio.toFixed(1)} times`,
      isFaster ? 'faster than its cause' : '',
    );
  }
  process.stdout.write(`\n${faster === 0 ? 'Nothing grows' : `${faster} figures grow`} faster than the cause.\n`);
} finally {
  clearTimeout(timer);
  rmSync(folder, { recursive: true, force: true });
}

async function costsOf(size: Size): Promise<readonly Cost[]> {
  const state = mkdtempSync(join(folder, 'state-'));
  await makeShares(state, 1, 'cifs', size.disks);
  copyShare(state, size.shares);
  withSnapshots(state, size.snapshots);
  const program = options.daemon ?? join(root, 'dist/holdfast.mjs');
  const daemon = await startDaemon(state, {
    program,
    ...{ patience: minutes * 60_000, nodeOptions: [`--max-old-space-size=${options.memory}`] },
    environment: { HOLDFAST_STALL: '10' },
  });
  try {
    const start = spentBy(daemon) / 1000;
    await untilReady(daemon);
    const ready = spentBy(daemon) / 1000;
    const page = (what: string, path: string): Promise<Cost> =>
      timed(daemon, what, 'GET', () => ({ path, status: 200 }));
    let count = 0;
    const reads = [
      await page('GET one share', `${cifs}${size.shares / 2}/`),
      await page('GET 20 shares', `${cifs}?limit=20&offset=${size.shares / 2}`),
      await page('first page of snapshots', '/api/v1.0/storage/snapshot/?limit=20'),
      await page('first page of disks', '/api/v1.0/storage/disk/?limit=20'),
      await page('GET a volume', '/api/v1.0/storage/volume/tank/'),
    ];
    const changes = [
      await timed(daemon, 'POST a share', 'POST', () => {
        const name = `new-${count++}`;
        return { path: cifs, status: 201, body: { cifs_path: '/mnt/tank/share-00000', cifs_name: name } };
      }),
      await timed(daemon, 'PUT a share', 'PUT', () => ({
        ...{ path: `${cifs}${size.shares / 2}/`, status: 200 },
        body: { cifs_comment: `changed ${count++}` },
      })),
      await timed(daemon, 'POST a dataset', 'POST', () => ({
        ...{ path: '/api/v1.0/storage/volume/tank/datasets/', status: 201 },
        body: { name: `d${count++}` },
      })),
      await timed(daemon, 'POST a snapshot', 'POST', () => ({
        ...{ path: '/api/v1.0/storage/snapshot/', status: 201 },
        body: { dataset: 'tank', name: `made${count++}` },
      })),
    ];
    const clients = await load(
      { port: daemon.port, status: 200, request: () => request('GET', `${cifs}${size.shares / 2}/`) },
      { connections: size.clients, seconds: 60, requests: 20 * size.clients },
    );
    const answer: unknown = JSON.parse((await ask(daemon.port, request('GET', '/api/holdfast/v1/daemon'))).body);
    return [
      { what: 'first answer: processor time', value: start, unit: 'ms', growth: 'with size' },
      { what: 'ready: processor time', value: ready, unit: 'ms', growth: 'with size' },
      ...reads,
      ...changes,
      { what: `${size.clients} clients: p99`, value: clients.p99, unit: 'ms', growth: 'not' },
      {
        what: 'longest computation without a pause',
        value: isObject(answer) ? Number(answer['longest_stall']) : Number.NaN,
        unit: 'ms',
        growth: 'not',
      },
      { what: 'resident', value: memoryOf(daemon), unit: 'MB', growth: 'with size' },
    ];
  } finally {
    await daemon.stop();
    rmSync(state, { recursive: true, force: true });
  }
}

/** Median processor time of the daemon for a request, until the answer. The first one warms up. */
async function timed(
  daemon: Daemon,
  what: string,
  method: 'GET' | 'POST' | 'PUT',
  next: () => { readonly path: string; readonly status: number; readonly body?: object },
): Promise<Cost> {
  const times: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    const { path, status, body } = next();
    const before = spentBy(daemon);
    const answer = await ask(daemon.port, request(method, path, body && JSON.stringify(body)));
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body}`);
    times.push((spentBy(daemon) - before) / 1000);
  }
  return { what, value: median(times.slice(1)), unit: 'ms', growth: 'not' };
}

async function untilReady({ port }: Daemon): Promise<void> {
  for (;;) {
    const { status } = await ask(port, request('GET', '/readyz'));
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Copies the only share in the database: by changes, a hundred thousand take minutes. */
function copyShare(state: string, count: number): void {
  const database = new Database(join(state, 'holdfast.sqlite'));
  try {
    const resource = 'sharing/cifs';
    const one: unknown = database
      .prepare('SELECT body FROM documents WHERE resource = ? AND id = 1')
      .pluck()
      .get(resource);
    const body: unknown = JSON.parse(String(one));
    const put = database.prepare('INSERT INTO documents VALUES (?, ?, ?)');
    database.transaction(() => {
      for (let id = 2; id <= count; id += 1)
        put.run(
          resource,
          id,
          JSON.stringify({ ...(isObject(body) ? body : {}), ...shareOf('cifs', id, '/mnt/tank/share-00000').body }),
        );
      database.prepare('UPDATE sequences SET last = ? WHERE resource = ?').run(count, resource);
    })();
  } finally {
    database.close();
  }
}

function print(...cells: readonly string[]): void {
  process.stdout.write(
    `${cells.map((cell, index) => (index === 0 ? cell.padEnd(36) : cell.padStart(index > 3 ? 24 : 16))).join('')}\n`,
  );
}
