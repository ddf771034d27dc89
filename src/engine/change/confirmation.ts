import { messageOf } from '../../lib/text.ts';
import type { ConfigurationStore } from '../configuration/configuration-store.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { RecordChange, Tables } from '../configuration/tables.ts';
import type { Access } from '../declare/access.ts';
import { Fault, refused } from '../declare/errors.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Step } from '../declare/step.ts';
import type { Facts } from '../facts/facts.ts';
import {
  type Access as ClientAccess,
  type ClientConnection,
  confirmWithin,
  cutsOff,
  type Provisional,
} from './confirm.ts';
import type { RequestContext } from './request.ts';

interface ConfirmationParts {
  /** The parts of the machine that connections of clients depend on. */
  readonly accesses: readonly ClientAccess[];
  readonly tables: Tables;
  readonly facts: () => Facts;
  /** Returns a draft over the stored configuration. */
  readonly draft: () => LayeredDraft;
  readonly store: ConfigurationStore;
  readonly log: Log;
  readonly events: EventBus;
  readonly now: () => number;
  /** Reverts the change through the queue, like any other change. */
  readonly takeBack: (title: string, context: RequestContext, it: Provisional) => Promise<void>;
}

/** The change that waits to be confirmed, if any, and its automatic revert. */
export class Confirmation {
  readonly #parts: ConfirmationParts;
  #waiting: { readonly it: Provisional; readonly since: number; readonly timer: NodeJS.Timeout } | undefined;
  #closing = false;

  constructor(parts: ConfirmationParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#closing = true;
    clearTimeout(this.#waiting?.timer);
  }

  get waiting(): Provisional | undefined {
    return this.#waiting?.it;
  }

  /**
   * Returns the provisional state of a change that must be confirmed. Refuses changes of records that wait for
   * confirmation.
   */
  demand(
    title: string,
    context: RequestContext,
    changes: readonly RecordChange[],
    draft: LayeredDraft,
    step: Step | undefined,
  ): Provisional | undefined {
    const { accesses, tables, facts, now } = this.#parts;
    const it = this.waiting;
    const paths = new Set(it?.changes.map(({ resource }) => resource.path));
    if (it !== undefined && changes.some(({ resource }) => paths.has(resource.path)))
      throw refused(
        `The change "${it.title}" waits to be confirmed until ${timeOf(it.until)}. Until then the records that it changed cannot be changed again.`,
        unconfirmed,
      );
    const { connection, confirmWithin: asked, request } = context;
    if (asked === 0 || changes.length === 0) return undefined;
    if (asked !== undefined && step !== undefined)
      throw refused(
        `Expected no confirm_within: this change includes a step that cannot be reverted automatically (${step.title}).`,
      );
    const cuts = connection !== undefined && cutsOff(accesses, changes, connection, tables, draft, facts());
    if (!cuts && asked === undefined) return undefined;
    if (it !== undefined)
      throw refused(
        `The change "${it.title}" waits to be confirmed until ${timeOf(it.until)}, and only one change can wait at a time.`,
        unconfirmed,
      );
    return { title, request, until: now() + (asked ?? confirmWithin) * 1000, cuts, changes };
  }

  /** Starts to wait for the confirmation of a change; `none` ends the waiting. */
  waitFor(provisional: Provisional | 'none' | undefined): void {
    if (provisional === undefined) return;
    this.#end();
    if (provisional === 'none') return;
    this.#rest(provisional, provisional.until - this.#parts.now());
    const { title, request } = provisional;
    const until = timeOf(provisional.until);
    this.#parts.log.warn({ request, until }, `waiting for confirmation: ${title}`);
    this.#parts.events.emit('change.provisional', { title, request, until });
  }

  /**
   * Called for each authenticated request. The request confirms the change if its connection shows that packets pass in
   * both directions since the change: `since` is when the connection was opened or last answered. A principal confirms
   * only what it may change itself.
   */
  heard(connection: ClientConnection | undefined, since: number, access: Access | undefined): void {
    const waiting = this.#waiting;
    if (waiting === undefined || since < waiting.since) return;
    const { it } = waiting;
    if (access !== undefined && !it.changes.every((change) => mayChange(access, change))) return;
    const { accesses, tables, facts, store, log, events } = this.#parts;
    if (it.cuts) {
      if (connection === undefined) return;
      const before = this.#parts.draft();
      before.restore(it.changes);
      if (!cutsOff(accesses, it.changes, connection, before, tables, facts())) return;
    }
    try {
      store.commit([], [], new Map(), 'none');
    } catch (error) {
      // A request that only reads must not fail because of this. The next one may confirm it.
      if (!(error instanceof Fault)) throw error;
      log.warn({ request: it.request, error: error.message }, `confirmation could not be stored: ${it.title}`);
      return;
    }
    this.#end();
    log.info({ request: it.request }, `confirmed: ${it.title}`);
    events.emit('change.confirmed', { title: it.title, request: it.request });
  }

  /**
   * Reverts a change that was not confirmed before the daemon or the machine ended, before the subsystems are applied.
   */
  takeBackAtStart(it: Provisional | undefined): void {
    if (it === undefined) return;
    const { tables, store, log, events, now } = this.#parts;
    const draft = this.#parts.draft();
    draft.restore(it.changes);
    const changes = draft.changes();
    const title = `revert at start, not confirmed: ${it.title}`;
    try {
      store.commit(
        [{ at: timeOf(now()), actor: 'holdfast', request: it.request, title, changes }],
        changes,
        draft.sequences(),
        'none',
      );
    } catch (error) {
      // The machine still gets the earlier configuration; the next start stores it.
      if (!(error instanceof Fault)) throw error;
      log.error({ request: it.request, error: error.message }, `could not be stored: ${title}`);
    }
    tables.apply(changes, draft.sequences());
    log.warn({ request: it.request }, title);
    events.emit('change.reverted', {
      title: it.title,
      request: it.request,
      reason: 'the daemon or the machine ended before it was confirmed',
    });
  }

  #rest(it: Provisional, milliseconds: number): void {
    const timer = setTimeout(() => void this.#goBack(it), Math.max(0, milliseconds));
    timer.unref();
    this.#waiting = { it, since: performance.now(), timer };
  }

  /** Reverts the change; a failure is retried. */
  async #goBack(it: Provisional): Promise<void> {
    const waiting = this.#waiting;
    if (this.#closing || waiting?.it !== it) return;
    // From now on it cannot be confirmed.
    this.#waiting = { ...waiting, since: Number.POSITIVE_INFINITY };
    const { takeBack, log, events } = this.#parts;
    const context = { actor: 'holdfast', request: it.request };
    try {
      await takeBack(`revert, not confirmed: ${it.title}`, context, it);
      events.emit('change.reverted', { title: it.title, request: it.request, reason: 'it was not confirmed in time' });
    } catch (error) {
      log.error({ ...context, error: messageOf(error) }, `revert failed: ${it.title}`);
      events.emit('undo.failed', { title: it.title, reason: messageOf(error) });
      this.#rest(it, 5000);
    }
  }

  #end(): void {
    clearTimeout(this.#waiting?.timer);
    this.#waiting = undefined;
  }
}

function mayChange(access: Access, { resource: { kind, path }, id }: RecordChange): boolean {
  const record = kind === 'singleton' ? undefined : String(id);
  const about = { resource: path, declared: path, record, reads: false, fields: undefined, before: undefined };
  return ['create', 'update', 'remove'].some((verb) => access.problem({ ...about, verb }) === undefined);
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** The answer says which change waits, and until when. Over the connection that the change made, it also confirms it. */
const unconfirmed = {
  code: 'unconfirmed',
  help: { method: 'GET', path: '/api/holdfast/v1/confirmation' },
} as const;
