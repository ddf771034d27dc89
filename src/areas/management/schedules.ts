import { invalid } from '../../engine/declare/errors.ts';
import { text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { nextRun, scheduleProblem } from '../../engine/declare/schedule.ts';
import { integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { systemSettings } from '../system/settings.ts';

const part = (title: string) => text({ description: `${title} in cron notation.`, max: 100, initial: '*' });

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
    list: { key: ['resource', 'id'], order: ['next'] },
    run: ({ engine }) => engine.schedules(),
  }),
  operation({
    method: 'GET',
    path: 'schedules/preview',
    name: 'previewSchedule',
    title: 'Lists the next runs of a schedule that is not stored yet.',
    query: {
      minute: part('Minutes'),
      hour: part('Hours'),
      daymonth: part('Days of the month'),
      month: part('Months'),
      dayweek: part('Days of the week'),
    },
    answer: objectOf('SchedulePreview', {
      zone: stringOf('Time zone of the schedule.'),
      runs: listOf(timeOf('One run.'), 'Its next five runs.'),
    }),
    example: { query: { minute: '0', hour: '3' } },
    run({ engine, query }) {
      const problem = scheduleProblem(query);
      if (problem !== undefined) throw invalid({ __all__: [problem] });
      const zone = engine.world.view.only(systemSettings).stg_timezone;
      const runs: string[] = [];
      for (let after = Date.now(); runs.length < 5; ) {
        const next = nextRun(query, after, zone);
        if (next === undefined) break;
        runs.push(new Date(next).toISOString());
        after = next;
      }
      return { zone, runs };
    },
  }),
]);
