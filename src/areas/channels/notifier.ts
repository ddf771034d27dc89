import type { ChannelState, ChannelStore, SentAlert } from '../../engine/declare/channels.ts';
import { missing } from '../../engine/declare/errors.ts';
import type { EventBus } from '../../engine/declare/events.ts';
import type { Log } from '../../engine/declare/log.ts';
import type { CurrentProblem, Problem } from '../../engine/declare/problem.ts';
import { timeIn } from '../../engine/declare/schedule.ts';
import type { Attempt, Channels, KeptAlert } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { alertNote } from '../system/alert.ts';
import { failed, waitOf } from '../webhooks/progress.ts';
import type { Alert } from './alert.ts';
import { type Channel, channel, channelPath, receiverOf } from './channel.ts';
import { alertsDue } from './due.ts';
import { Sender, type SenderParts } from './sender.ts';

export interface NotifierParts extends SenderParts {
  readonly problems: () => readonly CurrentProblem[];
  readonly events: Pick<EventBus, 'listen'>;
  readonly store: ChannelStore;
  readonly log: Log;
  readonly zone: () => string;
  /** Name of the appliance. */
  readonly hostname: () => string;
  /** Milliseconds after the start before a problem that is not there counts as ended; two minutes by default. */
  readonly settles?: number;
}

/** The most milliseconds between two looks. */
const idle = 30_000;
/** Milliseconds from a cause of a look, which often comes with others, to the look. */
const soon = 100;
/** Milliseconds from the start to the first look. */
const firstLook = 1000;
/** Milliseconds of failures that are not yet a problem. */
const patience = 10 * 60_000;

const fresh: ChannelState = { attempts: 0, failing: null, next: 0, problem: '', sent: [] };

/**
 * Reports problems to the channels. What a channel was sent is stored after each message; what is due follows from that
 * and from the list of problems, so that a crash or a receiver that is away loses nothing that still matters.
 */
export class Notifier implements Channels {
  readonly #parts: NotifierParts;
  readonly #sender: Sender;
  readonly #states = new Map<number, ChannelState>();
  /** When a channel first had something to report that is not sent yet. */
  readonly #gathering = new Map<number, number>();
  readonly #running = new Map<number, Promise<void>>();
  #began = 0;
  #timer: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;
  #hasEnded = false;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#sender = new Sender(parts);
  }

  begin(): void {
    const { events, store, view, now } = this.#parts;
    if (this.#hasEnded) return;
    this.#tolerant(() => store.keepOnly(view().all(channel)));
    this.#began = now();
    this.#stop = events.listen((event) => {
      const isOurs = event.name === 'record.changed' && event.payload.resource === channelPath;
      if (isOurs && event.payload.what === 'updated') this.#hurry(event.payload.id);
      const isNote = event.name === 'record.changed' && event.payload.resource === alertNote.path;
      if (isOurs || isNote || event.name.startsWith('problem.')) this.#lookIn(soon);
    });
    this.#lookIn(firstLook);
  }

  async close(): Promise<void> {
    this.#hasEnded = true;
    this.#stop?.();
    clearTimeout(this.#timer);
    this.#sender.end();
    await Promise.all(this.#running.values());
  }

  get kept(): readonly KeptAlert[] | undefined {
    return this.#sender.kept;
  }

  get problems(): readonly Problem[] {
    const { view, now } = this.#parts;
    return view()
      .all(channel)
      .flatMap((record): readonly Problem[] => {
        const { failing, problem } = this.#stateOf(record.id);
        if (!record.enabled || failing === null || now() - failing < patience) return [];
        const message = `The channel ${record.name} cannot report alerts to ${receiverOf(record)}. ${problem} What lasts is reported once it can.`;
        const remedy = { method: 'POST', path: `/api/holdfast/v1/channels/${record.id}/test` } as const;
        const about = `${channelPath}/${record.id}`;
        return [{ kind: 'not accepted', about, severity: 'warning', since: failing, message, remedy }];
      });
  }

  state(id: number): ChannelState | undefined {
    return this.#parts.view().get(channel, id) && this.#stateOf(id);
  }

  async test(id: number): Promise<Attempt> {
    const { now, view } = this.#parts;
    const record = view().get(channel, id);
    if (record === undefined) throw missing(`There is no channel ${id}; GET /api/holdfast/v1/channels lists them.`);
    const at = now();
    const alert: Alert = {
      ...{ id: `test-${at}`, kind: 'test', about: `${channelPath}/${id}`, severity: 'info', since: at, state: 'began' },
      message: 'This is a test: alerts of this appliance arrive here.',
    };
    // A service that tracks alerts by their ids would keep it open.
    const end: Alert = { ...alert, state: 'ended', message: 'The test has ended.' };
    const tracked = record.kind === 'pagerduty' || record.kind === 'opsgenie';
    const attempt = await this.#sender.send(record, this.#bulletin(tracked ? [alert, end] : [alert]), () => {});
    if (attempt.accepted) this.#hurry(id);
    return attempt;
  }

  /** Reports what is due. */
  look(): void {
    const { view, problems } = this.#parts;
    clearTimeout(this.#timer);
    if (this.#hasEnded) return;
    const channels = view().all(channel);
    const current = channels.length === 0 ? [] : problems();
    const waits = channels.map((record) => this.#lookAt(record, current));
    this.#lookIn(Math.max(soon, Math.min(idle, ...waits)));
  }

  /** Resolves when what is being sent was sent. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #lookIn(milliseconds: number): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.look(), milliseconds);
    this.#timer.unref();
  }

  /** Reports what is due to a channel. Returns the milliseconds until something that is due may be sent. */
  #lookAt(record: Channel, current: readonly CurrentProblem[]): number {
    const { now, zone, settles = 120_000 } = this.#parts;
    const { id } = record;
    if (!record.enabled || this.#running.has(id)) return idle;
    const state = this.#forgotten(record, current);
    const due = alertsDue(record, current, new Map(state.sent.map((one) => [one.id, one])), {
      now: now(),
      time: timeIn(zone(), now()).slice(11, 16),
      isAcknowledged: (problem) => this.#isAcknowledged(problem),
      trustsEnds: now() - this.#began >= settles,
    });
    if (due.length === 0) {
      this.#gathering.delete(id);
      return idle;
    }
    const since = this.#gathering.get(id) ?? now();
    this.#gathering.set(id, since);
    const gathers = since + record.gather_seconds * 1000 - now();
    const wait = Math.max(gathers, waitOf({ ...state, cursor: 0, hasLost: false }, now()));
    if (wait > 0) return wait;
    this.#gathering.delete(id);
    this.#running.set(
      id,
      this.#report(record, due).finally(() => {
        this.#running.delete(id);
        // What began meanwhile is due, and so is what was not accepted.
        this.#lookIn(soon);
      }),
    );
    return idle;
  }

  async #report(record: Channel, due: readonly Alert[]): Promise<void> {
    const { now, log, view } = this.#parts;
    const { id } = record;
    const attempt = await this.#sender.send(record, this.#bulletin(due), (alerts) => this.#reported(id, alerts));
    if (view().get(channel, id) === undefined || (this.#hasEnded && !attempt.accepted)) return;
    const state = this.#stateOf(id);
    if (attempt.accepted) {
      if (state.failing !== null) this.#put(id, { ...fresh, sent: state.sent });
      return;
    }
    const { problem, wait } = attempt;
    const before = { ...state, cursor: 0, hasLost: false };
    const { attempts, failing, next } = failed(before, { now: now(), problem, wait, jitter: Math.random() });
    this.#put(id, { attempts, failing, next, problem, sent: state.sent });
    log.debug({ channel: record.name, error: problem }, 'channels: an alert was not accepted');
  }

  #reported(id: number, alerts: readonly Alert[]): void {
    const state = this.#stateOf(id);
    const ids = new Set(alerts.map((alert) => alert.id));
    const at = this.#parts.now();
    const lasting = alerts.flatMap(({ state: now, ...alert }): readonly SentAlert[] =>
      now === 'ended' ? [] : [{ ...alert, at }],
    );
    this.#put(id, { ...state, sent: [...state.sent.filter((one) => !ids.has(one.id)), ...lasting] });
  }

  /** Without reports of ends, what has ended is forgotten, so that it is reported when it begins again. */
  #forgotten(record: Channel, current: readonly CurrentProblem[]): ChannelState {
    const state = this.#stateOf(record.id);
    if (record.reports_end) return state;
    const sent = state.sent.filter(({ id }) => current.some((one) => one.id === id));
    if (sent.length === state.sent.length) return state;
    const next = { ...state, sent };
    this.#put(record.id, next);
    return next;
  }

  #isAcknowledged(id: string): boolean {
    const note = this.#parts.view().find(alertNote, 'alert', id);
    return note?.dismissed === true || (note?.snoozed_until ?? 0) > this.#parts.now();
  }

  #bulletin(alerts: readonly Alert[]) {
    return { host: this.#parts.hostname(), at: this.#parts.now(), alerts };
  }

  /** Tries again at once what failed. */
  #hurry(id: number): void {
    const state = this.#stateOf(id);
    if (state.next > 0) this.#put(id, { ...state, next: 0 });
    this.#lookIn(soon);
  }

  #stateOf(id: number): ChannelState {
    const known = this.#states.get(id);
    if (known !== undefined) return known;
    const state = this.#parts.store.state(id) ?? fresh;
    this.#states.set(id, state);
    return state;
  }

  #put(id: number, state: ChannelState): void {
    this.#states.set(id, state);
    this.#tolerant(() => this.#parts.store.put(id, state));
  }

  /** On a disk that cannot be written, alerts are sent nevertheless: a restart may send them again. */
  #tolerant(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, 'channels: what was sent could not be stored');
    }
  }
}
