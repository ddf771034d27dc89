import { spawn } from 'node:child_process';
import { isObject } from '../../src/lib/json.ts';
import { mark, outside, type Statement, type SuiteEnd } from './reporter.ts';
import { type Job, next } from './schedule.ts';
import { root } from './tiers.ts';

/** The outcome of a job. */
export interface Outcome {
  readonly job: Job;
  readonly seconds: number;
  readonly statements: readonly Statement[];
  /** Why it failed; undefined when it passed. */
  readonly failure: string | undefined;
  /** Whether it failed because the time of the run was over. */
  readonly unfinished?: boolean;
  /** Whether it passed at its second try. */
  readonly second?: boolean;
}

/** How many characters from the end of a job's output a failure shows. */
const shownOutput = 20_000;

/**
 * Runs jobs in parallel until all have ended or can no longer run, and reports each as it ends, and each file of a
 * batch. A job fails when one that it needs has failed, and when it has not ended at `end` (in `performance.now()`). A
 * job that others need runs once more at once when it has failed: a mirror that did not answer for a moment would fail
 * them all.
 */
export async function runAll(
  jobs: readonly Job[],
  room: number,
  ended: (outcome: Outcome) => void,
  end = Number.POSITIVE_INFINITY,
): Promise<readonly Outcome[]> {
  const waiting = [...jobs];
  const running = new Map<Job, Promise<void>>();
  const done = new Set<string>();
  const outcomes: Outcome[] = [];
  const settle = (outcome: Outcome) => {
    outcomes.push(outcome);
    ended(outcome);
    if (outcome.failure === undefined) {
      done.add(outcome.job.name);
      return;
    }
    for (const follower of waiting.filter(({ needs }) => needs.includes(outcome.job.name))) {
      waiting.splice(waiting.indexOf(follower), 1);
      settle({ job: follower, seconds: 0, statements: [], failure: `${outcome.job.name}, which it needs, failed` });
    }
  };
  const runNeeded = async (job: Job): Promise<Outcome> => {
    const outcome = await runJob(job, end);
    const isNeeded = jobs.some(({ needs }) => needs.includes(job.name));
    if (outcome.failure === undefined || outcome.unfinished === true || !isNeeded) return outcome;
    ended(outcome);
    return runAgain(job, end);
  };
  const start = (job: Job) => {
    waiting.splice(waiting.indexOf(job), 1);
    const finished = (
      job.parts === undefined ? runNeeded(job).then((one) => [one]) : runBatch(job, job.parts, end)
    ).then((ended) => {
      running.delete(job);
      for (const outcome of ended) settle(outcome);
    });
    running.set(job, finished);
  };
  for (;;) {
    for (
      let job = next(waiting, [...running.keys()], done, room);
      job !== undefined;
      job = next(waiting, [...running.keys()], done, room)
    )
      start(job);
    if (running.size === 0) break;
    await Promise.race(running.values());
  }
  for (const job of waiting)
    settle({
      job,
      seconds: 0,
      statements: [],
      failure: `it needs ${job.needs.join(', ')}, but not all of these are part of the run`,
    });
  return outcomes;
}

/** How a process has ended. */
interface Ending {
  readonly seconds: number;
  readonly output: string;
  /** Undefined when it ended with 0. */
  readonly reason: string | undefined;
  /** Whether the time of the run was over before its end. */
  readonly unfinished: boolean;
}

/** Runs one job to its end. */
export async function runJob(job: Job, end = Number.POSITIVE_INFINITY): Promise<Outcome> {
  const { seconds, output, reason, unfinished } = await runProcess(job, end);
  const { statements, rest } = readOutput(output);
  // A statement that failed before the time was over is a failure of its own.
  const isLate = unfinished && statements.every(({ passed }) => passed);
  return { job, seconds, statements, failure: failureOf(job, statements, reason, rest), unfinished: isLate };
}

/** Runs a job that has failed once more. If it passes now, its outcome says that this was the second try. */
export async function runAgain(job: Job, end: number): Promise<Outcome> {
  const outcome = await runJob(job, end);
  return outcome.failure === undefined ? { ...outcome, second: true } : outcome;
}

/** Runs a batch to its end. A file that did not get to its end in it has failed. */
export async function runBatch(
  batch: Job,
  parts: readonly Job[],
  end = Number.POSITIVE_INFINITY,
): Promise<readonly Outcome[]> {
  const { seconds, output, reason } = await runProcess(batch, end);
  const { suites, statements: last, rest } = readSuites(output);
  const all = [...suites.flatMap(({ statements }) => statements), ...last];
  // An error outside of all tests belongs to no file, so it fails each of them. Alone, the others pass then.
  const errors = all.filter(({ name }) => name === outside);
  const isExplained = all.some(({ passed }) => !passed);
  return parts.map((job) => {
    const suite = suites.find(({ name }) => name === job.name);
    if (suite === undefined)
      return { job, seconds, statements: [], failure: failureOf(job, [], reason ?? 'It did not run.', rest) };
    const statements = [...suite.statements.filter(({ name }) => name !== outside), ...errors];
    return {
      job,
      seconds: suite.seconds,
      statements,
      failure: failureOf(job, statements, isExplained ? undefined : reason, rest),
    };
  });
}

function runProcess(job: Job, latest: number): Promise<Ending> {
  const start = performance.now();
  const left = (latest - start) / 1000;
  if (left <= 0 || start > (job.latest ?? latest))
    return Promise.resolve({
      seconds: 0,
      output: '',
      reason: 'The time of the run was over before.',
      unfinished: true,
    });
  const [program, ...argv] = job.command;
  // With NODE_TEST_CONTEXT set, `node --test` would report in its internal format for child processes.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  return new Promise((resolve) => {
    const child = spawn(program, argv, {
      cwd: root,
      env: { ...environment, ...job.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    let late = false;
    const collect = (piece: string) => {
      output += piece;
      // Preparations may take minutes, so their output is shown.
      if (!job.isTest) process.stdout.write(piece);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    // The whole process group: the file may have started programs.
    const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
    const timer = setTimeout(() => {
      late = true;
      end();
    }, Math.min(job.limit, left) * 1000);
    const interrupted = () => void end();
    process.once('exit', interrupted);
    const finish = (ending: string | undefined) => {
      clearTimeout(timer);
      process.removeListener('exit', interrupted);
      const reason = !late
        ? ending
        : left < job.limit
          ? `It had not ended after ${Math.round(left)} s, when the time of the run was over.`
          : `It did not end within ${job.limit} s.`;
      resolve({
        seconds: (performance.now() - start) / 1000,
        output,
        reason,
        unfinished: late && left < job.limit,
      });
    };
    child.on('error', (error) => finish(error.message));
    child.on('close', (status, signal) => finish(status === 0 ? undefined : `It ended with ${status ?? signal}.`));
  });
}

function failureOf(
  job: Job,
  statements: readonly Statement[],
  ending: string | undefined,
  output: string,
): string | undefined {
  const failed = statements.filter(({ passed }) => !passed).map(({ name, failure }) => `✖ ${name}\n  ${failure}`);
  const skipped = statements
    .filter((statement) => statement.skipped)
    .map(({ name }) => `✖ ${name}\n  The test was skipped. Skipped tests count as failures.`);
  const empty = job.isTest && ending === undefined && statements.length === 0 ? ['The file ran no test.'] : [];
  const problems = [...failed, ...skipped, ...empty];
  if (problems.length === 0 && ending === undefined) return undefined;
  // The output of a file explains an end before its reports. The output of a preparation has already been shown.
  const unexplained = problems.length === 0 ? [ending ?? '', job.isTest ? output.slice(-shownOutput).trim() : ''] : [];
  return [...problems, ...unexplained].filter((part) => part !== '').join('\n');
}

/** Separates the reports from the other output of a job. */
export function readOutput(output: string): { readonly statements: readonly Statement[]; readonly rest: string } {
  const { suites, statements, rest } = readSuites(output);
  return { statements: [...suites.flatMap((suite) => suite.statements), ...statements], rest };
}

interface Suite {
  readonly name: string;
  readonly seconds: number;
  readonly statements: readonly Statement[];
}

/** The outermost suites that have ended, each with the statements before its end, and the statements after the last. */
function readSuites(output: string): {
  readonly suites: readonly Suite[];
  readonly statements: readonly Statement[];
  readonly rest: string;
} {
  const [first = '', ...parts] = output.split(mark);
  const suites: Suite[] = [];
  let statements: Statement[] = [];
  const rest = parts.map((part) => {
    const end = part.indexOf('\n');
    const report = readReport(part.slice(0, end));
    if (report === undefined) return part;
    if ('passed' in report) statements.push(report);
    else {
      suites.push({ name: report.suite, seconds: report.seconds, statements });
      statements = [];
    }
    return part.slice(end + 1);
  });
  return { suites, statements, rest: first + rest.join('') };
}

function readReport(line: string): Statement | SuiteEnd | undefined {
  try {
    const report: unknown = JSON.parse(line);
    if (!isObject(report)) return undefined;
    const { name, suite, passed, skipped, seconds, failure } = report;
    if (typeof suite === 'string') return { suite, seconds: Number(seconds) };
    return {
      name: String(name),
      passed: passed === true,
      skipped: skipped === true,
      seconds: Number(seconds),
      failure: String(failure),
    };
  } catch {
    return undefined;
  }
}
