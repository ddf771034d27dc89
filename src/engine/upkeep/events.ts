/** Every event there is, with its payload and when it fires. */
export interface Events {
  /** After a change was kept, once for each record in it. */
  'record.changed': {
    readonly resource: string;
    readonly id: number;
    readonly what: 'created' | 'updated' | 'removed';
    readonly request: string;
  };
  /** When a job begins. */
  'job.started': { readonly id: number; readonly title: string; readonly subject: string };
  /** When a job says how far it is. */
  'job.progress': { readonly id: number; readonly sentence: string };
  /** When a job ends, however it ends. */
  'job.ended': { readonly id: number; readonly title: string; readonly subject: string; readonly state: string };
  /** When the time of a task came and it was not started, as when the run before it has not ended. */
  'schedule.skipped': { readonly subject: string; readonly reason: string };
  /** When the machine could not be brought to what the configuration says; it is tried again. */
  'subsystem.degraded': { readonly subsystem: string; readonly reason: string };
  /** When a degraded subsystem is true again. */
  'subsystem.recovered': { readonly subsystem: string };
  /** When a change was kept that could have cut its caller off: it goes back at `until` unless it is confirmed. */
  'change.provisional': { readonly title: string; readonly request: string; readonly until: string };
  /** When a request through the changed way showed that it carries. */
  'change.confirmed': { readonly title: string; readonly request: string };
  /** When a change that nobody confirmed went back: at its time, or at the start after the daemon or the machine ended. */
  'change.reverted': { readonly title: string; readonly request: string; readonly reason: string };
  /** When something begins to be short, as the space behind an iSCSI extent. */
  'subsystem.warned': { readonly subsystem: string; readonly warning: string };
  /** When a login was refused. Of a flood from one address only some are events, each with how many there were since the last. */
  'login.refused': {
    readonly address: string;
    readonly account: string;
    readonly reason: string;
    readonly refused: number;
  };
  /** When something had to be taken back and could not be. Nothing tries again; a person must look. */
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

/** Passes events to whoever listens now. The last ones are remembered for listeners that were away for a moment. */
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

  /** Calls `listener` for every event from now on; answers how to stop. */
  listen(listener: (event: AnyEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is still remembered of the events after `number`. */
  since(number: number): readonly AnyEvent[] {
    return this.#recent.filter((event) => event.number > number);
  }
}
