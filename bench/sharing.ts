/**
 * `node bench/sharing.ts [PROTOCOL...]`: the cost of another share on the virtual host with few shares and with
 * thousands,
 * for each protocol or for those named: one request after the other, each with its own commit. The cost does not depend
 * on the number of shares while the ratio stays near 1.
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
  /** Microseconds of processor time. */
  readonly computing: number;
}

const folder = mkdtempSync('/var/tmp/holdfast-bench-');
try {
  await bundle('dist');
  console.log(
    `another share, with            ${fleets.map((count) => `${count}: p50 ms    CPU µs`.padStart(22)).join('')}   CPU ratio`,
  );
  for (const protocol of protocols.filter((protocol) => asked.length === 0 || asked.includes(protocol))) {
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

/** The result of the second of two runs: the first warms the daemon up. */
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
