/** What was just done, at the foot of the page. */
import { signal } from '@preact/signals';
import * as t from '../texts/base/notices.ts';
import { client } from './client.ts';
import { touch } from './live.ts';
import { refusalOf } from './problem.ts';

export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly kind: 'done' | 'refused';
  /** The revision that takes it back. */
  readonly revision: number | undefined;
}

export const notices = signal<readonly Notice[]>([]);
let last = 0;
const lasting = 12_000;

export function notify(text: string, kind: Notice['kind'] = 'done', revision?: number): void {
  last += 1;
  const id = last;
  notices.value = [...notices.value.slice(-3), { id, text, kind, revision }];
  if (kind === 'done') setTimeout(() => dismiss(id), lasting);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id);
}

/** Reports a change that the appliance has made, with the way back if there is one. */
export async function notifyChange(text: string, headers: Headers): Promise<void> {
  const request = headers.get('x-request-id');
  const found =
    request === null
      ? []
      : await client
          .get('/api/holdfast/v1/revisions', {
            query: { filter: [`request=${request}`], limit: 1, fields: ['number'] },
          })
          .catch(() => []);
  const number = found[0]?.number;
  const revision =
    number === undefined
      ? undefined
      : await client.get('/api/holdfast/v1/revisions/{number}', { path: { number } }).catch(() => undefined);
  notify(text, 'done', revision?.revertible === true ? number : undefined);
}

/** Takes a revision back. */
export async function undo(number: number): Promise<void> {
  try {
    await client.post('/api/holdfast/v1/revisions/{number}/revert', { path: { number } });
    notify(t.changeWasTakenBack(number));
  } catch (error) {
    notify(refusalOf(error).sentence, 'refused');
  }
  touch('revisions', 'machine');
}
