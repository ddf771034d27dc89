import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { Changes } from '../change/changes.ts';
import { atStart, type RequestContext } from '../change/request.ts';
import type { ConfigurationStore } from '../configuration/configuration-store.ts';
import { Forbidden } from '../declare/access.ts';
import { asFault, refused } from '../declare/errors.ts';
import type { Log } from '../declare/log.ts';
import type { Operations, Task, Work, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import { type Topic, type Touched, topicOf } from '../facts/facts.ts';
import type { Passwords } from '../passwords.ts';
import { OpenPlan } from '../plan/journal.ts';
import type { Done, StepRunner } from '../plan/runner.ts';
import type { Jobs } from './jobs.ts';
import type { Renewal } from './renewal.ts';

interface WorkshopParts {
  readonly host: Host;
  readonly store: ConfigurationStore;
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
      hashPassword: (password) => passwords.hash(password),
      verifyPassword: (password, against) => passwords.verify(password, against),
      change: (title, make) => changes.change(title, inWork, make),
      work: (title, locks, run) => this.#work(title, locks, inWork, run),
      background: (task) => this.background(task),
      ask: (title, question) => this.#ask(title, question, context),
      perform: (step) => this.#perform(step, context),
      exchange: (title, wanted) => changes.exchange(title, context, wanted),
    };
    return context.access?.confine === undefined ? operations : confined(operations);
  }

  background(task: Task): void {
    const { jobs, host, log } = this.#parts;
    const earlier = task.alone === true ? jobs.running(task.subject) : undefined;
    if (earlier !== undefined) throw refused(`Already running as job ${earlier.id}: ${earlier.title}.`);
    log.debug({}, `step: ${task.title}`);
    void jobs.start({ ...task, run: (context) => this.#runAndLook(task, context) }, host);
  }

  async #work<T>(
    title: string,
    locks: readonly string[],
    context: RequestContext,
    run: (work: Work) => Promise<T>,
  ): Promise<T> {
    const { jobs, host } = this.#parts;
    const result: { value?: { readonly it: T }; error?: unknown } = {};
    const task = {
      title,
      subject: locks[0] ?? '',
      run: ({ progress }: { progress(sentence: string): void }) =>
        jobs.locked(locks, async () => {
          try {
            result.value = { it: await this.#carryOut(title, context, progress, run) };
            return {};
          } catch (error) {
            result.error = error;
            throw error;
          }
        }),
    };
    await jobs.start(task, host).done;
    if (result.value === undefined) throw asFault(result.error ?? new Error(`the job ${title} ended without a result`));
    return result.value.it;
  }

  async #carryOut<T>(
    title: string,
    context: RequestContext,
    progress: (sentence: string) => void,
    run: (work: Work) => Promise<T>,
  ): Promise<T> {
    const { steps, changes, renew, ended } = this.#parts;
    const done: Done[] = [];
    const touched = new Set<Touched>();
    const plan = this.#planOf(title, context);
    const take = async (step: Step) => {
      for (const subject of step.touches) touched.add(subject);
      await steps.take(step, done, plan);
      await renew(new Set(step.touches));
    };
    this.#atWork += 1;
    try {
      const value = await run({
        step: take,
        steps: async (all) => {
          plan.expect(all);
          for (const step of all) await take(step);
        },
        ask: (question, answer) => this.#ask(question, answer, context),
        progress,
        change: (make) => changes.change(title, context, make, plan),
      });
      plan.end();
      return value;
    } catch (error) {
      await steps.takeBack(done);
      plan.end();
      await renew(touched);
      throw error;
    } finally {
      this.#atWork -= 1;
      for (const topic of new Set([...touched].map(topicOf))) ended(topic);
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

  async #perform(step: Step, context: RequestContext): Promise<void> {
    const { log, renew, steps } = this.#parts;
    const done: Done[] = [];
    const plan = this.#planOf(step.title, context);
    try {
      await steps.take(step, done, plan);
      plan.end();
      log.info(context, step.title);
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

  /** Reads the changed facts again before the job counts as ended. */
  async #runAndLook(task: Task, context: Parameters<Task['run']>[0]): ReturnType<Task['run']> {
    try {
      return await task.run(context);
    } finally {
      await this.#parts.renew(new Set(task.touches));
    }
  }
}

/** The operations of a principal that is confined to a dataset: changes, which are judged by their effect. */
function confined(operations: Operations): Operations {
  const forbidden = (title: string) => new Forbidden(`A key with a dataset may not ${title}.`);
  return {
    get world() {
      return operations.world;
    },
    now: operations.now,
    hashPassword: operations.hashPassword,
    verifyPassword: operations.verifyPassword,
    change: operations.change,
    ask: operations.ask,
    work: (title) => Promise.reject(forbidden(title)),
    perform: ({ title }) => Promise.reject(forbidden(title)),
    exchange: (title) => Promise.reject(forbidden(title)),
    background({ title }) {
      throw forbidden(title);
    },
  };
}
