import { isObject, type JsonObject } from '../../lib/json.ts';
import { messageOf } from '../../lib/text.ts';
import type { JobStore } from '../configuration/configuration-store.ts';
import type { EventBus } from '../declare/events.ts';
import type { Job, JobState, JobStep } from '../declare/job.ts';
import type { Problem } from '../declare/problem.ts';
import type { JobRun } from '../declare/step.ts';
import { LiveJob } from './job-run.ts';

/** Maximum output of a program that a job keeps, in bytes for each stream. */
export const keptOutput = 64 * 1024;

export type { Job, JobState, JobStore };

/** What a job does. */
export interface JobBody {
  readonly title: string;
  readonly subject: string;
  /** The id of the request that starts it; not set for what the daemon starts. */
  readonly request?: string;
  /** The principal of the request, for a job that is the rest of a request. */
  readonly owner?: string;
  run(running: JobRun): Promise<JsonObject>;
  /** What the request would have been answered, once it has run. */
  answer?(): JsonObject | undefined;
}

/** Work that becomes a job if a client does not wait for its end. */
export interface Deferred {
  /** Settles when it ends, and never rejects. */
  readonly done: Promise<Job>;
  /** Lists it as a job, and returns the number. */
  becomeJob(): number;
}

/** Milliseconds for which the answer of a request that became a job is kept. */
const keptAnswer = 24 * 3_600_000;

/** How a job ended, without its output. */
export type EndedJob = Pick<Job, 'id' | 'title' | 'subject' | 'state' | 'error' | 'ended'>;

/** When a run that succeeded began and ended, in milliseconds since 1970. */
export interface SuccessfulRun {
  readonly began: number;
  readonly ended: number;
}

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
  readonly #running = new Map<number, { readonly live: LiveJob; readonly done: Promise<Job> }>();
  readonly #locks = new Map<string, Promise<void>>();
  /**
   * The newest ended job of each subject. In memory, because the store contains the jobs' output, which is slow to
   * read.
   */
  readonly #ended = new Map<string, EndedJob>();
  /** Milliseconds that the last successful run of each subject took, and its title. */
  readonly #durations = new Map<string, { readonly title: string; readonly lasted: number }>();
  /** The newest successful run of each subject, in milliseconds since 1970. */
  readonly #succeeded = new Map<string, SuccessfulRun>();
  /** Jobs whose current state could not be stored, in the order of their numbers. */
  readonly #unkept = new Map<number, Job>();
  readonly #couldNotKeep: (error: unknown) => void;
  /** The jobs that the daemon was ended in the middle of. */
  readonly #interrupted: number[] = [];
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
      if (job.state !== 'running') this.#note(job);
      else {
        const error = 'The daemon ended in the middle of it.';
        this.#keep({ ...job, state: 'interrupted', ended: this.#time(), error });
        this.#interrupted.push(job.id);
      }
    }
  }

  /**
   * The start has finished or taken back what was interrupted. `isKept` tells whether the store has what a request was
   * to change, and `unclean` has the requests of which something could not be taken back.
   */
  recovered(isKept: (request: string) => boolean, unclean: ReadonlySet<string>): void {
    for (const id of this.#interrupted.splice(0)) {
      const job = this.get(id);
      if (job === undefined) continue;
      if (job.owner !== '' && isKept(job.request))
        this.#keep({ ...job, state: 'finished', error: null, progress: 'The start of the daemon has finished it.' });
      else {
        const isClean = !unclean.has(job.request);
        const rest = isClean
          ? 'It is safe to send the request again.'
          : 'Not everything could be taken back: see the log.';
        this.#keep({ ...job, error: `${job.error ?? ''} ${rest}`.trim(), safeToRetry: isClean });
      }
    }
  }

  /** The last ended job of each subject among the recent jobs, the newest first. */
  get lastEnded(): readonly EndedJob[] {
    return [...this.#ended.values()].toSorted((a, b) => b.id - a.id);
  }

  /** The last successful run of each record that had one among the last thousand jobs or since the start. */
  get lastSuccessful(): ReadonlyMap<string, SuccessfulRun> {
    return this.#succeeded;
  }

  /** The jobs that have not ended. */
  get unended(): readonly Job[] {
    return [...this.#running.values()].map(({ live }) => live.job);
  }

  /**
   * The failed last runs of records. Clients that waited for a job have received its error; this is about scheduled and
   * background jobs.
   */
  get problems(): readonly Problem[] {
    const stalled = [...this.#running.values()].flatMap(({ live }): readonly Problem[] => {
      const { stalledSince: since, job } = live;
      if (since === undefined) return [];
      const { id, title, subject } = job;
      const message = `Nothing was heard of the job ${id} since ${new Date(since).toISOString()}: ${title}. Look at what it waits for, or abort it with POST /api/holdfast/v1/jobs/${id}/abort.`;
      return [
        { kind: 'stalled', about: subject || `job/${id}`, detail: String(id), severity: 'warning', message, since },
      ];
    });
    const ended = this.lastEnded
      .filter(({ state, subject }) => state === 'failed' && ofRecord.test(subject))
      .map(
        ({ id, title, subject, error, ended }): Problem => ({
          kind: 'job',
          about: subject,
          // Each failure is a problem of its own, also when the one before was dismissed.
          detail: String(id),
          severity: 'critical',
          message: `A job failed: ${title}. ${error ?? ''}`.trim(),
          ...(ended !== null && { since: Date.parse(ended) }),
        }),
      );
    return [...stalled, ...ended];
  }

  /** Jobs, the newest first; with `subject` only those of that subject. */
  list(limit: number, subject?: string): readonly Job[] {
    const kept = this.#store.jobs(limit, subject).filter(({ id }) => !this.#unkept.has(id));
    const unkept = [...this.#unkept.values()]
      .filter((job) => subject === undefined || job.subject === subject)
      .map((job) => this.active(job.id) ?? job);
    const jobs = kept.flatMap(({ id, body }) => this.active(id) ?? readJob(id, body) ?? []);
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
    return [...this.#running.values()].map(({ live }) => live.job).find((job) => job.subject === subject);
  }

  /** The job with this number, if it has not ended. */
  active(id: number): Job | undefined {
    return this.#running.get(id)?.live.job;
  }

  /** When a running job is expected to end, in milliseconds since 1970; undefined if nothing tells. */
  estimate({
    started,
    percent,
    subject,
    title,
  }: Pick<Job, 'started' | 'percent' | 'subject' | 'title'>): number | undefined {
    const begun = Date.parse(started);
    if (percent !== null && percent > 0) return begun + ((this.#now() - begun) * 100) / percent;
    const last = this.#durations.get(subject);
    // A run that takes longer than the last one tells nothing.
    return last?.title === title && begun + last.lasted > this.#now() ? begun + last.lasted : undefined;
  }

  /** Since when nothing was heard of a running job, in milliseconds since 1970, if that is long. */
  stalledSince(id: number): number | undefined {
    return this.#running.get(id)?.live.stalledSince;
  }

  /** Why a job cannot be aborted now; undefined if it can. */
  cannotAbort(id: number): string | undefined {
    const running = this.#running.get(id);
    return running === undefined ? 'It has ended.' : running.live.cannotAbort;
  }

  /** The answer to the request that became this job, for a day after its end. */
  answerOf({ id, ended }: Job): unknown {
    const isOld = ended !== null && Date.parse(ended) < this.#now() - keptAnswer;
    return isOld ? undefined : this.#store.jobAnswer(id);
  }

  /** Starts a job; `done` settles when it ends and never rejects. */
  start(body: JobBody): { readonly id: number; readonly done: Promise<Job> } {
    const { done, becomeJob } = this.defer(body);
    return { id: becomeJob(), done };
  }

  /** Begins work that is listed as a job only if `becomeJob` is called before it has ended. */
  defer(body: JobBody): Deferred {
    const begun: Job = {
      id: 0,
      title: body.title,
      subject: body.subject,
      state: 'running',
      started: this.#time(),
      ended: null,
      progress: '',
      result: null,
      error: null,
      request: body.request ?? '',
      owner: body.owner ?? '',
      steps: [],
      percent: null,
      safeToRetry: null,
    };
    const live = new LiveJob(begun, this.#now, (id, sentence) => this.#events.emit('job.progress', { id, sentence }));
    const done = this.#run(live, body);
    return { done, becomeJob: () => live.job.id || this.#list(live, done) };
  }

  #list(live: LiveJob, done: Promise<Job>): number {
    const { id: _, ...begun } = live.job;
    const id = this.#add(begun);
    this.#newest = id;
    this.#running.set(id, { live, done });
    this.#events.emit('job.started', { id, title: begun.title, subject: begun.subject });
    live.listed(id);
    return id;
  }

  /** Whether there was a running job to abort. */
  abort(id: number): boolean {
    const running = this.#running.get(id);
    running?.live.abort();
    return running !== undefined;
  }

  /** Aborts all running jobs and waits for their end. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const { live } of this.#running.values()) live.stop();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Runs `work` after all earlier work with at least one of these names has ended. */
  async locked<T>(names: readonly string[], work: () => Promise<T>, running?: JobRun): Promise<T> {
    const earlier = names.map((name) => this.#locks.get(name));
    const held = names.filter((name) => this.#locks.has(name));
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const mine = names.map((name) => [name, Promise.all([this.#locks.get(name), free]).then(() => {})] as const);
    for (const [name, lock] of mine) this.#locks.set(name, lock);
    try {
      if (held.length > 0) running?.waitsFor(held.map((name) => name.slice(name.indexOf(':') + 1)).join(', '));
      await Promise.all(earlier);
      if (held.length > 0) running?.waitsFor(undefined);
      return await work();
    } finally {
      release();
      for (const [name, lock] of mine) if (this.#locks.get(name) === lock) this.#locks.delete(name);
    }
  }

  async #run(live: LiveJob, body: JobBody): Promise<Job> {
    // One turn later, so that the caller has registered the job before it can end.
    await Promise.resolve();
    const { signal } = live;
    let end: Pick<Job, 'state' | 'result' | 'error'>;
    // A job that the end of the daemon aborts was not aborted by a user.
    const cut = () => (this.#closing ? 'interrupted' : 'aborted');
    try {
      const result = await body.run(live);
      // A request that was carried out has changed the machine, although it was to be aborted.
      end = { state: signal.aborted && body.answer === undefined ? cut() : 'finished', result, error: null };
    } catch (error) {
      const message = messageOf(error);
      end = {
        state: signal.aborted ? cut() : 'failed',
        result: error instanceof JobFailure ? error.result : null,
        error: message,
      };
    }
    const { job } = live;
    const safeToRetry = end.state === 'finished' ? null : (job.safeToRetry ?? true);
    const percent = end.state === 'finished' && job.percent !== null ? 100 : job.percent;
    const ended: Job = { ...job, ended: this.#time(), percent, safeToRetry, ...end };
    if (job.id === 0) return ended;
    this.#keep(ended);
    const answer = body.answer?.();
    if (answer !== undefined) this.#keepAnswer(job.id, answer);
    this.#running.delete(job.id);
    this.#events.emit('job.ended', { id: job.id, title: job.title, subject: job.subject, state: ended.state });
    return ended;
  }

  #keepAnswer(id: number, answer: JsonObject): void {
    try {
      this.#store.putJobAnswer(id, answer);
    } catch (error) {
      this.#couldNotKeep(error);
    }
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
    for (const job of this.#unkept.values()) this.#put(this.active(job.id) ?? job);
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

  #note({ id, title, subject, state, error, started, ended }: Job): void {
    if (state === 'finished' && ended !== null) {
      this.#durations.set(subject, { title, lasted: Date.parse(ended) - Date.parse(started) });
      // Of records only: there are not many of them, while other subjects would accumulate.
      if (ofRecord.test(subject))
        this.#succeeded.set(subject, { began: Date.parse(started), ended: Date.parse(ended) });
    }
    if ((this.#ended.get(subject)?.id ?? 0) <= id)
      this.#ended.set(subject, { id, title, subject, state, error, ended });
    for (const one of this.#ended.values()) {
      if (one.id > this.#newest - recentJobs) continue;
      this.#ended.delete(one.subject);
      this.#durations.delete(one.subject);
    }
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

/** A subject that is a record, such as `tasks/rsync/1`. */
const ofRecord = /^[a-z]+\/[a-z]+\/\d+$/;

const states: readonly JobState[] = ['running', 'finished', 'failed', 'aborted', 'interrupted'];

function readJob(id: number, text: string): Job | undefined {
  const body: unknown = JSON.parse(text);
  if (!isObject(body)) return undefined;
  const { result, error, ended, request, owner, steps, percent, safeToRetry } = body;
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
    // Jobs of earlier versions lack the rest.
    request: typeof request === 'string' ? request : '',
    owner: typeof owner === 'string' ? owner : '',
    steps: Array.isArray(steps) ? steps.filter(isStep) : [],
    percent: typeof percent === 'number' ? percent : null,
    safeToRetry: typeof safeToRetry === 'boolean' ? safeToRetry : null,
  };
}

function isStep(value: unknown): value is JobStep {
  return isObject(value) && typeof value['title'] === 'string' && typeof value['state'] === 'string';
}

/** An object from JSON.parse is a JSON object. */
function isJsonObject(parsed: unknown): parsed is JsonObject {
  return isObject(parsed);
}
