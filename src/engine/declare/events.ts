import type { Severity } from './problem.ts';

/** All events, with their payload and when they are emitted. */
export interface Events {
  /** After a change was stored, once for each changed record. */
  'record.changed': {
    readonly resource: string;
    readonly id: number;
    readonly what: 'created' | 'updated' | 'removed';
    readonly request: string;
  };
  /** When a job begins. */
  'job.started': { readonly id: number; readonly title: string; readonly subject: string };
  /** When a job reports progress. */
  'job.progress': { readonly id: number; readonly sentence: string };
  /** When a job ends, in any state. */
  'job.ended': { readonly id: number; readonly title: string; readonly subject: string; readonly state: string };
  /** When a due task was not started, for example because its previous run has not ended. */
  'schedule.skipped': { readonly subject: string; readonly reason: string };
  /** When the configuration of a subsystem could not be applied to the machine; it is retried. */
  'subsystem.degraded': { readonly subsystem: string; readonly reason: string };
  /** When the configuration of a degraded subsystem was applied. */
  'subsystem.recovered': { readonly subsystem: string };
  /** When the configuration was applied to a subsystem that had been changed outside of Holdfast. */
  'drift.healed': {
    readonly subsystem: string;
    readonly actions: readonly string[];
    /** Where replaced files are kept. */
    readonly kept: readonly string[];
  };
  /** When a service ended that has to run, and Holdfast did not end it. It is started again unless it may end by itself. */
  'service.ended': { readonly subsystem: string; readonly service: string };
  /** When a change was stored that must be confirmed: it is reverted at `until` otherwise. */
  'change.provisional': { readonly title: string; readonly request: string; readonly until: string };
  /** When a request confirmed such a change. */
  'change.confirmed': { readonly title: string; readonly request: string };
  /** When an unconfirmed change was reverted: at its time, or at the next start of the daemon. */
  'change.reverted': { readonly title: string; readonly request: string; readonly reason: string };
  /** When a problem began; GET /api/holdfast/v1/problems lists the current ones. */
  'problem.began': {
    readonly id: string;
    readonly kind: string;
    readonly about: string;
    readonly severity: Severity;
    readonly message: string;
  };
  /** When a problem ended. */
  'problem.ended': { readonly id: string; readonly kind: string; readonly about: string };
  /** When a login was refused. Many from one address are combined: `refused` counts those since the last event. */
  'login.refused': {
    readonly address: string;
    readonly account: string;
    readonly reason: string;
    readonly refused: number;
  };
  /** When a step could not be undone. It is not retried and requires manual repair. */
  'undo.failed': { readonly title: string; readonly reason: string };
}

export type EventName = keyof Events;

export type AnyEvent = {
  readonly [N in EventName]: {
    readonly number: number;
    readonly at: string;
    readonly name: N;
    readonly payload: Events[N];
  };
}[EventName];

/** An event as the journal has it. */
export interface KeptEvent {
  readonly number: number;
  readonly at: string;
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Where events are kept. Their numbers continue after a restart. */
export interface EventStore {
  /** Stores them, unless the disk cannot be written: then followers get events that the next start has forgotten. */
  addEvents(events: readonly KeptEvent[]): void;
  /** The events with a higher number, the oldest first. */
  eventsAfter(number: number, limit: number): readonly KeptEvent[];
  /** What a job has reported after this number, the oldest first. */
  progressAfter(job: number, number: number, limit: number): readonly KeptEvent[];
  /** The highest number that was ever given. */
  newestEvent(): number;
}

/** Which events a client wants. */
export interface EventFilter {
  /** A name of events, or its beginning before a dot; all without it. */
  readonly kind: string | undefined;
  /** A resource or record; also what is below it. */
  readonly resource: string | undefined;
}

export function isWanted({ name, payload }: KeptEvent, { kind = '', resource = '' }: EventFilter): boolean {
  if (kind !== '' && name !== kind && !name.startsWith(`${kind}.`)) return false;
  if (resource === '') return true;
  const { resource: changed, id, about, subject } = payload;
  const subjects = [typeof changed === 'string' ? `${changed}/${String(id)}` : undefined, about, subject];
  return subjects.some((one) => one === resource || (typeof one === 'string' && one.startsWith(`${resource}/`)));
}

/** How many of the last events are kept in memory. */
const mostRecent = 1000;
/** Milliseconds within which the events that belong to no change are stored, together. */
const gathering = 50;
/** How many events are read from the store at once. */
const page = 500;

/**
 * Passes events to the listeners in the daemon at once, and to followers outside of it once they are stored: what a
 * follower has seen is there after a crash too, with the same number. Events of changes are stored in the transaction of
 * the change, all others shortly afterwards, several at a time.
 */
export class EventBus {
  readonly #listeners = new Set<(event: AnyEvent) => void>();
  readonly #followers = new Set<(event: KeptEvent) => void>();
  readonly #recent: AnyEvent[] = [];
  readonly #now: () => number;
  readonly #store: EventStore | undefined;
  /** Events that no follower has, in their order. */
  #pending: { readonly event: AnyEvent; readonly isStored: boolean }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #number: number;
  readonly #ending = new AbortController();

  constructor(now: () => number, store?: EventStore) {
    this.#now = now;
    this.#store = store;
    this.#number = store?.newestEvent() ?? 0;
  }

  emit<N extends EventName>(name: N, payload: Events[N]): void;
  emit(name: EventName, payload: never): void {
    const event = this.#numbered(name, payload);
    this.#tell(event);
    this.#pending.push({ event, isStored: false });
    if (!this.hasEnded) this.#timer ??= setTimeout(() => this.flush(), gathering).unref();
  }

  /** Events of changed records, to be stored with the change and published right afterwards. */
  prepare(changed: readonly Events['record.changed'][]): readonly AnyEvent[] {
    return changed.map((payload) => {
      this.#number += 1;
      return Object.freeze({ number: this.#number, at: this.#time(), name: 'record.changed' as const, payload });
    });
  }

  /** Passes on prepared events that have been stored. */
  publish(events: readonly AnyEvent[]): void {
    for (const event of events) this.#tell(event);
    const hasEarlier = this.#pending.length > 0;
    this.#pending.push(...events.map((event) => ({ event, isStored: true })));
    // Earlier events that are not stored yet come first.
    if (!hasEarlier) this.#deliver();
  }

  /** Calls `listener` for every event from now on; returns a function that removes it. */
  listen(listener: (event: AnyEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The events after `number` that are in memory. */
  since(number: number): readonly AnyEvent[] {
    return this.#recent.filter((event) => event.number > number);
  }

  /** The stored events after `number`, the oldest first. */
  after(number: number, limit: number): readonly KeptEvent[] {
    this.flush();
    return this.#store?.eventsAfter(number, limit) ?? [];
  }

  /** What a job has reported after `number`, the oldest first. */
  progressAfter(job: number, number: number, limit: number): readonly KeptEvent[] {
    this.flush();
    return this.#store?.progressAfter(job, number, limit) ?? [];
  }

  /** Whether the daemon is ending. */
  get hasEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  /** The number of the last event. */
  get newest(): number {
    return this.#number;
  }

  /** Passes on the stored events after `number`, then each new one once it is stored; returns what ends that. */
  follow(number: number, follower: (event: KeptEvent) => void): () => void {
    let last = number;
    for (;;) {
      const found = this.after(last, page);
      for (const event of found) follower(event);
      if (found.length < page) break;
      last = found.at(-1)?.number ?? last;
    }
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Resolves when an event has been stored, the time is up, or the daemon ends. */
  async next(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { signal } = this.#ending;
    const follower = () => resolve();
    this.#followers.add(follower);
    const timer = setTimeout(resolve, signal.aborted ? 0 : milliseconds);
    signal.addEventListener('abort', follower);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', follower);
    this.#followers.delete(follower);
  }

  /** Stores what is not stored yet, and passes it on. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const open = this.#pending.filter(({ isStored }) => !isStored).map(({ event }) => event);
    if (open.length > 0) this.#store?.addEvents(open);
    this.#deliver();
  }

  /** Ends all waiting, and stores the rest. */
  end(): void {
    this.#ending.abort();
    this.flush();
  }

  #deliver(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { event } of pending) for (const follower of this.#followers) follower(event);
  }

  #numbered(name: EventName, payload: never): AnyEvent {
    this.#number += 1;
    return Object.freeze({ number: this.#number, at: this.#time(), name, payload });
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }

  #tell(event: AnyEvent): void {
    this.#recent.push(event);
    if (this.#recent.length > mostRecent) this.#recent.shift();
    for (const listener of this.#listeners) listener(event);
  }
}
