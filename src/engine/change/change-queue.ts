/** An item in the queue; `settle` reports its outcome. */
export interface Waiting<T, C> {
  readonly item: T;
  readonly settle: (error?: unknown) => void;
  /** Its claims while they meet those of an item that is running or before it. Then it need not be tried again. */
  held?: C | undefined;
  /** Set if its group failed: it is carried out without others. */
  isAlone?: boolean;
}

/** Items that are carried out together. */
export interface Group<T, C> {
  readonly items: readonly Waiting<T, C>[];
  readonly claims: C;
  /** Settles the items; resolves to those that are to be tried again. */
  run(): Promise<readonly Waiting<T, C>[]>;
}

export interface ChangeQueueParts<T, C> {
  /**
   * Forms a group of waiting items that may run beside the running ones. Settles items that are refused, and sets `held`
   * of those that have to wait. `rest` are the items that are neither settled nor in the group, in their order.
   */
  form(
    waiting: readonly Waiting<T, C>[],
    running: readonly C[],
  ): { readonly group: Group<T, C> | undefined; readonly rest: readonly Waiting<T, C>[] };
  mustWait(later: C, running: C): boolean;
}

/** The maximum time to wait for more items, in milliseconds. */
const longestGathering = 2;

/** Milliseconds after which items may be carried out beside a running group. Until then they wait, and form a group. */
const slowAfter = 20;

/**
 * Carries out items in groups, in their order. As long as groups are quick, one runs at a time, and the items that arrive
 * meanwhile form the next one. Beside a slow group, the items that share nothing with it are carried out.
 */
export class ChangeQueue<T, C> {
  readonly #parts: ChangeQueueParts<T, C>;
  #waiting: Waiting<T, C>[] = [];
  readonly #running = new Set<Group<T, C>>();
  #loop: Promise<void> | undefined;
  #wake = () => {};

  constructor(parts: ChangeQueueParts<T, C>) {
    this.#parts = parts;
  }

  /** Resolves when the item has been carried out, rejects with the error otherwise. */
  enter(item: T): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, settle: (error) => (error === undefined ? resolve() : reject(error)) });
    this.#loop ??= this.#run();
    this.#wake();
    return promise;
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  async #run(): Promise<void> {
    // Items that arrive in the same turn of the event loop belong to one group.
    await nextTurn();
    while (this.#waiting.length > 0 || this.#running.size > 0) {
      if (this.#waiting.every(({ held }) => held !== undefined)) {
        await this.#news();
        continue;
      }
      const begun = performance.now();
      const group = this.#form();
      if (group === undefined) continue;
      const isQuick = await this.#untilSlow(this.#carryOut(group));
      // A single client that sends one change after the other is not delayed.
      if (isQuick && (group.items.length > 1 || this.#waiting.length > 0))
        await this.#gather(group.items.length, (performance.now() - begun) / 4);
    }
    this.#loop = undefined;
  }

  #form(): Group<T, C> | undefined {
    const waiting = this.#waiting;
    try {
      const running = Array.from(this.#running, ({ claims }) => claims);
      const { group, rest } = this.#parts.form(waiting, running);
      this.#waiting = [...rest];
      return group;
    } catch (error) {
      // Without this, the same items would be tried for ever.
      this.#waiting = [];
      for (const { settle } of waiting) settle(error);
      return undefined;
    }
  }

  async #carryOut(group: Group<T, C>): Promise<void> {
    this.#running.add(group);
    try {
      const again = await group.run();
      this.#waiting.unshift(...again);
    } catch (error) {
      for (const { settle } of group.items) settle(error);
    }
    this.#running.delete(group);
    this.#release(group);
    this.#wake();
  }

  /** Lets items be tried again if one of them waited for this group. The others may have waited for that one. */
  #release({ claims }: Group<T, C>): void {
    const waited = this.#waiting.some(({ held }) => held !== undefined && this.#parts.mustWait(held, claims));
    if (waited || this.#running.size === 0) for (const one of this.#waiting) one.held = undefined;
  }

  /** Resolves when an item has arrived or a group has ended. */
  async #news(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await promise;
    this.#wake = () => {};
    await nextTurn();
  }

  /** Whether the group ended before it was slow. */
  async #untilSlow(done: Promise<void>): Promise<boolean> {
    const { promise: slow, resolve } = Promise.withResolvers<false>();
    const timer = setTimeout(() => resolve(false), slowAfter);
    const isQuick = await Promise.race([done.then(() => true as const), slow]);
    clearTimeout(timer);
    return isQuick;
  }

  /**
   * Waits until as many items have arrived as were just answered, or until the time is up: clients often send their
   * next change right after a response. Without this pause, clients split into two alternating half-size groups. The
   * pause is a few turns of the event loop, because the millisecond of a timer is longer than most changes.
   */
  async #gather(answered: number, longest: number): Promise<void> {
    const enough = this.#waiting.length + answered;
    // The answers are written in this turn, before clients can send anything.
    await nextTurn();
    const end = performance.now() + Math.min(longest, longestGathering);
    while (this.#waiting.length < enough && performance.now() < end) await nextTurn();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
