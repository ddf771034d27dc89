/**
 * `node bench/stalls.ts [--datasets N] [--shares N] [--snapshots N] [--only TEXT] [--profile]`: the longest turn of the
 * event loop, in processor time, during one request of each kind that works on everything, on a virtual host with very
 * many objects. With `--profile`, also the functions of requests that take longer than the aim.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { App } from '../src/app.ts';
import { openApp } from './app.ts';
import { furnish } from './furnish.ts';
import { authorization } from './processes.ts';
import { longestTurn } from './turns.ts';

const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '1000' },
    shares: { type: 'string', default: '500' },
    snapshots: { type: 'string', default: '5000' },
    only: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
  },
});
/** Milliseconds of one turn that no request should exceed. */
const aim = 20;
/** Milliseconds after an answer during which work in the background is counted too. */
const background = 500;

const documented = '/api/v1.0';
const own = '/api/holdfast/v1';
type Request = readonly [method: string, path: string, body?: object];
const plan = (method: string, path: string, body: object | undefined): Request => [
  'POST',
  `${own}/plan`,
  { method, path: `${documented}${path}`, ...(body !== undefined && { body }) },
];

/** In this order: the last ones remove what the others need. */
const requests: readonly Request[] = [
  ['GET', `${documented}/storage/volume/`],
  ['GET', `${documented}/storage/volume/tank/`],
  ['GET', `${documented}/storage/volume/tank/datasets/?limit=0`],
  ['GET', `${documented}/storage/snapshot/?limit=0`],
  ['GET', `${documented}/sharing/cifs/?limit=0`],
  ['GET', `${documented}/system/alert/`],
  ['GET', `${own}/problems`],
  ['GET', `${own}/drift`],
  ['GET', `${own}/doctor`],
  ['GET', `${own}/daemon`],
  ['GET', `${own}/occupants?path=/mnt/tank`],
  ['GET', `${own}/search?text=tank`],
  ['GET', `${own}/search?text=root`],
  ['GET', `${own}/schedules`],
  ['GET', `${own}/revisions`],
  ['GET', `${own}/file`],
  ['GET', `${own}/file?full=true`],
  ['POST', `${own}/migrate`, { content: '$(id)' }],
  ['GET', '/openapi.json'],
  ['GET', '/metrics'],
  ['POST', `${documented}/storage/volume/tank/datasets/`, { name: 'new' }],
  ['POST', `${documented}/storage/snapshot/`, { dataset: 'tank', name: 'all', recursive: true }],
  ['POST', `${documented}/sharing/cifs/`, { cifs_path: '/mnt/tank/new', cifs_name: 'new' }],
  ['PUT', `${documented}/services/cifs/`, { cifs_srv_description: 'other' }],
  [
    'PUT',
    `${documented}/storage/permission/`,
    { mp_path: '/mnt/tank', mp_acl: 'unix', mp_recursive: true, mp_user: 'root', mp_group: 'root', mp_mode: '755' },
  ],
  ['POST', `${documented}/storage/task/`, { task_filesystem: 'tank', task_recursive: true }],
  ['POST', `${documented}/storage/volume/tank/scrub/`, {}],
  plan('DELETE', '/storage/volume/tank/', { destroy: true, cascade: true }),
  ['POST', `${own}/revisions/1/revert`, {}],
  ['POST', `${documented}/system/debug/`, {}],
  ['POST', `${documented}/system/update/update/`, {}],
  ['POST', `${own}/config/backup`, {}],
  ['DELETE', `${documented}/storage/volume/tank/`, { destroy: true, cascade: true }],
  ['POST', `${documented}/system/config/factory_restore/`, {}],
];

/** On a state of its own, after which nothing else can be asked. */
const removals: readonly Request[] = [
  ['DELETE', `${documented}/sharing/cifs/`],
  ['DELETE', `${documented}/storage/volume/tank/`, { destroy: false, cascade: false }],
];

await measured(requests);
for (const removal of removals) await measured([removal]);

async function measured(wanted: readonly Request[]): Promise<void> {
  const chosen = wanted.filter(([method, path]) => `${method} ${path}`.includes(values.only));
  if (chosen.length === 0) return;
  const state = mkdtempSync('/var/tmp/holdfast-stalls-');
  try {
    await furnish(state, {
      datasets: Number(values.datasets),
      shares: Number(values.shares),
      snapshots: Number(values.snapshots),
    });
    const app = await openApp(state);
    try {
      for (const request of chosen) await measure(app, request);
    } finally {
      await app.close();
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

async function measure(app: App, [method, path, body]: Request): Promise<void> {
  const session = values.profile ? await profiling() : undefined;
  let status = 0;
  const turn = await longestTurn(async () => {
    status = await answerOf(app, method, path, body);
    await pause(background);
  });
  const isLong = turn > aim;
  const what = `${method} ${path}${
    path.endsWith('/plan')
      ? ` of ${Object.values(body ?? {})
          .slice(0, 2)
          .join(' ')}`
      : ''
  }`;
  process.stdout.write(`${turn.toFixed(1).padStart(8)} ms ${isLong ? 'long' : '    '} ${status} ${what}\n`);
  if (session === undefined) return;
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  if (isLong)
    for (const [name, time] of functionsIn(profile))
      process.stdout.write(`    ${time.toFixed(1).padStart(8)} ms ${name}\n`);
}

async function answerOf(app: App, method: string, path: string, body: object | undefined): Promise<number> {
  if (!app.server.server.listening) await app.server.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const answer = await fetch(`http://127.0.0.1:${address.port}${path}`, {
    method,
    headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // Read as it arrives and thrown away: parsing it here would be counted.
  if (answer.body !== null) for await (const _ of answer.body);
  return answer.status;
}

async function profiling(): Promise<Session> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 200 });
  await session.post('Profiler.start');
  return session;
}

/** The functions with most time, with what they call. */
function functionsIn({
  nodes,
  samples = [],
  timeDeltas = [],
}: Profiler.Profile): readonly (readonly [string, number])[] {
  const own = new Map<number, number>();
  for (const [index, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const total = new Map<string, number>();
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (node === undefined) return 0;
    const { functionName, url, lineNumber } = node.callFrame;
    const name = `${functionName || '(anonymous)'} ${url.replace(/^.*\/(src|bench|node_modules)\//, '$1/')}:${lineNumber + 1}`;
    const isNew = !above.has(name);
    const names = isNew ? new Set([...above, name]) : above;
    let sum = own.get(id) ?? 0;
    for (const child of node.children ?? []) sum += visit(child, names);
    if (isNew) total.set(name, (total.get(name) ?? 0) + sum);
    return sum;
  };
  visit(nodes[0]?.id ?? 0, new Set());
  return [...total]
    .filter(([name]) => /(src|node_modules)\//.test(name))
    .sort(([, a], [, b]) => b - a)
    .slice(0, 25);
}
