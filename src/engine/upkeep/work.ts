import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { Changes } from '../change/changes.ts';
import { atStart, type RequestContext } from '../change/request.ts';
import type { ConfigurationStore } from '../configuration/configuration-store.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import { asFault, refused, unavailable } from '../declare/errors.ts';
import type { Log } from '../declare/log.ts';
import type { Attempt, Operations, Task, Work, World } from '../declare/resource.ts';
import type { JobRun, Step } from '../declare/step.ts';
import { inDoubt, type Topic, type Touched, topicOf } from '../facts/facts.ts';
import type { Passwords } from '../passwords.ts';
import { Overtaken, replay } from '../plan/batch.ts';
import { confined } from '../plan/confined.ts';
import { DryRun } from '../plan/dry-run.ts';
import { OpenPlan } from '../plan/journal.ts';
import type { Done, StepRunner } from '../plan/runner.ts';
import type { Jobs } from './jobs.ts';
import type { Renewal } from './renewal.ts';

interface WorkshopParts {
  readonly host: Host;
  readonly store: ConfigurationStore;
  readonly configuration: StoredConfiguration;
  readonly jobs: Jobs;
  readonly changes: Changes;
  readonly steps: StepRunner;
  readonly passwords: Passwords;
  readonly log: Log;
  readonly now: () => number;
  readonly world: () => World;
  readonly renew: Renewal;
  /** Called for each topic that a job has touched, when it has ended. */
  readonly ended: (topic: Topic) => void;
}

/** How often a transaction is planned again when other changes come in between. */
const mostTries = 10;

/** A job, while its steps are performed. */
interface Undertaking {
  readonly title: string;
  readonly context: RequestContext;
  readonly running: JobRun;
  /** Its entry in the journal. */
  readonly plan: OpenPlan;
  readonly touched: Set<Touched>;
}

/** What requests do on the machine beside changing records: jobs under locks, questions and single steps. */
export class Workshop {
  readonly #parts: WorkshopParts;
  #atWork = 0;

  constructor(parts: WorkshopParts) {
    this.#parts = parts;
  }

  /** Whether a job is running that writes the records of what it creates. */
  get isBusy(): boolean {
    return this.#atWork > 0;
  }

  operations(context: RequestContext): Operations {
    const { changes, now, passwords, world } = this.#parts;
    // Excluded: the records are only a part of the operation, and an automatic revert would revert only the records.
    const { confirmWithin: _, ...inWork } = context;
    const operations: Operations = {
      get world() {
        return world();
      },
      now,
      actor: context.actor,
      hashPassword: (password) => passwords.hash(password),
      verifyPassword: (password, against) => passwords.verify(password, against),
      change: (title, make) => changes.change(title, inWork, make),
      onlyChange: (title, make) => changes.change(title, context, make),
      work: (title, locks, run) => this.#work(title, locks, inWork, run),
      background: (task) => this.background(task, context),
      ask: (title, question) => this.#ask(title, question, context),
      perform: (step) => this.#perform(step, context),
      together: (title, run) => this.#together(title, context, run),
      exchange: (title, wanted) => changes.exchange(title, context, wanted),
    };
    return context.access?.confine === undefined ? operations : confined(operations);
  }

  /**
   * Carries out several requests as one change: each is planned on what those before it would leave, and what they would
   * do is submitted as a whole. It is planned again if another change came in between.
   */
  async #together<T>(title: string, context: RequestContext, run: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { jobs } = this.#parts;
    for (let tries = 1; tries <= mostTries; tries += 1) {
      // Those that were overtaken line up, so that they do not overtake one another again.
      const turn = tries === 1 ? [] : ['transaction'];
      const done = await jobs.locked(turn, () => this.#tryTogether(title, context, run));
      if (done !== undefined) return done.result;
    }
    throw unavailable('Other changes came in between again and again. Send the request again.');
  }

  /** Undefined if another change came in between. */
  async #tryTogether<T>(
    title: string,
    context: RequestContext,
    run: (attempt: Attempt) => Promise<T>,
  ): Promise<{ readonly result: T } | undefined> {
    const { changes, jobs } = this.#parts;
    const planned = await this.#planTogether(title, context, run);
    const { locks } = planned.batch;
    try {
      return await jobs.locked(locks, async () => {
        // What is locked may have changed before.
        const { batch, result } = locks.length === 0 ? planned : await this.#planTogether(title, context, run);
        if (batch.locks.some((lock) => !locks.includes(lock))) return undefined;
        const make = (draft: LayeredDraft) => replay(batch, draft);
        await this.#whileBusy(() => changes.submit({ title, context, isAlone: true, make }));
        return { result };
      });
    } catch (error) {
      if (error instanceof Overtaken) return undefined;
      throw error;
    }
  }

  async #planTogether<T>(title: string, context: RequestContext, run: (attempt: Attempt) => Promise<T>) {
    const dryRun = this.dryRun(context, { looks: false });
    const result = await dryRun.together(title, run);
    return { result, batch: dryRun.batch };
  }

  /** Begins the dry run of a request. Without `looks`, what subsystems would do is not asked for. */
  dryRun(context: RequestContext, { looks }: { readonly looks: boolean }): DryRun {
    const { changes, configuration } = this.#parts;
    return new DryRun({
      get configuration() {
        return configuration.current;
      },
      get freshConfiguration() {
        return configuration.fresh;
      },
      rehearsal: changes.rehearse(context, looks),
      operations: this.operations(context),
      access: context.access,
    });
  }

  /** Meanwhile the records of what is created are not made by what follows the facts. */
  async #whileBusy(work: () => Promise<void>): Promise<void> {
    this.#atWork += 1;
    try {
      await work();
    } finally {
      this.#atWork -= 1;
    }
  }

  /** Starts a task as a job. Refused if it must be alone and its previous run has not ended. */
  background(
    { title, subject, alone, locks = [], run }: Task,
    { actor, request }: RequestContext,
    plan = this.#planOf(title, { actor, request }),
  ): void {
    const { jobs } = this.#parts;
    const context = { actor, request };
    const earlier = alone === true ? jobs.running(subject) : undefined;
    if (earlier !== undefined)
      throw refused(`Already running as job ${earlier.id}: ${earlier.title}.`, {
        code: 'busy',
        holders: [{ kind: 'job', title: earlier.title, name: `jobs/${earlier.id}` }],
        help: { method: 'POST', path: `/api/holdfast/v1/jobs/${earlier.id}/abort` },
      });
    jobs.start({
      title,
      subject,
      request,
      run: (running) =>
        jobs.locked(locks, () => this.#carryOut({ title, context, running, plan, touched: new Set() }, run), running),
    });
  }

  async #work<T>(
    title: string,
    locks: readonly string[],
    context: RequestContext,
    run: (work: Work) => Promise<T>,
  ): Promise<T> {
    const { jobs, ended } = this.#parts;
    const touched = new Set<Touched>();
    const plan = this.#planOf(title, context);
    const result: { value?: { readonly it: T }; error?: unknown } = {};
    const carryOut = async (running: JobRun) => {
      this.#atWork += 1;
      try {
        result.value = { it: await this.#carryOut({ title, context, running, plan, touched }, run) };
        return {};
      } catch (error) {
        result.error = error;
        throw error;
      } finally {
        this.#atWork -= 1;
        for (const topic of new Set([...touched].map(topicOf))) ended(topic);
      }
    };
    const underLocks = (running: JobRun) => jobs.locked(locks, () => carryOut(running), running);
    const { request } = context;
    // A request that is a job itself needs no second one.
    if (context.job !== undefined) await underLocks(context.job).catch(() => {});
    else await jobs.start({ title, subject: locks[0] ?? '', request, run: underLocks }).done;
    if (result.value === undefined) throw asFault(result.error ?? new Error(`the job ${title} ended without a result`));
    return result.value.it;
  }

  /** Performs the steps of a job, and takes them back if it fails. Adds what they touch to `touched`. */
  async #carryOut<T>(
    { title, context, running, plan, touched }: Undertaking,
    run: (work: Work) => Promise<T>,
  ): Promise<T> {
    const { steps, changes, renew } = this.#parts;
    const done: Done[] = [];
    const missed = new Set<Touched>();
    const take = async <R>(step: Step<R>): Promise<R> => {
      for (const subject of step.touches) touched.add(subject);
      const end = running.begin(step);
      try {
        const answer = await steps.take(step, done, plan, running);
        end('done');
        await renew(new Set(step.touches));
        return answer;
      } catch (error) {
        end('failed');
        for (const subject of step.touches) missed.add(subject);
        throw error;
      }
    };
    try {
      const value = await run({
        signal: running.signal,
        progress: running.progress,
        step: take,
        steps: async (all) => {
          plan.expect(all);
          running.expect(all);
          for (const step of all) await take(step);
        },
        ask: (question, answer) => this.#ask(question, answer, context),
        change: (make) => changes.change(title, context, make, plan),
      });
      plan.end();
      if (missed.size > 0) await renew(inDoubt(missed));
      return value;
    } catch (error) {
      if (!(await steps.takeBack(done))) running.leavesSomething();
      plan.end();
      await renew(inDoubt(touched));
      throw error;
    }
  }

  async #ask<T>(title: string, question: (host: Host) => Promise<T>, context: RequestContext): Promise<T> {
    try {
      return await question(this.#parts.host);
    } catch (error) {
      this.#parts.log.debug({ ...context, error: messageOf(error) }, `failed: ${title}`);
      throw asFault(error);
    }
  }

  async #perform<R>(step: Step<R>, context: RequestContext): Promise<R> {
    const { log, renew, steps } = this.#parts;
    const done: Done[] = [];
    const plan = this.#planOf(step.title, context);
    try {
      const end = context.job?.begin(step);
      const answer = await steps.take(step, done, plan, context.job);
      end?.('done');
      plan.end();
      log.info(context, step.title);
      return answer;
    } catch (error) {
      await steps.takeBack(done);
      plan.end();
      log.warn({ ...context, error: messageOf(error) }, `step failed: ${step.title}`);
      throw asFault(error);
    } finally {
      await renew(new Set(step.touches));
    }
  }

  #planOf(title: string, { actor, request }: RequestContext): OpenPlan {
    return new OpenPlan(request === atStart.request ? undefined : this.#parts.store, { title, actor, request });
  }
}
