import type Database from 'better-sqlite3';
import type { DeadLetter, Progress, WebhookStore } from '../engine/declare/webhooks.ts';
import { isObject } from '../lib/json.ts';

/** Dead letters of one webhook that are kept; the oldest are dropped. */
const mostLetters = 10_000;
/** Dead letters that are read at once. */
const lettersAtOnce = 200;

interface Access {
  prepare(sql: string): Database.Statement;
  transaction(work: () => void): void;
}

/** Where webhooks are among the events, and the events that they gave up. */
export class WebhookTable implements WebhookStore {
  readonly #store: Access;

  constructor(store: Access) {
    this.#store = store;
  }

  progress(webhook: number): Progress | undefined {
    const row = this.#store.prepare('SELECT * FROM webhooks WHERE webhook = ?').get(webhook);
    if (!isObject(row)) return undefined;
    return {
      cursor: Number(row['cursor']),
      attempts: Number(row['attempts']),
      failing: row['failing'] === null ? null : Number(row['failing']),
      next: Number(row['next']),
      problem: String(row['problem']),
      hasLost: row['lost'] === 1,
    };
  }

  putProgress(webhook: number, { cursor, attempts, failing, next, problem, hasLost }: Progress, letter?: DeadLetter) {
    const { prepare, transaction } = this.#store;
    transaction(() => {
      prepare('INSERT OR REPLACE INTO webhooks VALUES (?, ?, ?, ?, ?, ?, ?)').run(
        ...[webhook, cursor, attempts, failing, next, problem, hasLost ? 1 : 0],
      );
      if (letter === undefined) return;
      const { number, at, name, payload, givenUp, problem: reason } = letter;
      prepare('INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?)').run(
        ...[webhook, number, at, name, JSON.stringify(payload), givenUp, reason],
      );
      prepare(
        'DELETE FROM dead_letters WHERE webhook = ? AND number <= (SELECT number FROM dead_letters WHERE webhook = ? ORDER BY number DESC LIMIT 1 OFFSET ?)',
      ).run(webhook, webhook, mostLetters);
    });
  }

  /** In pages: all of them at once would keep requests waiting. */
  *letters(webhook: number): Generator<DeadLetter> {
    const page = this.#store.prepare(
      'SELECT * FROM dead_letters WHERE webhook = ? AND number > ? ORDER BY number LIMIT ?',
    );
    for (let last = -1; ; ) {
      const found = page.all(webhook, last, lettersAtOnce).filter(isObject).map(letterIn);
      yield* found;
      if (found.length < lettersAtOnce) return;
      last = found.at(-1)?.number ?? last;
    }
  }

  hasLetter(webhook: number, number: number): boolean {
    const found = this.#store.prepare('SELECT 1 FROM dead_letters WHERE webhook = ? AND number = ?');
    return found.get(webhook, number) !== undefined;
  }

  countLetters(webhook: number): number {
    return Number(this.#store.prepare('SELECT COUNT(*) FROM dead_letters WHERE webhook = ?').pluck().get(webhook));
  }

  removeLetters(webhook: number, number?: number): void {
    const { prepare, transaction } = this.#store;
    transaction(() => {
      if (number === undefined) prepare('DELETE FROM dead_letters WHERE webhook = ?').run(webhook);
      else prepare('DELETE FROM dead_letters WHERE webhook = ? AND number = ?').run(webhook, number);
    });
  }

  keepOnly(webhooks: readonly { readonly id: number }[]): void {
    const { prepare, transaction } = this.#store;
    const known = JSON.stringify(webhooks.map(({ id }) => id));
    const all = prepare(
      'SELECT webhook FROM webhooks UNION SELECT webhook FROM dead_letters EXCEPT SELECT value FROM json_each(?)',
    );
    if (all.all(known).length === 0) return;
    transaction(() => {
      for (const table of ['webhooks', 'dead_letters'])
        prepare(`DELETE FROM ${table} WHERE webhook NOT IN (SELECT value FROM json_each(?))`).run(known);
    });
  }

  oldestEvent(): number | undefined {
    const number = this.#store.prepare('SELECT MIN(number) FROM events').pluck().get();
    return typeof number === 'number' ? number : undefined;
  }
}

function letterIn(row: Readonly<Record<string, unknown>>): DeadLetter {
  const payload: unknown = JSON.parse(String(row['payload']));
  return {
    ...{ number: Number(row['number']), at: String(row['at']), name: String(row['name']) },
    payload: isObject(payload) ? payload : {},
    ...{ givenUp: Number(row['given_up']), problem: String(row['problem']) },
  };
}
