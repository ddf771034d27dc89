/** An item in the queue; `settle` reports its outcome. */
export interface Waiting<T> {
  readonly item: T;
  readonly settle: (error?: unknown) => void;
}

/** The maximum size of a group. Small enough that the items can be tried one by one if the group fails. */
const mostTogether = 128;

/** The maximum time to wait for more items, in milliseconds. */
const longestGathering = 2;

/**
 * Runs one group of items at a time. Items that arrive while a group is running form the next group. `carryOut`
 * receives a group, settles its items, and returns those that it leaves for a later group.
 */
export class ChangeQueue<T> {
  readonly #waiting: Waiting<T>[] = [];
  readonly #carryOut: (group: readonly Waiting<T>[]) => Promise<readonly Waiting<T>[]>;
  #running: Promise<void> | undefined;

  constructor(carryOut: (group: readonly Waiting<T>[]) => Promise<readonly Waiting<T>[]>) {
    this.#carryOut = carryOut;
  }

  /** Resolves when the item has been carried out, rejects with the error otherwise. */
  enter(item: T): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, settle: (error) => (error === undefined ? resolve() : reject(error)) });
    this.#running ??= this.#run();
    return promise;
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Items that arrive in the same turn of the event loop belong to one group.
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
      // A single client that sends one change after the other is not delayed.
      if (group.length > 1 || this.#waiting.length > 0)
        await this.#gather(group.length, (performance.now() - begun) / 4);
    }
    this.#running = undefined;
  }

  /**
   * Waits until as many items have arrived as were just answered, or until the time is up: clients often send their
   * next change right after a response. Without this pause, clients split into two alternating half-size groups. The
   * pause is a few turns of the event loop, because the millisecond of a timer is longer than most changes.
   */
  async #gather(answered: number, longest: number): Promise<void> {
    const end = performance.now() + Math.min(longest, longestGathering);
    const enough = this.#waiting.length + answered;
    while (this.#waiting.length < enough && performance.now() < end)
      await new Promise((resolve) => setImmediate(resolve));
  }
}
