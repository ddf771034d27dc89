import { setImmediate as nextTurn } from 'node:timers/promises';
import { missing } from '../../engine/declare/errors.ts';
import { type EventBus, isWanted, type KeptEvent } from '../../engine/declare/events.ts';
import type { Log } from '../../engine/declare/log.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { DeadLetter, Progress, WebhookStore } from '../../engine/declare/webhooks.ts';
import type { Attempt, KeptPost, Retried, WebhookState, Webhooks } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { messageOfEvent, Outbox, type OutboxParts } from './outbox.ts';
import { problemsOf } from './problems.ts';
import { accepted, failed, progressFrom, waitOf } from './progress.ts';
import { type Webhook, webhook, webhookPath } from './webhook.ts';

export interface DeliveriesParts extends OutboxParts {
  readonly events: Pick<EventBus, 'after' | 'follow' | 'newest'>;
  readonly store: WebhookStore;
  readonly log: Log;
}

const hour = 3_600_000;
/** Events that are read from the journal at once. */
const page = 200;
/** Events that are not wanted are passed over in memory; a start reads at most so many of them again. */
const mostUnstored = 1000;
/** The longest sleep, because the clock may be set meanwhile. */
const longestSleep = 60_000;
/** A retry of dead letters ends after so many. */
const mostRetried = 1000;

/**
 * Posts the events of the journal to the webhooks. Each webhook has its place in the journal, which moves on when the
 * receiver has accepted an event or when the event is given up, and which is stored before the next event is sent. A
 * crash in between sends an event again, with the same `webhook-id`.
 */
export class Deliveries implements Webhooks {
  readonly #parts: DeliveriesParts;
  readonly #outbox: Outbox;
  readonly #progress = new Map<number, Progress>();
  /** The place of each webhook as it is stored. */
  readonly #stored = new Map<number, number>();
  /** Webhooks whose events are being sent, and those for which there may be more. */
  readonly #running = new Map<number, Promise<void>>();
  readonly #again = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #stop: (() => void) | undefined;

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    this.#outbox = new Outbox(parts);
  }

  /** Goes on where the last run of the daemon ended. */
  begin(): void {
    const { events, store, view } = this.#parts;
    if (this.#outbox.hasEnded) return;
    this.#tolerant(() => store.keepOnly(view().all(webhook)));
    this.#stop = events.follow(events.newest, (event) => this.#follow(event));
    this.#lookSoon();
  }

  async close(): Promise<void> {
    this.#outbox.end();
    this.#stop?.();
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    await Promise.all(this.#running.values());
    for (const [id, progress] of this.#progress) if (this.#stored.get(id) !== progress.cursor) this.#put(id, progress);
  }

  get kept(): readonly KeptPost[] | undefined {
    return this.#outbox.kept;
  }

  /** A webhook that fails for long stays enabled: the list of problems names it. */
  get problems(): readonly Problem[] {
    const { view, now } = this.#parts;
    return view()
      .all(webhook)
      .flatMap((record) => problemsOf(record, this.#stateOf(record), now()));
  }

  state(id: number): WebhookState | undefined {
    const record = this.#parts.view().get(webhook, id);
    return record && this.#stateOf(record);
  }

  async test(id: number): Promise<Attempt> {
    const now = this.#parts.now();
    const at = new Date(now).toISOString();
    const message = { id: `test_${now}`, type: 'webhook.test', at, data: { webhook: id } };
    const attempt = await this.#outbox.attempt(this.#record(id), message);
    if (attempt.accepted) this.#hurry(id);
    return attempt;
  }

  deadLetters(id: number): Iterable<DeadLetter> {
    return this.#parts.store.letters(id);
  }

  hasDeadLetter(id: number, number: number): boolean {
    return this.#parts.store.hasLetter(id, number);
  }

  async retry(id: number, number: number | undefined): Promise<Retried> {
    const { store } = this.#parts;
    const record = this.#record(id);
    let count = 0;
    let problem = '';
    for (const letter of store.letters(id)) {
      if (count === mostRetried) break;
      if (number !== undefined && letter.number !== number) continue;
      const attempt = await this.#outbox.attempt(record, messageOfEvent(letter));
      problem = attempt.problem;
      if (!attempt.accepted) break;
      store.removeLetters(id, letter.number);
      count += 1;
    }
    return { accepted: count, left: store.countLetters(id), problem };
  }

  forget(id: number): void {
    this.#parts.store.removeLetters(id);
    const progress = this.#progressOf(this.#record(id));
    if (progress.hasLost) this.#put(id, { ...progress, hasLost: false });
  }

  /** Tries again at once what failed. */
  #hurry(id: number): void {
    const record = this.#parts.view().get(webhook, id);
    if (record === undefined) return;
    const progress = this.#progressOf(record);
    if (progress.next > 0) this.#put(id, { ...progress, next: 0 });
    this.#lookSoon();
  }

  #record(id: number): Webhook {
    const record = this.#parts.view().get(webhook, id);
    if (record === undefined) throw missing(`There is no webhook ${id}; GET /api/holdfast/v1/webhooks lists them.`);
    return record;
  }

  #stateOf(record: Webhook): WebhookState {
    return { ...this.#progressOf(record), deadLetters: this.#parts.store.countLetters(record.id) };
  }

  #follow({ name, payload: { resource, id, what } }: KeptEvent): void {
    if (name === 'record.changed' && resource === webhookPath && what === 'updated' && typeof id === 'number')
      this.#hurry(id);
    else this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#outbox.hasEnded || this.#parts.view().all(webhook).length === 0) return;
    this.#soon ??= setImmediate(() => this.#look());
  }

  #look(): void {
    const { view, now } = this.#parts;
    this.#soon = undefined;
    clearTimeout(this.#timer);
    let sleep = longestSleep;
    for (const record of view().all(webhook)) {
      const wait = waitOf(this.#progressOf(record), now());
      if (!record.enabled) continue;
      if (this.#running.has(record.id)) this.#again.add(record.id);
      else if (wait > 0) sleep = Math.min(sleep, wait);
      else this.#running.set(record.id, this.#run(record));
    }
    this.#timer = setTimeout(() => this.#lookSoon(), sleep);
    this.#timer.unref();
  }

  async #run({ id, name }: Webhook): Promise<void> {
    try {
      await this.#deliver(id);
    } catch (error) {
      this.#parts.log.error({ webhook: name, error: messageOf(error) }, 'webhooks: events could not be posted');
    }
    this.#running.delete(id);
    // What came meanwhile, or the pause after a failure.
    if (this.#again.delete(id) || (this.#progress.get(id)?.next ?? 0) > 0) this.#lookSoon();
  }

  /** Posts the events of one webhook, until there is none or one is not accepted. */
  async #deliver(id: number): Promise<void> {
    const { view, now, log } = this.#parts;
    const current = () => {
      const record = view().get(webhook, id);
      return record?.enabled === true && !this.#outbox.hasEnded ? record : undefined;
    };
    for (let record = current(); record !== undefined; record = current()) {
      const event = await this.#nextOf(record);
      if (event === undefined) return;
      const { accepted: isAccepted, problem, wait } = await this.#outbox.attempt(record, messageOfEvent(event));
      // Removed meanwhile, or ended before the answer.
      if (view().get(webhook, id) === undefined || (this.#outbox.hasEnded && !isAccepted)) return;
      const progress = this.#progressOf(record);
      if (isAccepted) this.#put(id, accepted(progress, event.number));
      else {
        const later = failed(progress, { now: now(), problem, wait, jitter: Math.random() });
        log.debug({ webhook: record.name, event: event.number, error: problem }, 'webhooks: an event was not accepted');
        await this.#giveUp(record, later);
        return;
      }
    }
  }

  /** Moves what has waited for too long to the dead letters, if all attempts failed in that time. */
  async #giveUp(record: Webhook, progress: Progress): Promise<void> {
    const { now, log } = this.#parts;
    const until = now() - record.give_up_after * hour;
    this.#put(record.id, progress);
    if (progress.failing === null || progress.failing > until) return;
    for (;;) {
      const event = await this.#nextOf(record);
      if (event === undefined || Date.parse(event.at) > until) return;
      const { problem } = progress;
      const after = { ...this.#progressOf(record), cursor: event.number };
      this.#put(record.id, after, { ...event, givenUp: now(), problem });
      log.warn({ webhook: record.name, event: event.number, error: problem }, 'webhooks: an event was given up');
    }
  }

  /** The next event that the webhook wants. Those before it are passed over. */
  async #nextOf(record: Webhook): Promise<KeptEvent | undefined> {
    const { events, store } = this.#parts;
    const { id } = record;
    for (;;) {
      const progress = this.#progressOf(record);
      const found = events.after(progress.cursor, page);
      const isLost = found.length > 0 && (store.oldestEvent() ?? 0) > progress.cursor + 1;
      if (isLost && !progress.hasLost) this.#put(id, { ...progress, hasLost: true });
      const index = found.findIndex((event) => isWanted(event, record));
      const passed = index === -1 ? found.at(-1) : found[index - 1];
      if (passed !== undefined) this.#pass(record, passed.number);
      if (index !== -1 || found.length < page) return found[index];
      await nextTurn();
    }
  }

  #pass(record: Webhook, cursor: number): void {
    const progress = { ...this.#progressOf(record), cursor };
    this.#progress.set(record.id, progress);
    if (cursor - (this.#stored.get(record.id) ?? record.since) > mostUnstored) this.#put(record.id, progress);
  }

  #progressOf({ id, since }: Webhook): Progress {
    const known = this.#progress.get(id);
    if (known !== undefined) return known;
    const progress = this.#parts.store.progress(id) ?? progressFrom(since);
    this.#progress.set(id, progress);
    this.#stored.set(id, progress.cursor);
    return progress;
  }

  #put(id: number, progress: Progress, letter?: DeadLetter): void {
    this.#progress.set(id, progress);
    this.#tolerant(() => {
      this.#parts.store.putProgress(id, progress, letter);
      this.#stored.set(id, progress.cursor);
    });
  }

  /** On a disk that cannot be written, events are posted nevertheless: a restart posts them again. */
  #tolerant(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, 'webhooks: the progress could not be stored');
    }
  }
}
