/**
 * `bin/script bench/memory.ts [--shares N] [--snapshots N] [--minutes N] [--daemon FILE]`: what the memory of the daemon
 * consists of after its start: the parts of the process, and the V8 heap by kind and by what retains it, from a heap
 * snapshot. With `--minutes`, clients read and change during that time, and what is resident is printed at each tenth.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { isObject } from '../src/lib/json.ts';
import { type HeapSnapshot, nodesOf, retainersOf } from './heap.ts';
import { ask } from './load.ts';
import { type Daemon, memoryOf, request, startDaemon } from './processes.ts';
import { makeShares } from './shares.ts';
import { withSnapshots } from './snapshot-state.ts';

const { values: options } = parseArgs({
  options: {
    shares: { type: 'string', default: '100' },
    snapshots: { type: 'string', default: '0' },
    minutes: { type: 'string', default: '0' },
    daemon: { type: 'string' },
  },
});

/** Megabytes from which on an object is printed with what it retains. */
const retained = 1;

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
  if (Number(options.minutes) > 0) await useFor(daemon, Number(options.minutes));
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
  const snapshot: HeapSnapshot = JSON.parse(readFileSync(join(heaps, file), 'utf8'));
  const heap = kindsOf(snapshot);
  print('of it the V8 heap, in use', [...heap.values()].reduce((sum, bytes) => sum + bytes, 0) / 1024 ** 2);
  for (const [kind, bytes] of [...heap].toSorted((a, b) => b[1] - a[1]).slice(0, 25))
    print(`  ${kind}`, bytes / 1024 ** 2);
  process.stdout.write(`\nretained by objects, from ${retained} MB on\n`);
  for (const { name, bytes, depth } of retainersOf(snapshot, retained * 1024 ** 2))
    print(`${' '.repeat(depth)}${name}`, bytes / 1024 ** 2);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Reads and changes as several clients do, about forty requests a second. */
async function useFor(daemon: Daemon, minutes: number): Promise<void> {
  const cifs = '/api/v1.0/sharing/cifs/';
  const ended = performance.now() + minutes * 60_000;
  let shown = performance.now();
  for (let turn = 0; performance.now() < ended; turn += 1) {
    const isShown = performance.now() >= shown;
    if (isShown) {
      print(
        `  resident after ${(minutes - (ended - performance.now()) / 60_000).toFixed(1)} minutes`,
        memoryOf(daemon),
      );
      shown += minutes * 6_000;
    }
    const name = `used-${turn}`;
    const made = request('POST', cifs, JSON.stringify({ cifs_path: '/mnt/tank/share-00001', cifs_name: name }));
    const answer: unknown = JSON.parse((await ask(daemon.port, made)).body);
    const id = isObject(answer) ? answer['id'] : undefined;
    if (typeof id !== 'number') throw new Error(`a new share was answered ${JSON.stringify(answer)}`);
    const change = (text: string) => request('PUT', `${cifs}${id}/`, JSON.stringify({ cifs_comment: text }));
    const requests = [
      ...Array.from({ length: 25 }, (_, index) => request('GET', `${cifs}${1 + ((turn + index) % 100)}/`)),
      ...Array.from({ length: 8 }, (_, index) =>
        request('GET', `${cifs}?limit=20&offset=${(turn + index * 20) % 1000}`),
      ),
      request('GET', '/api/v1.0/storage/snapshot/?limit=20'),
      ...[change('once'), change('twice')],
      ...(isShown ? [request('GET', '/api/v1.0/storage/snapshot/?limit=0')] : []),
      request('DELETE', `${cifs}${id}/`),
    ];
    for (const one of requests) await ask(daemon.port, one);
    await pause(1000);
  }
}

/** Bytes by the type of a node, and for objects by their class. */
function kindsOf(heap: HeapSnapshot): ReadonlyMap<string, number> {
  const { count, typeOf, nameOf, sizeOf } = nodesOf(heap);
  const kinds = new Map<string, number>();
  for (let node = 0; node < count; node += 1) {
    const [type, size] = [typeOf(node), sizeOf(node)];
    const isSource = type === 'string' && size > 20_000;
    const kind = isSource
      ? 'sources of the program'
      : type === 'object'
        ? `objects: ${nameOf(node).slice(0, 30)}`
        : type;
    kinds.set(kind, (kinds.get(kind) ?? 0) + size);
  }
  return kinds;
}

function print(what: string, megabytes: number): void {
  process.stdout.write(`${what.padEnd(44)}${megabytes.toFixed(1).padStart(8)} MB\n`);
}
