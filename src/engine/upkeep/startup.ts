import { allEnded } from '../../lib/all.ts';
import { inSlices } from '../../lib/slices.ts';
import type { StartProgress } from '../declare/start-progress.ts';
import type { Topic } from '../facts/facts.ts';

/**
 * The phases of the start.
 * - `loading`: the state of the machine is read, and a fresh system gets its default records
 * - `configuring`: the configuration is applied to the machine
 * - `finishing`: the configuration is applied, but some pools are still being imported
 * - `done`: the start is complete
 */
export type StartPhase = 'loading' | 'configuring' | 'finishing' | 'done';

/**
 * Milliseconds for which the start lets a request go first, between two pieces of its work and in all: logins that never
 * end must not keep the machine from being configured.
 */
const longestRest = { each: 50, all: 500 } as const;

/** Milliseconds of work in pieces for which a request waits. */
const slice = 3;

interface StartupParts {
  readonly progressed?: (what: string) => void;
  /** Whether a request is being worked on that needs more turns of the event loop, such as a login. */
  readonly isAwaited?: () => boolean;
}

interface UnderWay {
  readonly what: string;
  readonly number: number;
  readonly of: number;
}

/**
 * Reports what the start is waiting for. `progressed` is called only when work begins, ends or takes a step: if a start
 * makes no more progress, the reports stop and the service manager can end it.
 */
export class Startup implements StartProgress {
  readonly #progressed: (what: string) => void;
  readonly #isAwaited: () => boolean;
  /** What pieces that begin at the same time wait for. */
  #rest: Promise<void> | undefined;
  #rested = 0;
  readonly #underWay = new Set<UnderWay>();
  readonly #seen = new Set<Topic>();
  #phase: StartPhase = 'loading';

  constructor({ progressed = () => {}, isAwaited = () => false }: StartupParts = {}) {
    this.#progressed = progressed;
    this.#isAwaited = isAwaited;
  }

  get phase(): StartPhase {
    return this.#phase;
  }

  /** Whether the configuration is not applied yet, so that changes are refused. */
  get holdsChanges(): boolean {
    return this.#phase === 'loading' || this.#phase === 'configuring';
  }

  /** The work that has been running for the longest time, such as `importing tank, 3 of 5`; empty after the start. */
  get what(): string {
    const [first] = this.#underWay;
    if (first === undefined) return this.#phase === 'done' ? '' : 'preparing';
    return first.of === 1 ? first.what : `${first.what}, ${first.number} of ${first.of}`;
  }

  enter(phase: StartPhase): void {
    this.#phase = phase;
    this.progress();
  }

  /** Reports progress within a piece of work. */
  progress(): void {
    this.#progressed(this.what);
  }

  /** Called when the facts of this topic were read. */
  saw(topic: Topic): void {
    this.#seen.add(topic);
    if (this.#phase !== 'done') this.progress();
  }

  hasSeen(topic: Topic): boolean {
    return this.#seen.has(topic);
  }

  /**
   * Lets what has arrived be answered before the start goes on. Records can be read from the first moment, so that a
   * client need not wait for the end of the start. Without this, the virtual host, which hardly waits for anything, keeps
   * the event loop busy until then.
   */
  #requestsFirst(): Promise<void> {
    this.#rest ??= this.#wait().finally(() => {
      this.#rest = undefined;
    });
    return this.#rest;
  }

  async #wait(): Promise<void> {
    const begun = performance.now();
    let passed = 0;
    do {
      await new Promise(setImmediate);
      passed = performance.now() - begun;
    } while (this.#isAwaited() && passed < longestRest.each && this.#rested + passed < longestRest.all);
    this.#rested += passed;
  }

  /** Runs `perform` and reports `what` meanwhile. */
  async during<T>(
    what: string,
    perform: () => Promise<T>,
    position: { readonly number: number; readonly of: number } = { number: 1, of: 1 },
  ): Promise<T> {
    const work = { what, ...position };
    this.#underWay.add(work);
    this.progress();
    try {
      await this.#requestsFirst();
      return await perform();
    } finally {
      this.#underWay.delete(work);
      this.progress();
    }
  }

  /** Runs a generator to its end. What arrives meanwhile is answered between its pieces. */
  async pieces(what: string, work: Generator<unknown, void>): Promise<void> {
    await this.during(what, () => inSlices(work, slice, () => this.#requestsFirst()));
  }

  async each<T>(
    doing: string,
    items: readonly T[],
    nameOf: (item: T) => string,
    perform: (item: T) => Promise<void>,
  ): Promise<void> {
    await allEnded(
      items.map((item, index) =>
        this.during(`${doing} ${nameOf(item)}`, () => perform(item), { number: index + 1, of: items.length }),
      ),
    );
  }
}

/** Whether `work` ends within so many milliseconds. Throws its error only if it fails within that time. */
export async function endsWithin(milliseconds: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
