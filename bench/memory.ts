/**
 * `bin/script bench/memory.ts [--shares N] [--snapshots N] [--daemon FILE]`: what the memory of the daemon consists of after
 * its start: the parts of the process, and the V8 heap by kind, from a heap snapshot.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { ask } from './load.ts';
import { memoryOf, request, startDaemon } from './processes.ts';
import { makeShares } from './shares.ts';
import { withSnapshots } from './snapshot-state.ts';

const { values: options } = parseArgs({
  options: {
    shares: { type: 'string', default: '100' },
    snapshots: { type: 'string', default: '0' },
    daemon: { type: 'string' },
  },
});

interface HeapSnapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

const folder = mkdtempSync('/var/tmp/holdfast-memory-');
try {
  if (options.daemon === undefined) await bundle('dist');
  await makeShares(folder, Number(options.shares));
  if (Number(options.snapshots) > 0) withSnapshots(folder, Number(options.snapshots));
  const heaps = mkdtempSync(join(folder, 'heap-'));
  const daemon = await startDaemon(folder, {
    program: options.daemon ?? join(root, 'dist/holdfast.mjs'),
    nodeOptions: ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${heaps}`],
  });
  const ready = async () => (await ask(daemon.port, request('GET', '/readyz'))).status === 200;
  while (!(await ready())) await pause(100);
  const resident = memoryOf(daemon);
  const parts = readFileSync(`/proc/${daemon.child.pid}/smaps_rollup`, 'utf8');
  daemon.child.kill('SIGUSR2');
  let file: string | undefined;
  while (file === undefined) {
    await pause(500);
    file = readdirSync(heaps).find((name) => name.endsWith('.heapsnapshot'));
  }
  // The daemon answers again when the file is complete.
  await ready();
  await daemon.stop();
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(parts)?.[1]) / 1024;
  print('resident', resident);
  print('of it programs and libraries', resident - kilobytes('Anonymous'));
  const heap = kindsOf(JSON.parse(readFileSync(join(heaps, file), 'utf8')));
  print('of it the V8 heap, in use', [...heap.values()].reduce((sum, bytes) => sum + bytes, 0) / 1024 ** 2);
  for (const [kind, bytes] of [...heap].toSorted((a, b) => b[1] - a[1]).slice(0, 25))
    print(`  ${kind}`, bytes / 1024 ** 2);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Bytes by the type of a node, and for objects by their class. */
function kindsOf({ snapshot: { meta }, nodes, strings }: HeapSnapshot): ReadonlyMap<string, number> {
  const width = meta.node_fields.length;
  const place = (name: string) => meta.node_fields.indexOf(name);
  const [typeAt, nameAt, sizeAt] = [place('type'), place('name'), place('self_size')];
  const kinds = new Map<string, number>();
  for (let at = 0; at < nodes.length; at += width) {
    const type = meta.node_types[0][nodes[at + typeAt] ?? 0] ?? '';
    const name = strings[nodes[at + nameAt] ?? 0] ?? '';
    const size = nodes[at + sizeAt] ?? 0;
    const isSource = type === 'string' && size > 20_000;
    const kind = isSource ? 'sources of the program' : type === 'object' ? `objects: ${name.slice(0, 30)}` : type;
    kinds.set(kind, (kinds.get(kind) ?? 0) + size);
  }
  return kinds;
}

function print(what: string, megabytes: number): void {
  process.stdout.write(`${what.padEnd(44)}${megabytes.toFixed(1).padStart(8)} MB\n`);
}
