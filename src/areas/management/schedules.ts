import { operation, section } from '../../engine/declare/operation.ts';
import { integerOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';

export const schedules = section('schedules', 'When the tasks of the configuration run next.', [
  operation({
    method: 'GET',
    path: 'schedules',
    name: 'listSchedules',
    title: 'Lists the next run of every task, the earliest first.',
    answer: listOf(
      objectOf('Schedule', {
        resource: stringOf('Path of the resource, such as tasks/rsync.'),
        id: integerOf('Id of the record.'),
        schedule: stringOf('When it runs, in cron notation.'),
        zone: stringOf('Time zone of the schedule.'),
        next: orNull(stringOf('Time of the next run in that zone; null if there is none.')),
      }),
    ),
    run: ({ engine }) => engine.schedules(),
  }),
]);
