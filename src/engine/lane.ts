/** Something that waits for its turn; `settle` tells it how it went. */
export interface Waiting<T> {
  readonly item: T;
  readonly settle: (error?: unknown) => void;
}

/** The most that is taken together: a group has to stay small enough to be tried one by one when it fails. */
const mostTogether = 128;

/**
 * One after the other, and whatever waits meanwhile together. `carryOut` gets a group and answers what it leaves for
 * later; it settles everything else itself.
 */
export class Lane<T> {
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
      const group = this.#waiting.splice(0, mostTogether);
      this.#waiting.unshift(...(await this.#carryOut(group)));
    }
    this.#running = undefined;
  }
}
