/**
 * `node bench/growth.ts [--datasets N] [--shares N] [--snapshots N] [--profile]`: what one change costs on the virtual
 * host, with ten objects of each kind and with very many: the calls of the host, and the processor time of the daemon
 * without that of the virtual host, until half a second after the answer. With `--profile` it also prints the functions
 * that used most of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { App } from '../src/app.ts';
import type { Host } from '../src/host/ports/index.ts';
import { withPorts } from '../test/support/ports.ts';
import { openApp } from './app.ts';
import { furnish, type Size } from './furnish.ts';
import { send } from './send.ts';

const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '1000' },
    shares: { type: 'string', default: '500' },
    snapshots: { type: 'string', default: '5000' },
    profile: { type: 'boolean', default: false },
  },
});

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
    const app = await openApp(state, (host) => counted(host, counts));
    try {
      return await costsOf(app, counts);
    } finally {
      await app.close();
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
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
