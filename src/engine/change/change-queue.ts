/** Something that waits for its turn; `settle` tells it how it went. */
export interface Waiting<T> {
  readonly item: T;
  readonly settle: (error?: unknown) => void;
}

/** The most that is taken together: a group has to stay small enough to be tried one by one when it fails. */
const mostTogether = 128;

/** Milliseconds. */
const longestGathering = 2;

/**
 * One after the other, and whatever waits meanwhile together. `carryOut` gets a group and answers what it leaves for
 * later; it settles everything else itself.
 */
export class ChangeQueue<T> {
  readonly #waiting: Waiting<T>[] = [];
  readonly #carryOut: (group: readonly Waiting<T>[]) => Promise<readonly Waiting<T>[]>;
  #running: Promise<void> | undefined;

  constructor(carryOut: (group: readonly Waiting<T>[]) => Promise<readonly Waiting<T>[]>) {
    this.#carryOut = carryOut;
  }

  /** Resolves when the item has been carried out, rejects with what kept it from being so. */
  enter(item: T): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, settle: (error) => (error === undefined ? resolve() : reject(error)) });
    this.#running ??= this.#run();
    return promise;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // What arrives in the same turn of the event loop belongs to one group.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const begun = performance.now();
      const group = this.#waiting.splice(0, mostTogether);
      try {
        this.#waiting.unshift(...(await this.#carryOut(group)));
      } catch (error) {
        // Without this, #running would never be cleared, and no later change would be carried out.
        for (const { settle } of group) settle(error);
      }
      // One who asks alone, again and again, is not kept waiting.
      if (group.length > 1 || this.#waiting.length > 0)
        await this.#gather(group.length, (performance.now() - begun) / 4);
    }
    this.#running = undefined;
  }

  /**
   * Whoever was just answered often has the next change at hand: until as many have come, or the time is up, they are
   * waited for. Else those who wait and those who were answered would take turns in groups of half the size. The wait is
   * a few turns of the event loop, for a timer's millisecond is longer than most changes.
   */
  async #gather(answered: number, longest: number): Promise<void> {
    const end = performance.now() + Math.min(longest, longestGathering);
    const enough = this.#waiting.length + answered;
    while (this.#waiting.length < enough && performance.now() < end)
      await new Promise((resolve) => setImmediate(resolve));
  }
}
