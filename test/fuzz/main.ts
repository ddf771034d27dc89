/**
 * `npm run fuzz -- [--minutes N] [--requests N] [--seed N]`: hostile requests to a daemon on the virtual host, for as many
 * minutes, or as many of them when they are fewer.
 */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, requests: { type: 'string' }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const most = values.requests === undefined ? undefined : Number(values.requests);
const minutes = Number(values.minutes ?? (most === undefined ? 1 : Number.POSITIVE_INFINITY));
const report = await fuzz({ seconds: minutes * 60, ...(most !== undefined && { most }), seed });
const statuses = [...report.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
process.stdout.write(
  `${report.requests} requests (seed ${seed}): ${statuses.join(', ')}
failures: ${report.failures.length}, over 5 s: ${report.slow.length}, longest wait of others: ${report.longestWait.toFixed(0)} ms
stalls over 50 ms: ${report.stalls.length}, files with an injected line: ${report.injected.length}
subsystems that differ: ${report.drift.length}, answers that differ after a restart: ${report.changed.length}
`,
);
const problems = [
  ...report.failures,
  ...report.slow,
  ...report.stalls,
  ...report.injected,
  ...report.drift.map((one) => JSON.stringify(one)),
  ...report.changed,
];
for (const problem of problems) process.stdout.write(`  ${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
