import { operation, section } from '../../engine/declare/operation.ts';
import { objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';

export const confirmation = section('confirmation', 'Changes that are reverted unless the client confirms them.', [
  operation({
    method: 'GET',
    path: 'confirmation',
    name: 'getConfirmation',
    title: 'Reads the change that waits for a confirmation; null if there is none.',
    answer: orNull(
      objectOf('WaitingChange', {
        title: stringOf('What was changed.'),
        request: stringOf('Id of the request that changed it, as in its header X-Request-Id.'),
        until: timeOf('When it is reverted.'),
      }),
    ),
    run({ engine: { provisional: waits } }) {
      if (waits === undefined) return null;
      return { title: waits.title, request: waits.request, until: new Date(waits.until).toISOString() };
    },
  }),
]);
