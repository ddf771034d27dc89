import { setImmediate as nextTurn } from 'node:timers/promises';
import { isWanted } from '../../engine/declare/events.ts';
import { integer, optional, text } from '../../engine/declare/fields.ts';
import { EventStream, operation, section } from '../../engine/declare/operation.ts';
import { anyObject, integerOf, listOf, objectOf, stringOf, timeOf } from '../../engine/declare/schema.ts';

const filters = {
  kind: optional(
    text({ description: 'Only events of this name, or of names that begin so: job is job.started and so on.' }),
  ),
  resource: optional(
    text({ description: 'Only events about this resource or record and what is below it, such as sharing/nfs.' }),
  ),
};

export const events = section('events', 'What happens on the appliance, as it happens.', [
  operation({
    method: 'GET',
    path: 'events',
    name: 'followEvents',
    title: 'Streams events as server-sent events.',
    query: filters,
    answer: 'events',
    run: ({ engine, query }) =>
      new EventStream((last, send) =>
        engine.events.follow(last ?? engine.events.newest, (event) => {
          const { number, name, at, payload } = event;
          if (isWanted(event, query)) send({ number, name, data: { at, ...payload } });
        }),
      ),
  }),
  operation({
    method: 'GET',
    path: 'events/poll',
    name: 'pollEvents',
    title: 'Lists events after a number, the oldest first, and waits for one if there is none.',
    query: {
      ...filters,
      after: optional(
        integer({ description: 'Number of the last event that is known; only new events when not sent.', min: 0 }),
      ),
      limit: integer({ description: 'Maximum number of events.', min: 1, max: 1000, initial: 100 }),
      wait: integer({ description: 'Seconds to wait for an event.', min: 0, max: 60, initial: 0 }),
    },
    answer: objectOf('EventPage', {
      events: listOf(
        objectOf('Event', {
          number: integerOf('Number of the event. Numbers rise, also over restarts, and may have gaps.'),
          at: timeOf('When it happened.'),
          name: stringOf('Name of the event, such as record.changed.'),
          payload: anyObject('What happened.'),
        }),
        'The events.',
      ),
      last: integerOf('What to send as after in the next request.'),
    }),
    example: { query: { after: '0' } },
    async run({ engine: { events: journal }, query }) {
      const until = performance.now() + query.wait * 1000;
      let last = query.after ?? journal.newest;
      for (;;) {
        const found = journal.after(last, query.limit);
        const wanted = found.filter((event) => isWanted(event, query));
        last = found.at(-1)?.number ?? last;
        const left = until - performance.now();
        // A full page may have no wanted event although later pages do.
        if (wanted.length > 0 || (found.length < query.limit && left <= 0) || journal.hasEnded)
          return { events: wanted, last };
        await (found.length < query.limit ? journal.next(left) : nextTurn());
      }
    },
  }),
]);
