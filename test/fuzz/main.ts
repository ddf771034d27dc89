/** `npm run fuzz -- [--minutes N] [--seed N]`: hostile requests to a daemon on the virtual host. */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const report = await fuzz({ seconds: Number(values.minutes ?? 1) * 60, seed });
const statuses = [...report.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
process.stdout.write(
  `${report.requests} requests (seed ${seed}): ${statuses.join(', ')}
failures: ${report.failures.length}, over 5 s: ${report.slow.length}, longest wait of others: ${report.longestWait.toFixed(0)} ms
subsystems that differ: ${report.drift.length}, answers that differ after a restart: ${report.changed.length}
`,
);
const problems = [
  ...report.failures,
  ...report.slow,
  ...report.drift.map((one) => JSON.stringify(one)),
  ...report.changed,
];
for (const problem of problems) process.stdout.write(`  ${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
