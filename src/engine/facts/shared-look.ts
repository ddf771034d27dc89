/**
 * Coalesces looks at one part of the machine. At most one look is running and one is waiting; all callers in the
 * meantime share the waiting one, so a thousand events cost two looks instead of a thousand. A caller always gets a
 * look that began after its call, and therefore includes the caller's own changes.
 */
export class SharedLook<Scope> {
  readonly #look: (scope: Scope) => Promise<void>;
  readonly #merge: (a: Scope, b: Scope) => Scope;
  #running: Promise<void> | undefined;
  #waiting: Waiting<Scope> | undefined;

  constructor(look: (scope: Scope) => Promise<void>, merge: (a: Scope, b: Scope) => Scope) {
    this.#look = look;
    this.#merge = merge;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when a look that began after this call and covers `scope` has ended; rejects if that look failed. */
  ask(scope: Scope): Promise<void> {
    if (this.#waiting !== undefined) {
      this.#waiting.scope = this.#merge(this.#waiting.scope, scope);
      return this.#waiting.done;
    }
    if (this.#running === undefined) return this.#run(scope);
    const waiting: Waiting<Scope> = { scope, done: this.#running.then(none, none).then(() => this.#begin(waiting)) };
    this.#waiting = waiting;
    return waiting.done;
  }

  #begin(waiting: Waiting<Scope>): Promise<void> {
    this.#waiting = undefined;
    return this.#run(waiting.scope);
  }

  #run(scope: Scope): Promise<void> {
    const look = this.#look(scope);
    this.#running = look;
    const end = () => {
      if (this.#running === look) this.#running = undefined;
    };
    look.then(end, end);
    return look;
  }
}

interface Waiting<Scope> {
  scope: Scope;
  readonly done: Promise<void>;
}

const none = () => {};
