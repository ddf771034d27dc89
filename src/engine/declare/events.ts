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

/** Passes events to the current listeners. Keeps the last events for listeners that reconnect. */
export class EventBus {
  readonly #listeners = new Set<(event: AnyEvent) => void>();
  readonly #recent: AnyEvent[] = [];
  readonly #now: () => number;
  #number = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  emit<N extends EventName>(name: N, payload: Events[N]): void;
  emit(name: EventName, payload: never): void {
    this.#number += 1;
    const event: AnyEvent = Object.freeze({
      number: this.#number,
      at: new Date(this.#now()).toISOString(),
      name,
      payload,
    });
    this.#recent.push(event);
    if (this.#recent.length > 1000) this.#recent.shift();
    for (const listener of this.#listeners) listener(event);
  }

  /** Calls `listener` for every event from now on; returns a function that removes it. */
  listen(listener: (event: AnyEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The kept events after `number`. */
  since(number: number): readonly AnyEvent[] {
    return this.#recent.filter((event) => event.number > number);
  }
}
