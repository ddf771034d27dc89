import type { Topic } from './facts.ts';

/**
 * How far the start has come. `loading`: the machine is looked at and a fresh system gets its first records.
 * `configuring`: the machine is brought to the configuration. `finishing`: it is, but for pools that are still being
 * imported. `done`: all of it.
 */
export type StartPhase = 'loading' | 'configuring' | 'finishing' | 'done';

/** What a resource reports of its part of the start. */
export interface StartProgress {
  /** Does this to all items at once, as `importing tank, 3 of 5`. Throws the first failure when all have ended. */
  each<T>(
    doing: string,
    items: readonly T[],
    nameOf: (item: T) => string,
    perform: (item: T) => Promise<void>,
  ): Promise<void>;
}

interface UnderWay {
  readonly what: string;
  readonly number: number;
  readonly of: number;
}

/**
 * What the start is waiting for, for the people and programs that wait for it. Each beginning and each end of a piece of
 * work is progress, and `progressed` is called for no other reason: a start in which nothing moves any more goes quiet, so
 * that the service manager can end it.
 */
export class Startup implements StartProgress {
  readonly #progressed: (what: string) => void;
  readonly #underWay = new Set<UnderWay>();
  readonly #seen = new Set<Topic>();
  #phase: StartPhase = 'loading';

  constructor(progressed: (what: string) => void = () => {}) {
    this.#progressed = progressed;
  }

  get phase(): StartPhase {
    return this.#phase;
  }

  /** Whether the machine is not yet brought to the configuration, so that nothing can be changed. */
  get holdsChanges(): boolean {
    return this.#phase === 'loading' || this.#phase === 'configuring';
  }

  /** What has been under way for the longest time, as `importing tank, 3 of 5`; empty when the start has ended. */
  get what(): string {
    const [first] = this.#underWay;
    if (first === undefined) return this.#phase === 'done' ? '' : 'preparing';
    return first.of === 1 ? first.what : `${first.what}, ${first.number} of ${first.of}`;
  }

  enter(phase: StartPhase): void {
    this.#phase = phase;
    this.progress();
  }

  /** Something moved, though nothing began or ended: a larger piece of work has taken one of its steps. */
  progress(): void {
    this.#progressed(this.what);
  }

  /** The facts of this topic were looked at. */
  saw(topic: Topic): void {
    this.#seen.add(topic);
    if (this.#phase !== 'done') this.progress();
  }

  hasSeen(topic: Topic): boolean {
    return this.#seen.has(topic);
  }

  /** Does this while `what` says so. */
  async during<T>(
    what: string,
    perform: () => Promise<T>,
    place: { readonly number: number; readonly of: number } = { number: 1, of: 1 },
  ): Promise<T> {
    const one = { what, ...place };
    this.#underWay.add(one);
    this.progress();
    try {
      return await perform();
    } finally {
      this.#underWay.delete(one);
      this.progress();
    }
  }

  async each<T>(
    doing: string,
    items: readonly T[],
    nameOf: (item: T) => string,
    perform: (item: T) => Promise<void>,
  ): Promise<void> {
    const outcomes = await Promise.allSettled(
      items.map((item, index) =>
        this.during(`${doing} ${nameOf(item)}`, () => perform(item), { number: index + 1, of: items.length }),
      ),
    );
    const failure = outcomes.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
  }
}

/** Whether it ended within so many milliseconds. What it throws is thrown here only when it does so in that time. */
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
