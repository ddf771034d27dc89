/** The tiers of tests with their files, what they need, and why a machine may be unable to run them. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Job } from './schedule.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const durationsFile = `${root}/test/durations.json`;

export type TierName = 'check' | 'code' | 'browser' | 'machine' | 'pc';

interface Tier {
  readonly name: TierName;
  /** What it proves. */
  readonly title: string;
  /** Pattern of its test files. */
  readonly files?: string;
}

export const tiers: readonly Tier[] = [
  { name: 'check', title: 'types, lint and format' },
  {
    name: 'code',
    title: 'renderers, engine, contract, conventions, crash and end to end on the virtual host',
    files: 'test/!(browser|lab|pc)/**/*.test.ts',
  },
  {
    name: 'browser',
    title: 'the console in Chromium, against the virtual host',
    files: 'test/browser/*.test.ts',
  },
  {
    name: 'machine',
    title: 'end to end on the test machine, with real daemons and real clients',
    files: 'test/lab/*.test.ts',
  },
  {
    name: 'pc',
    title: 'disks with serial numbers and SMART, and translated addresses, in a machine that QEMU emulates',
    files: 'test/pc/*.test.ts',
  },
];

/** The test files of a tier, relative to the project's folder. */
export function filesOf({ files }: Tier): readonly string[] {
  return files === undefined ? [] : globSync(files, { cwd: root }).toSorted();
}

/** Why this machine cannot run a tier; undefined when it can. */
export function obstacle(name: TierName): string | undefined {
  if (name === 'check' || name === 'code') return undefined;
  // The browser is unpacked by the first run.
  const program = name === 'browser' ? 'lab/browser' : 'lab/can-run';
  const { status, stdout, error } = spawnSync(`${root}/${program}`, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status === 0) return undefined;
  return error?.message ?? (stdout.trim() || `${program} ended with ${status}`);
}

/** Seconds that each file took when the durations were last recorded. */
export function recordedSeconds(): ReadonlyMap<string, number> {
  const recorded: unknown = JSON.parse(readFileSync(durationsFile, 'utf8'));
  if (typeof recorded !== 'object' || recorded === null)
    throw new Error(`${durationsFile} contains no durations; write it with bin/test --record.`);
  return new Map(Object.entries(recorded).map(([file, seconds]) => [file, Number(seconds)]));
}

/** The tier and the path of a file that is named relative to the working directory. */
export function findFile(word: string): { readonly tier: TierName; readonly file: string } | undefined {
  const file = relative(root, resolve(word));
  const tier = tiers.find((tier) => filesOf(tier).includes(file));
  return tier === undefined ? undefined : { tier: tier.name, file };
}

/** Seconds for a file without a recorded duration: an average, so that it runs neither first nor last. */
const unknownSeconds: Readonly<Record<TierName, number>> = { check: 10, code: 5, browser: 40, machine: 90, pc: 150 };

/**
 * Cores that a file keeps busy, as measured in whole runs. A test machine has one processor, which is idle more than half of
 * the time; other files wait a third of theirs, for processes, timers and disks. Seven files on machines at once end no
 * sooner than five: both cores are busy then, and each file computes longer.
 */
const loads: Readonly<Record<TierName, number>> = { check: 1, code: 0.65, browser: 0.65, machine: 0.45, pc: 1 };

/** The load of a file that measures how fast a page is shown, and so needs the machine for itself. */
const wholeMachine = 2;

const measuring = /^test\/browser\/budget\./;

/** Seconds after which a file is ended: three to four times the longest duration in its tier on busy cores. */
const limits: Readonly<Record<TierName, number>> = { check: 300, code: 600, browser: 300, machine: 2700, pc: 2700 };

const nodeTest = ['node', '--test-reporter=./scripts/test/reporter.ts', '--test-reporter-destination=stdout'] as const;

/** The program that runs test files without following every promise of them. */
const batchProgram = 'scripts/test/batch.ts';

/** Test files that wait for timers of daemons nearly all the time: they begin at once, beside what keeps the cores busy. */
const idle = /^test\/(crash\/(channels|webhooks|full-disk)|host\/linux\/replication)\./;

/** The jobs that a test file needs, by its tier. */
const needsOf: Readonly<Record<TierName, readonly string[]>> = {
  check: [],
  code: [],
  browser: [],
  machine: ['first start'],
  pc: ['first start', 'pc image'],
};

/** Test files on this machine itself, which need a program of Debian instead of the test machine. */
const scraped = /^test\/lab\/prometheus\./;

/** Test files that drive the test machine by a browser. */
const browsed = /^test\/lab\/console\./;

/**
 * Test files that start programs of the project as processes, by `test/support/programs.ts`. They use the bundle of them,
 * which starts in a fifth of the time.
 */
const startPrograms =
  /^test\/(crash\/|fuzz\/|docs\/fail2ban\.|e2e\/(error-codes|file|first-hour|follow|notices|pair|pair-join|plugins|strangers)\.)/;

/** Test files that run in a process of their own: they start processes, change their own, or keep both cores busy. */
const alone = /^test\/(cli|crash|fuzz|scripts|host\/linux\/(runner|replication|tree))\b/;

/** So do those that measure how long something computes: the collection of a batch's heap would count too. */
const timed = /^test\/(property\/hostile-database|store\/backup-file)\./;

/**
 * Recorded seconds of a file that runs in a batch, and of all files of one. A process takes a second of processor time to
 * load the sources and to compile what it calls often, and files of a batch share that. But the last batches of a run end
 * at different times, so they must not be too long.
 */
const batched = { file: 45, all: 75 } as const;

interface Preparation {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly needs: readonly string[];
  readonly seconds: number;
  /** Seconds after which it is ended. It may have to compile the kernel and its modules. */
  readonly limit: number;
}

const preparations: readonly Preparation[] = [
  { name: 'bundle', command: ['node', 'scripts/test/bundle.ts'], needs: [], seconds: 2, limit: 120 },
  { name: 'package', command: ['node', 'scripts/package.ts'], needs: [], seconds: 8, limit: 300 },
  { name: 'image', command: ['lab/build'], needs: [], seconds: 100, limit: 2700 },
  { name: 'layer', command: ['lab/layer'], needs: ['package', 'image'], seconds: 4, limit: 300 },
  {
    name: 'first start',
    command: ['lab/enclosed', 'node', 'scripts/first-start.ts'],
    needs: ['layer'],
    seconds: 45,
    limit: 600,
  },
  { name: 'browser', command: ['lab/browser'], needs: [], seconds: 30, limit: 300 },
  { name: 'prometheus', command: ['lab/prometheus'], needs: [], seconds: 10, limit: 300 },
  { name: 'pc image', command: ['lab/build', 'pc'], needs: ['image'], seconds: 30, limit: 2700 },
];

const checks: readonly Preparation[] = [
  { name: 'types', command: ['tsc', '--noEmit'], needs: [], seconds: 10, limit: limits.check },
  {
    name: 'types of the console',
    command: ['tsc', '--noEmit', '-p', 'src/console'],
    needs: [],
    seconds: 5,
    limit: limits.check,
  },
  { name: 'lint and format', command: ['biome', 'check', '.'], needs: [], seconds: 5, limit: limits.check },
];

export interface Selection {
  readonly tiers: readonly TierName[];
  /** Further files, from tiers that are not selected as a whole. */
  readonly files: readonly { readonly tier: TierName; readonly file: string }[];
}

/** Every job of the selection, and the jobs that they need. `scratch` is the folder of the run. */
export function jobsOf(selection: Selection, scratch: string): readonly Job[] {
  const durations = recordedSeconds();
  const chosen = [
    ...tiers
      .filter(({ name }) => selection.tiers.includes(name))
      .flatMap((tier) => filesOf(tier).map((file) => ({ tier: tier.name, file }))),
    ...selection.files.filter(({ tier }) => !selection.tiers.includes(tier)),
  ];
  const tests = chosen.map(({ tier, file }): Job => {
    const isEnclosed = tier === 'machine' || tier === 'pc';
    const isBundled = startPrograms.test(file);
    return {
      name: file,
      tier,
      command: isEnclosed ? ['lab/enclosed', ...nodeTest, file] : [...nodeTest, batchProgram, file],
      // An enclosed file has its own /tmp; the others write thousands of small files, which should be in memory.
      environment: isEnclosed
        ? {}
        : { TMPDIR: scratch, HOLDFAST_TEST_RUN: scratch, ...(isBundled && { HOLDFAST_TEST_BUNDLE: 'yes' }) },
      needs: scraped.test(file)
        ? ['prometheus']
        : isBundled
          ? ['bundle']
          : [...needsOf[tier], ...(browsed.test(file) ? ['browser'] : [])],
      load: loadOf(tier, file),
      seconds: durations.get(file) ?? unknownSeconds[tier],
      limit: limits[tier],
      isTest: true,
    };
  });
  const isWhole = selection.tiers.includes('code');
  const isAlone = ({ name }: Job) => alone.test(name) || timed.test(name);
  const small = (job: Job) => isWhole && job.tier === 'code' && job.seconds <= batched.file && !isAlone(job);
  const plain =
    (tier: string) =>
    (preparation: Preparation): Job => ({ ...preparation, tier, environment: {}, load: 1, isTest: false });
  const needed = new Set(tests.flatMap(({ needs }) => needs));
  // In reverse order, so that indirect needs are found.
  for (const { name, needs } of preparations.toReversed())
    if (needed.has(name)) for (const need of needs) needed.add(need);
  return [
    ...(selection.tiers.includes('check') ? checks.map(plain('check')) : []),
    ...preparations.filter(({ name }) => needed.has(name)).map(plain('prepare')),
    ...tests.filter((job) => !small(job)),
    ...batchesOf(tests.filter(small)),
  ];
}

function loadOf(tier: TierName, file: string): number {
  if (measuring.test(file)) return wholeMachine;
  if (idle.test(file)) return 0;
  return browsed.test(file) ? loads.browser + loads.machine : loads[tier];
}

/** Puts jobs of one file each into batches, in their order. */
function batchesOf(jobs: readonly Job[]): readonly Job[] {
  const batches: Job[][] = [];
  let seconds = Number.POSITIVE_INFINITY;
  for (const job of jobs) {
    if (seconds + job.seconds > batched.all) {
      batches.push([]);
      seconds = 0;
    }
    batches.at(-1)?.push(job);
    seconds += job.seconds;
  }
  return batches.flatMap((parts): readonly Job[] => {
    const [first] = parts;
    if (first === undefined) return [];
    const files = parts.map(({ name }) => name);
    return [
      {
        ...first,
        name: `${parts.length} files from ${first.name} on`,
        command: [...nodeTest, batchProgram, ...files],
        environment: Object.assign({}, ...parts.map(({ environment }) => environment)),
        needs: [...new Set(parts.flatMap(({ needs }) => needs))],
        seconds: parts.reduce((sum, job) => sum + job.seconds, 0),
        parts,
      },
    ];
  });
}
