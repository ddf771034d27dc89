import { operation, section } from '../../engine/declare/operation.ts';
import { flagOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';

const texts = (description: string) => listOf(stringOf('One of them.'), description);

export const drift = section('drift', 'Where the machine differs from the configuration.', [
  operation({
    method: 'GET',
    path: 'drift',
    name: 'getDrift',
    title: 'Compares every subsystem with the machine, and changes nothing.',
    // Before the start has applied the configuration, everything differs.
    awaitsStart: true,
    answer: listOf(
      objectOf('SubsystemReport', {
        subsystem: stringOf('Name of the subsystem.'),
        managed: flagOf('False if it was configured by hand and has not been taken over; it is not inspected then.'),
        degraded: orNull(stringOf('Why its configuration could not be applied.')),
        drift: texts('What applying its configuration would do now.'),
        problems: texts('What is wrong with what it serves; GET problems has the whole of it.'),
      }),
    ),
    run: ({ engine }) => engine.report(),
  }),
]);
