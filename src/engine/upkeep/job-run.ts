import { refused } from '../declare/errors.ts';
import type { Job, JobStep } from '../declare/job.ts';
import type { JobRun, Step } from '../declare/step.ts';

/** Milliseconds without a sign of life after which a job counts as stalled. */
export const stallsAfter = 15 * 60_000;

const mostEarly = 100;

/** A job that has not ended. It has the number 0 while it is not listed. */
export class LiveJob implements JobRun {
  /** What was said before it was listed. */
  readonly #early: string[] = [];
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;
  readonly #now: () => number;
  readonly #reported: (id: number, sentence: string) => void;
  #job: Job;
  #current: Step | undefined;
  #isAborted = false;
  #waitsFor: string | undefined;
  #lastSign: number;

  /** A value, because steps get it without its job. */
  readonly progress = (sentence: string, done?: number): void => {
    this.#job = { ...this.#job, progress: sentence, ...(done !== undefined && { percent: percentOf(done) }) };
    this.#heard(sentence);
  };

  constructor(begun: Job, now: () => number, reported: (id: number, sentence: string) => void) {
    this.#job = begun;
    this.#now = now;
    this.#reported = reported;
    this.#lastSign = now();
  }

  get job(): Job {
    return this.#job;
  }

  /** Why it cannot be aborted now; undefined if it can. */
  get cannotAbort(): string | undefined {
    if (this.#current === undefined || this.#current.aborts || !['act', 'own'].includes(this.#current.nature))
      return undefined;
    return `The step "${this.#current.title}" cannot be interrupted or taken back.`;
  }

  /** Since when nothing was heard of it, in milliseconds since 1970; undefined while that is not remarkable. */
  get stalledSince(): number | undefined {
    const isLong = this.#waitsFor === undefined && this.#now() - this.#lastSign > stallsAfter;
    return isLong ? this.#lastSign : undefined;
  }

  /** It has become a job, and reports what it has said before. */
  listed(id: number): void {
    this.#job = { ...this.#job, id };
    for (const sentence of this.#early.splice(0)) this.#reported(id, sentence);
  }

  expect(steps: readonly Step[]): void {
    const expected = steps.map(({ title }) => ({ title, state: 'waiting' as const, started: null, ended: null }));
    this.#setSteps([...this.#job.steps, ...expected]);
  }

  begin(step: Step): (state: 'done' | 'failed') => void {
    if (this.#isAborted) this.#abort.signal.throwIfAborted();
    this.#current = step;
    const known = this.#job.steps.findIndex(({ title, state }) => state === 'waiting' && title === step.title);
    const at = known === -1 ? this.#job.steps.length : known;
    const begun = { title: step.title, state: 'running' as const, started: this.#time(), ended: null };
    this.#setSteps(this.#job.steps.toSpliced(at, 1, begun));
    this.#heard(`Step: ${step.title}`);
    return (state) => {
      this.#current = undefined;
      this.#setSteps(this.#job.steps.with(at, { ...begun, state, ended: this.#time() }));
    };
  }

  waitsFor(what: string | undefined): void {
    this.#waitsFor = what;
    if (what !== undefined) this.progress(`Waits until other work on ${what} has ended.`);
    this.#lastSign = this.#now();
  }

  leavesSomething(): void {
    this.#job = { ...this.#job, safeToRetry: false };
  }

  /** A user aborts it. */
  abort(): void {
    this.#isAborted = true;
    this.#abort.abort(refused('aborted by request'));
  }

  /** The daemon stops. */
  stop(): void {
    this.#abort.abort(new Error('the daemon is stopping'));
  }

  /** Contexts of requests have it and are logged. */
  toJSON(): number {
    return this.#job.id;
  }

  #setSteps(steps: readonly JobStep[]): void {
    const done = steps.filter(({ state }) => state === 'done').length;
    const isPlanned = steps.some(({ state }) => state === 'waiting') || this.#job.percent !== null;
    this.#job = { ...this.#job, steps, ...(isPlanned && { percent: percentOf(done / steps.length) }) };
  }

  #heard(sentence: string): void {
    this.#lastSign = this.#now();
    if (this.#job.id !== 0) this.#reported(this.#job.id, sentence);
    else if (this.#early.length < mostEarly) this.#early.push(sentence);
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

const percentOf = (share: number): number => Math.floor(100 * Math.min(1, Math.max(0, share)));
