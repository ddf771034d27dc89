import { integer, optional } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import type { Audit, AuditRecord } from '../../engine/services.ts';

export const audit = section('audit', 'Who changed what, and who was refused.', [
  operation({
    method: 'GET',
    path: 'audit',
    name: 'listAudit',
    title: 'Lists the requests that changed something or were refused, the newest first.',
    query: {
      before: optional(integer({ description: 'Only entries with a lower number, for the next page.', min: 1 })),
      after: optional(integer({ description: 'Only entries with a higher number, for what is new.', min: 0 })),
    },
    answer: listOf(
      objectOf('AuditEntry', {
        number: integerOf('Number of the entry.'),
        at: timeOf('When the request was answered.'),
        actor: stringOf('Account or key that sent it; empty for an account that does not exist.'),
        credential: stringOf(
          'What it was authenticated by, such as password, socket or key 3; empty for a refused login.',
        ),
        address: stringOf('From where it came.'),
        method: stringOf('Method of the request.'),
        path: stringOf('Path of the request, without its query.'),
        status: integerOf('Status of the answer.'),
        request: stringOf('Id of the request, as in its header X-Request-Id.'),
        revision: orNull(integerOf('Number of the revision that it made; null if it made none.')),
        count: integerOf('Refused logins from this address that the entry stands for, otherwise 1.'),
      }),
    ),
    list: { key: ['number'], order: ['-number'], isOrdered: true, limit: 100 },
    example: { query: { limit: '5', before: '1000' } },
    run: ({ audit: log, query }) => newestFirst(log, query),
  }),
]);

/** The entries, read from the log while they are sent. */
async function* newestFirst(log: Audit, { before, after }: Parameters<Audit['list']>[1]): AsyncGenerator<AuditRecord> {
  let size = firstRead;
  for (let last = before; ; ) {
    const page = await log.list(size, { before: last, after });
    yield* page;
    const oldest = page.at(-1);
    if (oldest === undefined || page.length < size) return;
    last = oldest.number;
    size = furtherRead;
  }
}

/** Entries that are read at once. Most requests want only the newest. */
const firstRead = 100;
const furtherRead = 1000;
