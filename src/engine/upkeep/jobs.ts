import type { Host } from '../../host/ports/index.ts';
import { isObject, type JsonObject } from '../../lib/json.ts';
import { messageOf } from '../../lib/text.ts';
import type { JobStore } from '../configuration/configuration-store.ts';
import type { EventBus } from '../declare/events.ts';
import type { Job, JobState } from '../declare/job.ts';
import type { Problem } from '../declare/problem.ts';
import type { Task } from '../declare/resource.ts';

/** Maximum output of a program that a job keeps, in bytes for each stream. */
export const keptOutput = 64 * 1024;

export type { Job, JobState, JobStore };

/** How a job ended, without its output. */
export type EndedJob = Pick<Job, 'id' | 'title' | 'subject' | 'state' | 'error' | 'ended'>;

/** Number of the newest jobs among which the last run of a subject is searched. */
const recentJobs = 200;

/** Maximum number of jobs that are kept in memory because they could not be stored. */
const mostUnkept = 1000;

/** The failure of a job that has a result all the same, such as the output of a failed program. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  readonly result: JsonObject;

  constructor(message: string, result: JsonObject) {
    super(message);
    this.result = result;
  }
}

/**
 * Starts, reports, aborts and stores jobs.
 *
 * A job that cannot be stored, for example on a full disk, runs all the same: snapshots and mail are most important
 * when something is wrong. It gets the next number, is listed from memory, and is stored when that is possible again.
 */
export class Jobs {
  readonly #store: JobStore;
  readonly #events: EventBus;
  readonly #now: () => number;
  readonly #running = new Map<number, { job: Job; readonly abort: AbortController; readonly done: Promise<Job> }>();
  readonly #locks = new Map<string, Promise<void>>();
  /**
   * The newest ended job of each subject. In memory, because the store contains the jobs' output, which is slow to
   * read.
   */
  readonly #ended = new Map<string, EndedJob>();
  /** Jobs whose current state could not be stored, in the order of their numbers. */
  readonly #unkept = new Map<number, Job>();
  readonly #couldNotKeep: (error: unknown) => void;
  #newest = 0;
  #closing = false;

  constructor(store: JobStore, events: EventBus, now: () => number, couldNotKeep: (error: unknown) => void = () => {}) {
    this.#store = store;
    this.#events = events;
    this.#now = now;
    this.#couldNotKeep = couldNotKeep;
    // Jobs that were running when the daemon ended did not finish. They are reported as interrupted.
    for (const job of this.list(1000).toReversed()) {
      this.#newest = job.id;
      if (job.state === 'running') this.#keep({ ...job, state: 'interrupted', ended: this.#time() });
      else this.#note(job);
    }
  }

  /** The last ended job of each subject among the recent jobs, the newest first. */
  get lastEnded(): readonly EndedJob[] {
    return [...this.#ended.values()].toSorted((a, b) => b.id - a.id);
  }

  /**
   * The failed last runs of records. Clients that waited for a job have received its error; this is about scheduled and
   * background jobs.
   */
  get problems(): readonly Problem[] {
    return this.lastEnded
      .filter(({ state, subject }) => state === 'failed' && /^[a-z]+\/[a-z]+\/\d+$/.test(subject))
      .map(({ id, title, subject, error, ended }) => ({
        kind: 'job',
        about: subject,
        // Each failure is a problem of its own, also when the one before was dismissed.
        detail: String(id),
        severity: 'critical',
        message: `A job failed: ${title}. ${error ?? ''}`.trim(),
        ...(ended !== null && { since: Date.parse(ended) }),
      }));
  }

  /** Jobs, the newest first; with `subject` only those of that subject. */
  list(limit: number, subject?: string): readonly Job[] {
    const kept = this.#store.jobs(limit, subject).filter(({ id }) => !this.#unkept.has(id));
    const unkept = [...this.#unkept.values()]
      .filter((job) => subject === undefined || job.subject === subject)
      .map((job) => this.#running.get(job.id)?.job ?? job);
    const jobs = kept.flatMap(({ id, body }) => this.#running.get(id)?.job ?? readJob(id, body) ?? []);
    return unkept.length === 0 ? jobs : [...unkept, ...jobs].toSorted((a, b) => b.id - a.id).slice(0, limit);
  }

  get(id: number): Job | undefined {
    return this.list(1000).find((job) => job.id === id);
  }

  /** The newest job of this subject, running or ended. */
  last(subject: string): Job | undefined {
    return this.list(1, subject)[0];
  }

  /** The job of this subject that has not ended. */
  running(subject: string): Job | undefined {
    return [...this.#running.values()].map(({ job }) => job).find((job) => job.subject === subject);
  }

  /** Starts a job; `done` settles when it ends and never rejects. */
  start(task: Task, host: Host): { readonly id: number; readonly done: Promise<Job> } {
    const begun = {
      title: task.title,
      subject: task.subject,
      state: 'running' as const,
      started: this.#time(),
      ended: null,
      progress: '',
      result: null,
      error: null,
    };
    const id = this.#add(begun);
    this.#newest = id;
    const abort = new AbortController();
    const done = this.#run({ ...begun, id }, task, host, abort.signal);
    this.#running.set(id, { job: { ...begun, id }, abort, done });
    this.#events.emit('job.started', { id, title: task.title, subject: task.subject });
    return { id, done };
  }

  /** Whether there was a running job to abort. */
  abort(id: number): boolean {
    const running = this.#running.get(id);
    running?.abort.abort(new Error('aborted by request'));
    return running !== undefined;
  }

  /** Aborts all running jobs and waits for their end. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const { abort } of this.#running.values()) abort.abort(new Error('the daemon is stopping'));
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Runs `work` after all earlier work with at least one of these names has ended. */
  async locked<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const earlier = names.map((name) => this.#locks.get(name));
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const mine = names.map((name) => [name, Promise.all([this.#locks.get(name), free]).then(() => {})] as const);
    for (const [name, lock] of mine) this.#locks.set(name, lock);
    try {
      await Promise.all(earlier);
      return await work();
    } finally {
      release();
      for (const [name, lock] of mine) if (this.#locks.get(name) === lock) this.#locks.delete(name);
    }
  }

  async #run(job: Job, task: Task, host: Host, signal: AbortSignal): Promise<Job> {
    // One turn later, so that the caller has registered the job before it can end.
    await Promise.resolve();
    let progress = '';
    const report = (sentence: string) => {
      progress = sentence;
      const running = this.#running.get(job.id);
      if (running) running.job = { ...running.job, progress };
      this.#events.emit('job.progress', { id: job.id, sentence });
    };
    let end: Pick<Job, 'state' | 'result' | 'error'>;
    // A job that the end of the daemon aborts was not aborted by a user.
    const cut = () => (this.#closing ? 'interrupted' : 'aborted');
    try {
      const result = await task.run({ host, signal, progress: report });
      end = { state: signal.aborted ? cut() : 'finished', result, error: null };
    } catch (error) {
      const message = messageOf(error);
      end = {
        state: signal.aborted ? cut() : 'failed',
        result: error instanceof JobFailure ? error.result : null,
        error: message,
      };
    }
    const ended: Job = { ...job, progress, ended: this.#time(), ...end };
    this.#keep(ended);
    this.#running.delete(job.id);
    this.#events.emit('job.ended', { id: job.id, title: job.title, subject: job.subject, state: ended.state });
    return ended;
  }

  /**
   * Stores a new job and returns its number. Earlier jobs are stored first, because the store continues from the last
   * number.
   */
  #add(begun: Omit<Job, 'id'>): number {
    try {
      this.#keepRest();
      return this.#store.addJob(begun.subject, JSON.stringify(begun));
    } catch (error) {
      const id = this.#newest + 1;
      this.#setAside({ ...begun, id }, error);
      return id;
    }
  }

  #keep(job: Job): void {
    try {
      this.#keepRest();
      this.#put(job);
    } catch (error) {
      this.#setAside(job, error);
    }
    this.#note(job);
  }

  /** Stores the jobs that could not be stored before. */
  #keepRest(): void {
    for (const job of this.#unkept.values()) this.#put(this.#running.get(job.id)?.job ?? job);
  }

  #put(job: Job): void {
    const { id, ...body } = job;
    this.#store.putJob(id, job.subject, JSON.stringify(body));
    this.#unkept.delete(id);
  }

  #setAside(job: Job, error: unknown): void {
    this.#unkept.set(job.id, job);
    // Memory is limited too: the oldest ended jobs are dropped first.
    const ended = [...this.#unkept.keys()].filter((id) => !this.#running.has(id));
    for (const id of ended.slice(0, Math.max(0, this.#unkept.size - mostUnkept))) this.#unkept.delete(id);
    this.#couldNotKeep(error);
  }

  #note({ id, title, subject, state, error, ended }: Job): void {
    if ((this.#ended.get(subject)?.id ?? 0) <= id)
      this.#ended.set(subject, { id, title, subject, state, error, ended });
    for (const one of this.#ended.values()) if (one.id <= this.#newest - recentJobs) this.#ended.delete(one.subject);
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

const states: readonly JobState[] = ['running', 'finished', 'failed', 'aborted', 'interrupted'];

function readJob(id: number, text: string): Job | undefined {
  const body: unknown = JSON.parse(text);
  if (!isObject(body)) return undefined;
  const { result, error, ended } = body;
  return {
    id,
    title: String(body['title']),
    subject: String(body['subject']),
    state: states.find((state) => state === body['state']) ?? 'interrupted',
    started: String(body['started']),
    ended: typeof ended === 'string' ? ended : null,
    progress: String(body['progress']),
    result: isJsonObject(result) ? result : null,
    error: typeof error === 'string' ? error : null,
  };
}

/** An object from JSON.parse is a JSON object. */
function isJsonObject(parsed: unknown): parsed is JsonObject {
  return isObject(parsed);
}
