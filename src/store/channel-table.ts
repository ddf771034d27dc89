import type Database from 'better-sqlite3';
import type { ChannelState, ChannelStore, SentAlert } from '../engine/declare/channels.ts';
import { severities } from '../engine/declare/problem.ts';
import { isObject } from '../lib/json.ts';

/** What each channel has reported. */
export class ChannelTable implements ChannelStore {
  readonly #prepare: (sql: string) => Database.Statement;

  constructor(prepare: (sql: string) => Database.Statement) {
    this.#prepare = prepare;
  }

  state(channel: number): ChannelState | undefined {
    const body = this.#prepare('SELECT body FROM channels WHERE channel = ?').pluck().get(channel);
    const value: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
    if (!isObject(value)) return undefined;
    const sent: readonly unknown[] = Array.isArray(value['sent']) ? value['sent'] : [];
    return {
      ...{ attempts: Number(value['attempts']), next: Number(value['next']), problem: String(value['problem']) },
      failing: value['failing'] === null ? null : Number(value['failing']),
      sent: sent.flatMap((one) => (isObject(one) ? [sentIn(one)] : [])),
    };
  }

  put(channel: number, state: ChannelState): void {
    this.#prepare('INSERT OR REPLACE INTO channels VALUES (?, ?)').run(channel, JSON.stringify(state));
  }

  keepOnly(channels: readonly { readonly id: number }[]): void {
    const known = JSON.stringify(channels.map(({ id }) => id));
    this.#prepare('DELETE FROM channels WHERE channel NOT IN (SELECT value FROM json_each(?))').run(known);
  }
}

function sentIn(row: Readonly<Record<string, unknown>>): SentAlert {
  return {
    ...{ id: String(row['id']), kind: String(row['kind']), about: String(row['about']) },
    severity: severities.find((severity) => severity === row['severity']) ?? 'warning',
    ...{ message: String(row['message']), since: Number(row['since']), at: Number(row['at']) },
  };
}
