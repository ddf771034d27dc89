import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogue } from '../../src/areas/index.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { type Method, routesOf } from '../../src/http/routes.ts';
import { isObject } from '../../src/lib/json.ts';
import { drift, randomFrom, startDaemon, stateFolder } from '../crash/daemon.ts';
import type { Api } from '../support/api.ts';
import { exampleBody, examples } from '../support/examples.ts';
import { addressOf, operations as managed } from '../support/management.ts';

export interface FuzzReport {
  readonly requests: number;
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that were answered with 5xx, except 503 with `Retry-After`, or not at all. */
  readonly failures: readonly string[];
  /** Requests that took longer than five seconds. */
  readonly slow: readonly string[];
  /** Milliseconds of the longest answer to a GET of /healthz meanwhile, including the time that it waited for a core. */
  readonly longestWait: number;
  /** When the daemon computed for more than 50 ms without a pause, with the requests of that time. */
  readonly stalls: readonly string[];
  /** Lines of values in files of the machine. */
  readonly injected: readonly string[];
  /** Subsystems that differ from the configuration at the end. */
  readonly drift: readonly unknown[];
  /** Addresses that answer otherwise after a restart. */
  readonly changed: readonly string[];
}

/** A line that must not be in any file, because it is only sent within values that have one line. */
const planted = 'holdfast-injected = 1';

/** Values with a line end of some program. Raw fields, which may have several lines, do not get them. */
const lines: readonly string[] = [
  '\n',
  '\r\n',
  '\r',
  '\u2028',
  '\u0085',
  '\v',
  '\f',
  '\\\n',
  '"\n',
  "'\n",
  ']\n',
  '\n\n\t',
].map((end) => `a${end}${planted}`);

/** Values that parsers, shells and configuration files read in their own way. */
const hostile: readonly unknown[] = [
  null,
  '',
  ' ',
  true,
  -1,
  0,
  1e308,
  2 ** 53,
  0.5,
  [],
  {},
  [[]],
  [null],
  { id: 1 },
  '../../etc/passwd',
  '/mnt/tank/../..',
  '/mnt/tank',
  'a\nb',
  'a\r\n[section]\r\nkey = value',
  '$(id)',
  '`id`',
  '; id',
  '%n%s%%',
  '\u0000',
  '\ud800',
  '\u202e',
  '\'"\\',
  'x'.repeat(1000),
  'x'.repeat(100_000),
  Array.from({ length: 2000 }, (_, index) => index),
];

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'DELETE'];

/** Operations that end the daemon's machine or the credential of this client. */
const excluded =
  /reboot|shutdown|factory|revert|users\/1\/|users\/\{key\}|system\/settings|system\/config|^(POST config\/restore|GET events)$/;

/** What requests are made from. */
interface Kind {
  readonly methods: readonly Method[];
  path(pick: <T>(from: readonly T[]) => T): string;
  body(n: number): Readonly<Record<string, unknown>>;
  /** Fields with raw lines. */
  readonly raw: ReadonlySet<string>;
}

const kinds: readonly Kind[] = [
  ...routesOf(catalogue)
    .filter(({ pattern }) => !excluded.test(pattern))
    .map(
      ({ pattern, resource, operations }): Kind => ({
        methods: [...operations.keys()],
        path: (pick) =>
          `${pattern.replaceAll(/\{(\w+)\*?\}/g, (_, name: string) =>
            encodeURIComponent(
              pick([examples[resource.path]?.params?.[name] ?? 'tank', '1', '2', 'tank', '../x', 'ä']),
            ),
          )}/`,
        body: (n) => bodyOf(resource.path, n),
        raw: new Set(Object.entries(resource.fields).flatMap(([name, { raw }]) => (raw === true ? [name] : []))),
      }),
    ),
  ...managed
    .filter(({ method, path }) => !excluded.test(`${method} ${path}`))
    .map(
      (operation): Kind => ({
        methods: [operation.method],
        path: (pick) =>
          addressOf(operation, {
            params: Object.fromEntries(Object.keys(operation.params).map((name) => [name, pick(['1', '2', 'tank'])])),
          }),
        body: () => operation.example.body ?? {},
        raw: new Set(),
      }),
    ),
];

const queries: readonly string[] = [
  ...['limit=0', 'limit=-1', 'limit=1e9', 'offset=99999999999999999999', 'limit=%00', 'id__in=1,2', 'about=../..'],
  ...['=', '&&&', '%', '%ff', `name=${'x'.repeat(5000)}`],
];

export interface FuzzOptions {
  readonly seconds: number;
  /** Ends the run before its time when this many requests were answered. */
  readonly most?: number;
  readonly seed: number;
}

/** Sends requests that are derived from the catalogue until the time is over, to a daemon on the virtual host. */
export async function fuzz({ seconds, most = Number.POSITIVE_INFINITY, seed }: FuzzOptions): Promise<FuzzReport> {
  await using state = await stateFolder();
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] ?? fail();
  const daemon = await startDaemon(state.path);
  const { api } = daemon;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0', 'ada1'] }],
  });

  const statuses = new Map<number, number>();
  const failures: string[] = [];
  const slow: string[] = [];
  let requests = 0;
  const end = performance.now() + seconds * 1000;
  const isOver = () => performance.now() >= end || requests >= most;
  const client = async () => {
    while (!isOver()) {
      const kind = pick(kinds);
      const method = random() < 0.05 ? pick(methods) : pick(kind.methods);
      const plain = kind.path(pick);
      const path = method === 'GET' && random() < 0.2 ? `${plain.replace(/\?.*/, '')}?${pick(queries)}` : plain;
      const body = method === 'GET' ? undefined : mutated(kind.body(Math.floor(random() * 500)), kind.raw, random);
      const title = `${method} ${path} ${JSON.stringify(body)?.slice(0, 300)}`;
      const started = performance.now();
      const begun = Date.now();
      try {
        const { status, headers } = await api.send(method, path, body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status >= 500 && !(status === 503 && headers.has('retry-after'))) failures.push(`${status}: ${title}`);
      } catch (error) {
        failures.push(`${String(error)}: ${title}`);
      }
      requests += 1;
      recent.push({ title, from: begun, to: Date.now() });
      if (recent.length > 1000) recent.splice(0, 500);
      if (performance.now() - started > 5000) slow.push(title);
    }
  };
  const recent: { readonly title: string; readonly from: number; readonly to: number }[] = [];
  const stalls = new Map<string, string>();
  /** Collects the stalls that the daemon has noticed, and the requests that it worked on. */
  const noteStalls = async () => {
    const shown = await api.get('/api/holdfast/v1/daemon');
    const stalled =
      isObject(shown.json) && Array.isArray(shown.json['recent_stalls']) ? shown.json['recent_stalls'] : [];
    for (const one of stalled.filter(isObject)) {
      const [ended, milliseconds] = [String(one['at']), Number(one['milliseconds'])];
      const to = Date.parse(ended);
      const during = recent.filter((request) => request.from <= to && request.to >= to - milliseconds);
      if (!stalls.has(ended))
        stalls.set(ended, `${milliseconds} ms: ${during.map(({ title }) => title.slice(0, 120)).join(' | ')}`);
    }
  };
  let longestWait = 0;
  const probe = async () => {
    let noted = Date.now();
    while (!isOver()) {
      const started = performance.now();
      await api.get('/healthz');
      longestWait = Math.max(longestWait, performance.now() - started);
      if (Date.now() - noted > 1000) {
        noted = Date.now();
        await noteStalls();
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  try {
    await Promise.all([probe(), ...Array.from({ length: 4 }, client)]);
    await noteStalls();
    const differs = await drift(api);
    const injected = await plantedIn(join(state.path, 'virtual', 'root'));
    const before = await answersOf(api);
    await daemon.end('SIGTERM');
    const again = await startDaemon(state.path);
    try {
      const after = await answersOf(again.api);
      const changed = [...before].filter(([path, text]) => after.get(path) !== text).map(([path]) => path);
      return {
        ...{ requests, statuses, failures, slow, longestWait, injected, changed },
        stalls: [...stalls.values()],
        drift: differs,
      };
    } finally {
      await again.end('SIGKILL');
    }
  } finally {
    await daemon.end('SIGKILL');
  }
}

function bodyOf(path: string, n: number): Readonly<Record<string, unknown>> {
  try {
    return exampleBody(path, n % 2 === 0 ? 'create' : 'update', n);
  } catch {
    // The address has no example: it takes no body.
    return {};
  }
}

/** The body with some values replaced by hostile ones, or a hostile value instead of the body. */
function mutated(body: Readonly<Record<string, unknown>>, raw: ReadonlySet<string>, random: () => number): unknown {
  const value = (among = hostile) => among[Math.floor(random() * among.length)];
  const dice = random();
  if (dice < 0.05) return value() ?? null;
  if (dice < 0.3) return body;
  const share = random();
  return Object.fromEntries(
    Object.entries(body).map(([name, sent]) => [
      name,
      random() >= share ? sent : raw.has(name) || random() < 0.7 ? value() : value(lines),
    ]),
  );
}

/** The files of the machine, without the data of its volumes, that have the planted line. */
async function plantedIn(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.startsWith(join(root, 'mnt'))) continue;
    const text = await readFile(path, 'utf8');
    if (new RegExp(`(^|[\\n\\r\\v\\f\\u0085\\u2028])\\s*${planted}`, 'm').test(text)) found.push(path);
  }
  return found;
}

/** What the daemon answers for the records that do not depend on the state of the machine. */
async function answersOf(api: Api): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const { path, verbs, present } of catalogue.filter(isKeptResource)) {
    if (present !== undefined || (!verbs.includes('list') && !verbs.includes('read'))) continue;
    const { json } = await api.get(`${path}/?limit=0`);
    answers.set(path, JSON.stringify(Array.isArray(json) ? json.filter(isObject) : json));
  }
  return answers;
}

function fail(): never {
  throw new Error('expected a list that is not empty');
}
