/** Runs the tiers of tests one after the other and tells at the end how each went. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

interface Tier {
  readonly name: string;
  readonly says: string;
  /** Programs to run in order; the first that fails ends the tier. */
  readonly commands: readonly (readonly [string, ...string[]])[];
}

/** What a command answers when this machine cannot run it; the last line it printed says why. */
const cannotRun = 77;

const nodeTest = [
  'node',
  '--test',
  // Left to itself it takes one less, which on two cores is half.
  `--test-concurrency=${availableParallelism()}`,
  '--test-reporter=dot',
  '--test-reporter-destination=stderr',
  '--test-reporter=./scripts/failures.ts',
  '--test-reporter-destination=stdout',
] as const;

const tiers: readonly Tier[] = [
  {
    name: 'check',
    says: 'types, lint and format',
    commands: [
      ['tsc', '--noEmit'],
      ['biome', 'check', '.'],
    ],
  },
  { name: 'code', says: 'renderers, engine, contract, conventions, crash and end to end on the virtual host', commands: [[...nodeTest, 'test/!(lab|pc)/**/*.test.ts']] },
  { name: 'machine', says: 'end to end on the test machine, with real daemons and real clients', commands: [['node', 'scripts/package.ts'], ['lab/test']] },
  {
    name: 'pc',
    says: 'disks with serial numbers and SMART, and translated addresses, in a machine that QEMU emulates',
    commands: [
      ['node', 'scripts/package.ts'],
      ['lab/test', 'pc'],
    ],
  },
];

type Result = 'passed' | 'failed' | 'could not run';

function runTier(tier: Tier): { readonly result: Result; readonly seconds: number } {
  const start = performance.now();
  process.stdout.write(`\n── ${tier.name}: ${tier.says}\n`);
  let result: Result = 'passed';
  for (const [program, ...words] of tier.commands) {
    const { status, error } = spawnSync(program, words, { stdio: 'inherit' });
    if (error !== undefined) process.stdout.write(`${program}: ${error.message}\n`);
    if (status === 0) continue;
    result = status === cannotRun ? 'could not run' : 'failed';
    break;
  }
  return { result, seconds: Math.round((performance.now() - start) / 1000) };
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !tiers.some((tier) => tier.name === name));
if (unknown.length > 0) {
  process.stderr.write(`There is no tier ${unknown.join(', ')}; there are ${tiers.map(({ name }) => name).join(', ')}.\n`);
  process.exit(2);
}
const chosen = tiers.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const outcomes = chosen.map((tier) => ({ tier, ...runTier(tier) }));
process.stdout.write('\n');
for (const { tier, result, seconds } of outcomes) process.stdout.write(`${tier.name.padEnd(8)} ${result} (${seconds} s)\n`);
process.stdout.write(`${outcomes.filter(({ result }) => result === 'passed').length} passed, ${outcomes.filter(({ result }) => result === 'failed').length} failed\n`);
process.exitCode = outcomes.some(({ result }) => result === 'failed') ? 1 : 0;
