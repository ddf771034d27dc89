/**
 * `node bench/sharing.ts [PROTOCOL...]`: what one more share costs beside few and beside thousands on the virtual host, by
 * each protocol or by those named: one request after the other, each with a commit of its own. It costs what one costs
 * while the ratio stays near 1.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, root } from '../scripts/bundle.ts';
import { load } from './load.ts';
import { computingOf, request, startDaemon } from './processes.ts';
import { makeShares, type Protocol, shareOf } from './shares.ts';

const protocols = ['cifs', 'afp', 'nfs'] as const;
const asked = process.argv.slice(2);
const fleets = [10, 5000] as const;
const posts = 200;

interface Cost {
  /** Milliseconds until the answer. */
  readonly p50: number;
  /** Microseconds of computing. */
  readonly computing: number;
}

const folder = mkdtempSync('/var/tmp/holdfast-bench-');
try {
  await bundle('dist');
  console.log(
    `one more share beside          ${fleets.map((count) => `${count}: p50 ms    CPU µs`.padStart(22)).join('')}   CPU ratio`,
  );
  for (const protocol of protocols.filter((one) => asked.length === 0 || asked.includes(one))) {
    const costs: Cost[] = [];
    for (const count of fleets) costs.push(await measure(protocol, count));
    const cells = costs.map(
      ({ p50, computing }) => `${p50.toFixed(2).padStart(12)}${computing.toFixed(0).padStart(10)}`,
    );
    console.log(
      `${protocol.padEnd(31)}${cells.join('')}${((costs.at(-1)?.computing ?? 0) / (costs[0]?.computing ?? 1)).toFixed(1).padStart(12)}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The second of two runs: the first warms the daemon up. */
async function measure(protocol: Protocol, count: number): Promise<Cost> {
  const state = mkdtempSync(join(folder, `${protocol}-${count}-`));
  await makeShares(state, count, protocol);
  const daemon = await startDaemon(state, { program: join(root, 'dist/holdfast.mjs') });
  try {
    let next = count;
    const target = {
      port: daemon.port,
      status: 201,
      request: () => {
        next += 1;
        return request('POST', `/api/v1.0/sharing/${protocol}/`, JSON.stringify(shareOf(protocol, next).body));
      },
    };
    const bounds = { connections: 1, seconds: 60, requests: posts / 2 };
    await load(target, bounds);
    const before = computingOf(daemon);
    const { p50, requests } = await load(target, bounds);
    return { p50, computing: ((computingOf(daemon) - before) * 1000) / requests };
  } finally {
    await daemon.stop();
  }
}
