/** `npm run chaos -- [--kills N] [--seed N]`: kills a daemon on the virtual host while clients change records. */
import { parseArgs } from 'node:util';
import { killAtRandom } from './kill.ts';

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } });
const seed = Number(values.seed ?? Date.now() % 1_000_000);
process.stdout.write(`seed ${seed}\n`);
const { kills, answered } = await killAtRandom({ rounds: Number(values.kills ?? 20), seed });
process.stdout.write(`${kills} kills, ${answered} answered changes: none lost, none half-made\n`);
