/** What pages show stays true: it is read again when an event says that it has changed. */
import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Event } from '../../../clients/typescript/src/index.ts';
import { client } from './client.ts';
import { contact, hasNewCertificate, onWake } from './contact.ts';
import { textIn } from './json.ts';
import { refusalOf } from './problem.ts';

/**
 * What a value depends on: `record:sharing/cifs` for records, `jobs`, `problems`, `revisions`, `machine` for what the
 * machine has, and `drift`.
 */
export type Topic = string;

export interface Shown<T> {
  readonly value: T | undefined;
  /** When it was read, in milliseconds since 1970. */
  readonly at: number;
  readonly refused: string | undefined;
}

const open = new Set<Live<unknown>>();

/** Since when values are shown that could not be read again, the oldest first, each with why. */
export const outdated = signal<readonly { readonly at: number; readonly why: string }[]>([]);

function noteOutdated(): void {
  outdated.value = [...open]
    .map((live) => live.state.peek())
    .flatMap(({ value, at, refused }) => (value === undefined || refused === undefined ? [] : [{ at, why: refused }]))
    .toSorted((a, b) => a.at - b.at);
}
/** Milliseconds in which events are gathered before something is read again. */
const gathering = 150;

export class Live<out T> {
  readonly topics: readonly Topic[];
  readonly #load: () => Promise<T>;
  readonly #state = signal<Shown<T>>({ value: undefined, at: 0, refused: undefined });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;

  constructor(topics: readonly Topic[], load: () => Promise<T>) {
    this.topics = topics;
    this.#load = load;
  }

  get state(): ReadonlySignal<Shown<T>> {
    return this.#state;
  }

  start(): void {
    open.add(this);
    void this.read();
  }

  stop(): void {
    open.delete(this);
    noteOutdated();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#turn += 1;
  }

  soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.read();
    }, gathering);
  }

  async read(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    try {
      const value = await this.#load();
      if (turn === this.#turn) this.#state.value = { value, at: Date.now(), refused: undefined };
    } catch (error) {
      if (turn === this.#turn) this.#state.value = { ...this.#state.value, refused: refusalOf(error).sentence };
    }
    noteOutdated();
  }
}

/** A value that is read while the component is there. Another `key` reads it again. */
export function useLive<T>(
  key: string,
  topics: readonly Topic[],
  load: () => Promise<T>,
): Shown<T> & { again(): void } {
  const live = useMemo(() => new Live(topics, load), [key]);
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, [live]);
  return { ...live.state.value, again: () => void live.read() };
}

/** Reads again whatever depends on one of these. */
export function touch(...topics: readonly Topic[]): void {
  for (const live of open) if (live.topics.some((one) => topics.some((topic) => one === topic))) live.soon();
}

/** Reads again all that is shown. */
export function touchAll(): void {
  for (const live of open) live.soon();
}

function topicsOf({ name, payload }: Event): readonly Topic[] {
  if (name === 'record.changed') return [`record:${textIn(payload['resource'])}`, 'revisions', 'machine'];
  if (name === 'job.progress') return ['jobs'];
  if (name.startsWith('job.')) return ['jobs', 'machine', 'revisions'];
  if (name.startsWith('problem.')) return ['problems', 'machine'];
  if (name.startsWith('change.')) return ['confirmation', 'revisions', 'machine'];
  return ['drift', 'machine'];
}

/** Follows the events until the signal is aborted. A refused stream ends it: the session has ended. */
export async function follow(stop: AbortSignal): Promise<void> {
  let wasLost = false;
  const ended = effect(() => {
    if (contact.value === 'lost') wasLost = true;
    else if (contact.value === 'connected' && wasLost) {
      wasLost = false;
      touchAll();
    }
  });
  const seen = () => document.visibilityState === 'visible' && touchAll();
  document.addEventListener('visibilitychange', seen);
  let connection = new AbortController();
  // After a sleep the connection may be gone without either side having noticed.
  const awake = onWake(() => {
    connection.abort();
    touchAll();
  });
  let after: number | undefined;
  try {
    while (!stop.aborted) {
      connection = new AbortController();
      const signal = AbortSignal.any([stop, connection.signal]);
      for await (const event of client.events({ signal, after })) {
        after = event.number;
        touch(...topicsOf(event));
        if (event.name === 'record.changed' && /certificate|^system\/settings$/.test(textIn(event.payload['resource'])))
          hasNewCertificate.value = true;
      }
    }
  } catch {
    // What is refused is reported where it was asked for.
  } finally {
    ended();
    awake();
    document.removeEventListener('visibilitychange', seen);
  }
}
