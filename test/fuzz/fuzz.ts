import { catalogue } from '../../src/areas/index.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import { type Method, routesOf } from '../../src/http/routes.ts';
import { isObject } from '../../src/lib/json.ts';
import { drift, randomFrom, startDaemon, stateFolder } from '../crash/daemon.ts';
import type { Api } from '../support/api.ts';
import { exampleBody, examples } from '../support/examples.ts';

export interface FuzzReport {
  readonly requests: number;
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that were answered with 5xx, except 503 with `Retry-After`, or not at all. */
  readonly failures: readonly string[];
  /** Requests that took longer than five seconds. */
  readonly slow: readonly string[];
  /** Milliseconds of the longest answer to a GET of /healthz meanwhile. */
  readonly longestWait: number;
  /** Subsystems that differ from the configuration at the end. */
  readonly drift: readonly unknown[];
  /** Addresses that answer otherwise after a restart. */
  readonly changed: readonly string[];
}

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
const excluded = /reboot|shutdown|factory|users\/1\/|users\/\{key\}|system\/settings|system\/config/;

/** Sends requests that are derived from the catalogue until the time is over, to a daemon on the virtual host. */
export async function fuzz({ seconds, seed }: { seconds: number; seed: number }): Promise<FuzzReport> {
  await using state = await stateFolder();
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] ?? fail();
  const routes = routesOf(catalogue).filter(({ pattern }) => !excluded.test(pattern));
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
  const client = async () => {
    while (performance.now() < end) {
      const { pattern, resource, operations } = pick(routes);
      const method = random() < 0.05 ? pick(methods) : pick([...operations.keys()]);
      const path = `${pattern.replaceAll(/\{(\w+)\*?\}/g, (_, name: string) =>
        encodeURIComponent(pick([examples[resource.path]?.params?.[name] ?? 'tank', '1', '2', 'tank', '../x', 'ä'])),
      )}/`;
      const body = method === 'GET' ? undefined : mutated(bodyOf(resource.path, Math.floor(random() * 500)), random);
      const title = `${method} ${path} ${JSON.stringify(body)?.slice(0, 300)}`;
      const started = performance.now();
      try {
        const { status, headers } = await api.send(method, path, body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status >= 500 && !(status === 503 && headers.has('retry-after'))) failures.push(`${status}: ${title}`);
      } catch (error) {
        failures.push(`${String(error)}: ${title}`);
      }
      requests += 1;
      if (performance.now() - started > 5000) slow.push(title);
    }
  };
  let longestWait = 0;
  const probe = async () => {
    while (performance.now() < end) {
      const started = performance.now();
      await api.get('/healthz');
      longestWait = Math.max(longestWait, performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  try {
    await Promise.all([probe(), ...Array.from({ length: 4 }, client)]);
    const differs = await drift(api);
    const before = await answersOf(api);
    await daemon.end('SIGTERM');
    const again = await startDaemon(state.path);
    try {
      const after = await answersOf(again.api);
      const changed = [...before].filter(([path, text]) => after.get(path) !== text).map(([path]) => path);
      return { requests, statuses, failures, slow, longestWait, drift: differs, changed };
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
function mutated(body: Readonly<Record<string, unknown>>, random: () => number): unknown {
  const value = () => hostile[Math.floor(random() * hostile.length)];
  const dice = random();
  if (dice < 0.05) return value() ?? null;
  if (dice < 0.3) return body;
  const share = random();
  return Object.fromEntries(Object.entries(body).map(([name, sent]) => [name, random() < share ? value() : sent]));
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
