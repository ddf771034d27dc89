import { integer, optional } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { anyObject, integerOf, listOf, objectOf, stringOf, timeOf } from '../../engine/declare/schema.ts';

const change = objectOf(
  'RecordChange',
  {
    resource: stringOf('Path of the resource.'),
    id: integerOf('Id of the record.'),
  },
  {
    before: anyObject('The record before, unless it was created. Secrets are masked.'),
    after: anyObject('The record after, unless it was removed. Secrets are masked.'),
  },
);

export const revisions = section('revisions', 'The history of the configuration.', [
  operation({
    method: 'GET',
    path: 'revisions',
    name: 'listRevisions',
    title: 'Lists stored changes, the newest first.',
    query: {
      limit: integer({ description: 'Maximum number of revisions.', min: 1, max: 1000, initial: 20 }),
      before: optional(integer({ description: 'Only revisions with a lower number, for the next page.', min: 1 })),
    },
    answer: listOf(
      objectOf('Revision', {
        number: integerOf('Number of the revision.'),
        at: timeOf('When the change was stored.'),
        actor: stringOf('Account that made the change; holdfast for the daemon itself.'),
        request: stringOf('Id of the request, as in its header X-Request-Id.'),
        title: stringOf('What was changed.'),
        changes: listOf(change, 'The changed records.'),
      }),
    ),
    example: { query: { limit: '5', before: '1000' } },
    run: ({ engine, query }) => engine.revisions(query.limit, query.before),
  }),
]);
