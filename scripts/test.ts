/**
 * Runs tests: all of them, some tiers, or some files. The files of all tiers run in parallel, because those on machines
 * mostly wait; what they need is prepared meanwhile.
 */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { passesOf } from './test/passed.ts';
import { type Outcome, runAgain, runAll } from './test/run.ts';
import type { Job } from './test/schedule.ts';
import {
  durationsFile,
  filesOf,
  findFile,
  jobsOf,
  obstacle,
  recordedSeconds,
  root,
  type Selection,
  type TierName,
  tiers,
} from './test/tiers.ts';

const usage = `bin/test [TIER…] [FILE…] [--record] [--minutes N] | --list

Runs every tier of tests that this machine can run, or only these tiers and files.
Tiers: ${tiers.map(({ name }) => name).join(', ')}.

  --list    show the test files of each tier, with the seconds that each took when that was last recorded
  --record  write the seconds that each file takes in this run to test/durations.json
  --minutes N
            end the run after N minutes: what has not ended by then has failed, except files on machines that passed
            within a day with the same inputs
`;

/** How many of the slowest files are listed. */
const slowest = 10;

/** Bytes of memory that each core's worth of jobs needs: two test machines with their disks. */
const memoryForLoad = 4 * 1024 ** 3;

/**
 * How many cores' worth of jobs run at once: slightly more than there are cores, because a job is not always busy, but
 * no more than the memory can hold.
 */
const room = Math.max(1, Math.min(availableParallelism() * 1.3, freemem() / memoryForLoad));

const print = (text: string) => void process.stdout.write(`${text}\n`);

interface Words {
  readonly selection: Selection;
  readonly list: boolean;
  readonly record: boolean;
  /** How long the run may take. */
  readonly minutes: number;
}

function readWords(): Words {
  const { values, positionals } = parseArgs({
    options: {
      list: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.help) {
    print(usage);
    process.exit(0);
  }
  const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
  if (!(minutes > 0)) throw new Error(`Expected a number of minutes above 0, got --minutes ${values.minutes}.`);
  const names = tiers.map(({ name }) => name).filter((name) => positionals.includes(name));
  const others = positionals.filter((word) => !tiers.some(({ name }) => name === word));
  const found = others.map((word) => ({ word, file: findFile(word) }));
  const unknown = found.filter(({ file }) => file === undefined).map(({ word }) => word);
  if (unknown.length > 0)
    throw new Error(
      `Expected tiers (${tiers.map(({ name }) => name).join(', ')}) or test files, got ${unknown.join(', ')}. bin/test --list shows the files.`,
    );
  const selected = positionals.length === 0 ? tiers.map(({ name }) => name) : names;
  return {
    selection: { tiers: selected, files: found.flatMap(({ file }) => file ?? []) },
    list: values.list,
    record: values.record,
    minutes,
  };
}

function listFiles(): void {
  const recorded = recordedSeconds();
  for (const tier of tiers) {
    print(`${tier.name}: ${tier.title}`);
    for (const file of filesOf(tier)) print(`${String(recorded.get(file) ?? '-').padStart(7)} s  ${file}`);
  }
}

/**
 * The selection without the tiers that this machine cannot run. Prints those with the reason before the first test
 * starts.
 */
function possible(selection: Selection): Selection {
  const concerned = new Set<TierName>([...selection.tiers, ...selection.files.map(({ tier }) => tier)]);
  const obstacles = new Map<TierName, string>();
  for (const name of concerned) {
    const reason = obstacle(name);
    if (reason !== undefined) obstacles.set(name, reason);
  }
  for (const [name, reason] of obstacles) print(`The tier ${name} cannot run on this machine: ${reason}.`);
  return {
    tiers: selection.tiers.filter((name) => !obstacles.has(name)),
    files: selection.files.filter(({ tier }) => !obstacles.has(tier)),
  };
}

/** A folder for this run: in memory where there is room, because the tests sync thousands of small files to it. */
function scratchFolder(): string {
  const needed = 2 * 1024 ** 3;
  const isRoomy = (folder: string) => {
    try {
      accessSync(folder, constants.W_OK);
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize > needed;
    } catch {
      return false;
    }
  };
  const folder = mkdtempSync(join(isRoomy('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-run-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function report({ job, seconds, statements, failure }: Outcome): void {
  const count = job.isTest ? `${statements.filter(({ passed }) => passed).length}/${statements.length} ` : '';
  print(`${failure === undefined ? '✔' : '✖'} ${job.tier.padEnd(7)} ${job.name} ${count}(${seconds.toFixed(1)} s)`);
  if (failure !== undefined) print(`\n${failure}\n`);
}

/**
 * Runs each file that failed once more, alone, the quickest first: the end of the run may come before the last of them. A
 * file that then passes is flaky: a defect, which the report counts and names.
 */
async function again(failed: readonly Outcome[], end: number): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  // A file may have failed late because it waited for what did not come.
  const expected = ({ job, seconds }: Outcome) => Math.min(seconds, job.seconds);
  for (const failure of failed.toSorted((a, b) => expected(a) - expected(b))) {
    const { job } = failure;
    if (performance.now() + expected(failure) * 1000 > end) {
      print(`── not run again, for want of time: ${job.name}`);
      continue;
    }
    print(`── running again, alone: ${job.name}`);
    const outcome = await runAgain(job, end);
    report(outcome);
    outcomes.push(outcome);
  }
  return outcomes;
}

/** Whether the files of a tier run on machines. They take much longer than all others. */
const isOnMachine = ({ tier, isTest }: Job) => isTest && (tier === 'machine' || tier === 'pc');

/**
 * The share of a limited run after which no file begins that passed before with the same inputs: the rest is for files
 * that failed, which run again.
 */
const repeatsFrom = 0.65;

/** What is quick runs first, then what takes long, and at the end what is known to pass. */
const rankOf = (job: Job, passedBefore: boolean) => (!isOnMachine(job) ? 0 : passedBefore ? 2 : 1);

function summarize(
  outcomes: readonly Outcome[],
  flaky: readonly string[],
  covered: readonly string[],
  seconds: number,
): void {
  const tests = outcomes.filter(({ job }) => job.isTest);
  print(`\nThe slowest files:`);
  for (const { job, seconds } of tests.toSorted((a, b) => b.seconds - a.seconds).slice(0, slowest))
    print(`${seconds.toFixed(1).padStart(7)} s  ${job.name}`);
  print('');
  for (const name of new Set(outcomes.map(({ job }) => job.tier))) {
    const own = outcomes.filter(({ job }) => job.tier === name);
    const total = own.reduce((sum, outcome) => sum + outcome.seconds, 0);
    const statements = own.flatMap((outcome) => outcome.statements);
    const failed = own.filter(({ failure }) => failure !== undefined).length;
    const what = own.some(({ job }) => job.isTest)
      ? `${own.length} files, ${statements.length} statements`
      : `${own.length} jobs`;
    print(
      `${name.padEnd(8)} ${failed === 0 ? 'passed' : `${failed} FAILED`}: ${what}, ${Math.round(total)} s in sequence`,
    );
  }
  print(`\nnot run, passed before with the same inputs: ${covered.length === 0 ? 'none' : covered.length}`);
  print(`flaky: ${flaky.length === 0 ? 'none' : flaky.join(', ')}`);
  print(
    `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s with up to ${room.toFixed(1)} cores' worth of jobs at once`,
  );
  const statements = outcomes.flatMap((outcome) => outcome.statements);
  const unreported = outcomes.filter(
    ({ failure, statements: own }) => failure !== undefined && own.every(({ passed }) => passed),
  ).length;
  print(
    `${statements.filter(({ passed }) => passed).length} passed, ${statements.filter(({ passed }) => !passed).length + unreported} failed`,
  );
}

function recordDurations(outcomes: readonly Outcome[]): void {
  const known = new Set(tiers.flatMap(filesOf));
  const all = new Map([
    ...recordedSeconds(),
    ...outcomes
      .filter(({ job }) => job.isTest)
      .map(({ job, seconds }) => [job.name, Math.round(seconds * 10) / 10] as const),
  ]);
  const sorted = [...all].filter(([file]) => known.has(file)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}

async function main(): Promise<number> {
  const { selection, list, record, minutes } = readWords();
  if (list) {
    listFiles();
    return 0;
  }
  const start = performance.now();
  const end = start + minutes * 60_000;
  process.chdir(root);
  const passes = passesOf();
  const before = (job: Job) => (isOnMachine(job) ? passes.when(job) : undefined);
  const jobs = jobsOf(possible(selection), scratchFolder()).map((job): Job => {
    const passedBefore = before(job) !== undefined;
    const latest = passedBefore ? start + (end - start) * repeatsFrom : undefined;
    return { ...job, rank: rankOf(job, passedBefore), ...(latest !== undefined && { latest }) };
  });
  if (jobs.length === 0) return 77;
  const ran = await runAll(
    jobs,
    room,
    (outcome) => {
      if (outcome.unfinished === true && before(outcome.job) !== undefined) return;
      report(outcome);
      if (outcome.failure === undefined && isOnMachine(outcome.job)) passes.note(outcome.job);
    },
    end,
  );
  const covered: string[] = [];
  const first = ran.map((outcome): Outcome => {
    const when = outcome.unfinished === true ? before(outcome.job) : undefined;
    if (when === undefined) return outcome;
    covered.push(outcome.job.name);
    print(`── no time for it, but it passed with the same inputs at ${when.toISOString()}: ${outcome.job.name}`);
    return { job: outcome.job, seconds: 0, statements: [], failure: undefined };
  });
  const failed = first.filter(({ failure }) => failure !== undefined);
  const second = await again(
    failed.filter(({ job, seconds }) => job.isTest && seconds > 0),
    end,
  );
  const outcomes = first.map((outcome) => second.find(({ job }) => job === outcome.job) ?? outcome);
  if (record) recordDurations(outcomes);
  const flaky = outcomes.filter((outcome) => outcome.second).map(({ job }) => job.name);
  summarize(outcomes, flaky, covered, (performance.now() - start) / 1000);
  return outcomes.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

// A reader such as head may stop reading.
process.stdout.on('error', () => process.exit());

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
