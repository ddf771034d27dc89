/**
 * `bin/script bench/compare.ts --before FILE [--after FILE] [--seconds N] [--rounds N]`: processor time for each answer of
 * two bundles of the daemon, in short turns, so that other load on the machine affects both alike. No client uses
 * anything that came in between: what it prints is the price of features that are not used.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, root } from '../scripts/bundle.ts';
import { ask, load } from './load.ts';
import { type Daemon, request, startDaemon } from './processes.ts';

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    after: { type: 'string' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '12' },
  },
});
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);
const { before = '' } = options;
if (before === '') throw new Error('Expected --before FILE, the bundle of another version.');
if (options.after === undefined) await bundle('dist');
const programs = [before, options.after ?? join(root, 'dist/holdfast.mjs')];

const shares = '/api/v1.0/sharing/nfs/';
const shareCount = 100;
/**
 * Changes of one turn. The daemon looks at problems, backups and files once after a burst of them, so that short bursts
 * measure that instead. What POST creates stays, so that there are fewer of them.
 */
const most = { put: 1000, post: 300 } as const;

const bodyOf = (comment: string) => JSON.stringify({ nfs_paths: ['/mnt/tank'], nfs_comment: comment });
let count = 0;
/** Different values, so that every request changes something. NFS shares of one place need different hosts. */
const differing = () => {
  count += 1;
  return `10.${Math.floor(count / 65_536)}.${Math.floor(count / 256) % 256}.${count % 256}`;
};
const newShare = () => JSON.stringify({ nfs_paths: ['/mnt/tank'], nfs_hosts: differing() });

const requests = [
  { what: 'GET one', status: 200, request: () => request('GET', `${shares}50/`) },
  { what: 'GET a list of 20', status: 200, request: () => request('GET', shares) },
  { what: 'PUT', status: 200, most: most.put, request: () => request('PUT', `${shares}50/`, bodyOf(differing())) },
  { what: 'POST', status: 201, most: most.post, request: () => request('POST', shares, newShare()) },
] as const;

// On a disk, like a real state folder: /tmp is often in memory.
const folder = mkdtempSync('/var/tmp/holdfast-compare-');
const daemons: Daemon[] = [];
try {
  for (const [index, program] of programs.entries()) {
    const daemon = await startDaemon(mkdtempSync(join(folder, `${index}-`)), { program, isPlain: index === 0 });
    daemons.push(daemon);
    await furnish(daemon);
  }
  for (const one of requests) {
    const spent = await inTurns(one);
    const [first = Number.NaN, second = Number.NaN] = spent.map(leastOf);
    const cells = [`${first.toFixed(0)} µs`, `${second.toFixed(0)} µs`, `${((second / first - 1) * 100).toFixed(1)} %`];
    process.stdout.write(`${one.what.padEnd(20)}${cells.map((cell) => cell.padStart(12)).join('')}\n`);
  }
} finally {
  for (const daemon of daemons) await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function furnish({ port }: Daemon): Promise<void> {
  const pool = { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ada0'] }] };
  const made = await ask(port, request('POST', '/api/v1.0/storage/volume/', JSON.stringify(pool)));
  if (made.status !== 201) throw new Error(`the volume was answered ${made.status}: ${made.body}`);
  await load(
    { port, status: 201, request: () => request('POST', shares, newShare()) },
    {
      ...{ connections: 16, seconds: 60, requests: shareCount },
    },
  );
}

/** Microseconds of processor time for each answer, by daemon and round. The first round warms up. */
async function inTurns({ status, request: next, ...rest }: (typeof requests)[number]): Promise<readonly number[][]> {
  const spent: number[][] = daemons.map(() => []);
  const bound = 'most' in rest ? rest.most : Number.POSITIVE_INFINITY;
  for (let round = 0; round <= rounds; round += 1)
    // Each goes first in half of the rounds: the second one finds caches that the first has filled.
    for (const [index, daemon] of round % 2 === 0 ? [...daemons.entries()] : [...daemons.entries()].toReversed()) {
      const from = spentBy(daemon);
      const { requests: answers } = await load(
        { port: daemon.port, status, request: next },
        { connections: 16, seconds, requests: bound },
      );
      if (round > 0) spent[index]?.push((spentBy(daemon) - from) / answers);
    }
  return spent;
}

/** Microseconds of processor time of the thread that answers. The scheduler counts nanoseconds, /proc/PID/stat hundredths. */
function spentBy({ child }: Daemon): number {
  const [nanoseconds] = readFileSync(`/proc/${child.pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1000;
}

/**
 * The mean of the least quarter. Other load makes a round dearer, by caches that it empties, and never cheaper, so the least
 * rounds are those of the daemon alone.
 */
function leastOf(numbers: readonly number[]): number {
  const least = numbers.toSorted((a, b) => a - b).slice(0, Math.ceil(numbers.length / 4));
  return least.reduce((sum, one) => sum + one, 0) / least.length;
}
