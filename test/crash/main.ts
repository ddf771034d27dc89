/** `npm run chaos -- [--kills N] [--seed N]`: kills, full disks, jumps of the clock and damaged files, on the virtual host. */
import { parseArgs } from 'node:util';
import { killAtRandom } from './kill.ts';

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } });
const seed = Number(values.seed ?? Date.now() % 1_000_000);
process.stdout.write(`seed ${seed}\n`);
const { kills, answered, refused, full, jumps, damaged } = await killAtRandom({
  rounds: Number(values.kills ?? 20),
  seed,
  faults: true,
});
process.stdout.write(`${kills} kills, ${answered} answered changes: none lost, none half-made
the disk was full in ${full} rounds (${refused} changes refused), the clock jumped ${jumps} times
${damaged.served + damaged.refused} starts with a damaged file: ${damaged.served} served everything, ${damaged.refused} refused to start
`);
