import { EventStream, operation, section } from '../../engine/declare/operation.ts';

export const events = section('events', 'What happens on the appliance, as it happens.', [
  operation({
    method: 'GET',
    path: 'events',
    name: 'followEvents',
    title: 'Streams events as server-sent events.',
    answer: 'events',
    run: ({ engine }) =>
      new EventStream((last, send) => {
        const each = ({ number, name, at, payload }: ReturnType<typeof engine.events.since>[number]) =>
          send({ number, name, data: { at, ...payload } });
        if (last !== undefined) for (const event of engine.events.since(last)) each(event);
        return engine.events.listen(each);
      }),
  }),
]);
