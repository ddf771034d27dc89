/**
 * `node bench/growth.ts [--datasets N] [--shares N] [--snapshots N] [--profile]`: what one change costs on the virtual
 * host, with ten objects of each kind and with very many: the calls of the host, and the processor time of the daemon
 * without that of the virtual host, until half a second after the answer. With `--profile` it also prints the functions
 * that used most of it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type App, buildApp } from '../src/app.ts';
import type { Host } from '../src/host/ports/index.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { isObject } from '../src/lib/json.ts';
import { Store } from '../src/store/store.ts';
import { programs } from '../src/subsystems/index.ts';
import { withPorts } from '../test/support/ports.ts';
import { password } from './processes.ts';
import { send } from './send.ts';
import { shareOf } from './shares.ts';

const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '1000' },
    shares: { type: 'string', default: '500' },
    snapshots: { type: 'string', default: '5000' },
    profile: { type: 'boolean', default: false },
  },
});

interface Size {
  readonly datasets: number;
  readonly shares: number;
  readonly snapshots: number;
}

const few: Size = { datasets: 10, shares: 10, snapshots: 10 };
const many: Size = {
  datasets: Number(values.datasets),
  shares: Number(values.shares),
  snapshots: Number(values.snapshots),
};

/** How often each change is made; the first warms the daemon up. */
const repeats = 5;
/** Milliseconds after an answer during which work in the background is counted too. */
const background = 500;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

interface Cost {
  readonly milliseconds: number;
  readonly calls: ReadonlyMap<string, number>;
  readonly functions: ReadonlyMap<string, number>;
}

const [withFew, withMany] = [await costsWith(few), await costsWith(many)];
for (const [kind, cost] of withMany) {
  const base = withFew.get(kind);
  console.log(`\n${kind}: ${base?.milliseconds.toFixed(1)} ms with few, ${cost.milliseconds.toFixed(1)} ms with many`);
  const names = [...new Set([...(base?.calls.keys() ?? []), ...cost.calls.keys()])].sort();
  console.log(
    `  ${names.map((name) => `${name} ${base?.calls.get(name) ?? 0} → ${cost.calls.get(name) ?? 0}`).join('\n  ')}`,
  );
  if (values.profile)
    for (const [name, time] of [...cost.functions].sort(([, a], [, b]) => b - a).slice(0, 25))
      console.log(`    ${time.toFixed(2).padStart(8)} ms ${name}`);
}

async function costsWith(size: Size): Promise<ReadonlyMap<string, Cost>> {
  const state = mkdtempSync('/var/tmp/holdfast-bench-');
  try {
    await furnish(state, size);
    const counts = new Map<string, number>();
    const app = await open(state, counts);
    try {
      return await costsOf(app, counts);
    } finally {
      await app.close();
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

async function open(state: string, counts: Map<string, number>): Promise<App> {
  const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks: [1024 ** 4], now: Date.now });
  return buildApp({
    host: counted(host, counts),
    store: Store.open(state),
    log: quiet,
    now: Date.now,
    profile: 'document',
    version: 'bench',
    rootPassword: password,
  });
}

function counted(host: Host, counts: Map<string, number>): Host {
  return withPorts(
    host,
    (name, port) =>
      new Proxy(port, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]): unknown => {
            const call = `${name}.${String(key)}`;
            counts.set(call, (counts.get(call) ?? 0) + 1);
            return Reflect.apply(value, target, args);
          };
        },
      }),
  );
}

/** The snapshots are written into the state of the virtual host: creating them one by one would take minutes. */
async function furnish(state: string, { datasets, shares, snapshots }: Size): Promise<void> {
  const app = await open(state, new Map());
  await send(app, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await send(app, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await send(app, 'POST', 'storage/volume/tank/datasets/', { name: 'd0' });
  await app.close();
  const path = join(state, 'virtual/zfs.json');
  const memory: unknown = JSON.parse(readFileSync(path, 'utf8'), (_key, value: unknown) => {
    const [one] = Array.isArray(value) ? value.filter((it) => isObject(it) && it['name'] === 'tank/d0') : [];
    if (!isObject(one) || !Array.isArray(value)) return value;
    const copies = Array.from({ length: datasets - 1 }, (_, index) => ({
      ...one,
      guid: String(1_000_000 + index),
      name: `tank/d${index + 1}`,
    }));
    return [...value, ...copies].map((it: unknown) =>
      isObject(it) && it !== value[0]
        ? { ...it, snapshots: snapshotsOf(String(it['guid']), snapshots / datasets) }
        : it,
    );
  });
  writeFileSync(path, JSON.stringify(memory));
  const again = await open(state, new Map());
  await again.engine.change('create shares', { actor: 'bench', request: 'shares' }, (draft) => {
    for (let index = 0; index < shares; index += 1) shareOf('cifs', index, `/mnt/tank/d${index}`).put(draft);
  });
  await again.close();
}

function snapshotsOf(guid: string, count: number) {
  return Array.from({ length: count }, (_, n) => ({
    guid: `${guid}${n}`,
    name: `auto-${n}`,
    created: 1_700_000_000 + n,
    properties: {},
  }));
}

async function costsOf(app: App, counts: Map<string, number>): Promise<ReadonlyMap<string, Cost>> {
  const costs = new Map<string, Cost>();
  for (let n = 0; n < repeats; n += 1) {
    const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
      dataset: () => send(app, 'POST', 'storage/volume/tank/datasets/', { name: `new${n}` }),
      'CIFS share': () => send(app, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/tank/new${n}`, cifs_name: `new${n}` }),
      snapshot: () => send(app, 'POST', 'storage/snapshot/', { dataset: `tank/new${n}`, name: 'one' }),
      group: () => send(app, 'POST', 'account/groups/', { bsdgrp_group: `new${n}` }),
    };
    for (const [kind, change] of Object.entries(kinds)) costs.set(kind, await costOf(counts, change));
  }
  return costs;
}

async function costOf(counts: Map<string, number>, change: () => Promise<unknown>): Promise<Cost> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 200 });
  counts.clear();
  await session.post('Profiler.start');
  await change();
  await pause(background);
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return { calls: new Map(counts), ...read(profile) };
}

/** The time of each function with what it calls; and of all, without the virtual host and what is idle. */
function read({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile) {
  const own = new Map<number, number>();
  for (const [index, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const functions = new Map<string, number>();
  let milliseconds = 0;
  const visit = (id: number, above: ReadonlySet<string>): void => {
    const node = byId.get(id);
    if (node === undefined) return;
    const { functionName, url, lineNumber } = node.callFrame;
    if (
      /^\((idle|program|garbage collector)\)$/.test(functionName) ||
      /\/src\/host\/virtual\/|\/bench\/|^node:inspector/.test(url)
    )
      return;
    const file = url.replace(/^.*\/(src|bench|node_modules)\//, '$1/');
    const name = `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
    const names = above.has(name) ? above : new Set([...above, name]);
    const time = own.get(id) ?? 0;
    milliseconds += time;
    if (time > 0) for (const one of names) functions.set(one, (functions.get(one) ?? 0) + time);
    for (const child of node.children ?? []) visit(child, names);
  };
  visit(nodes[0]?.id ?? 0, new Set());
  return { milliseconds, functions };
}
