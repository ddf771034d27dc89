import {
  advanced,
  basic,
  choice,
  field,
  flag,
  good,
  integer,
  located,
  naming,
  onMachine,
  required,
  text,
  titled,
  wrong,
} from '../../engine/declare/fields.ts';
import { timeOfDay } from '../../engine/declare/formats.ts';
import { collection, type Due, type RecordOf, type Task } from '../../engine/declare/resource.ts';
import type { KnownSnapshot } from '../../engine/facts/snapshot-index.ts';
import { JobFailure } from '../../engine/upkeep/jobs.ts';
import { quote, words } from '../../lib/text.ts';
import { lifetimeOf, retentionUnits, snapshotName, timetableOf } from './snapshot-times.ts';
import { destroyExpired, takeSnapshot as takeSnapshotStep } from './steps.ts';

const intervals = [
  '5',
  '10',
  '15',
  '30',
  '60',
  '120',
  '180',
  '240',
  '360',
  '720',
  '1440',
  '10080',
  '20160',
  '40320',
] as const;

/** Minutes between two snapshots. Requests may send a string; answers are numbers. */
const interval = field<number>({
  description: 'Minutes between two snapshots.',
  initial: 60,
  blank: 60,
  schema: { enum: intervals.map(Number) },
  read(sent) {
    const reading = choice(intervals, { description: '' }).read(sent);
    return reading.ok ? good(Number(reading.value)) : reading;
  },
});

/** Days of the week as `1,2,3`; a list of numbers is accepted too (gaps 13.4). */
const weekdays = field<string>({
  description: 'Days of the week, from 1 for Monday to 7 for Sunday. Used when task_repeat_unit is weekly.',
  initial: '1,2,3,4,5',
  blank: '1,2,3,4,5',
  schema: { type: 'string', pattern: '^[1-7](,[1-7])*$' },
  read(sent) {
    const items = Array.isArray(sent)
      ? sent.map(String)
      : typeof sent === 'string' || typeof sent === 'number'
        ? words(String(sent))
        : undefined;
    const invalid = items?.find((day) => !/^[1-7]$/.test(day));
    if (items === undefined || invalid !== undefined)
      return wrong(`Expected numbers from 1 to 7, separated by commas, got ${quote(invalid ?? sent)}.`);
    return items.length === 0
      ? wrong('Expected at least one day of the week.')
      : good([...new Set(items)].toSorted().join(','));
  },
});

/** The full name of an existing dataset or zvol. */
export function datasetName({ description }: { readonly description: string }) {
  const name = text({
    description,
    max: 150,
    pattern: /^[a-zA-Z][-a-zA-Z0-9_.: /]*$/,
    rule: 'Expected the full name of a dataset or zvol, beginning with the name of its volume.',
  });
  return onMachine(
    naming(
      'storage/dataset',
      located(name, (dataset) => ({ dataset })),
      'dataset',
    ),
    (name, { storage }) =>
      storage.datasets.has(name) ? undefined : `The dataset or zvol ${quote(name)} does not exist.`,
  );
}

const fields = {
  task_filesystem: titled('Dataset', required(datasetName({ description: 'Full name of the dataset or zvol.' }))),
  task_recursive: titled(
    'Include child datasets',
    flag(false, { description: 'Whether all descendants get a snapshot at the same time.' }),
  ),
  ...basic('Retention', {
    task_ret_count: titled(
      'Keep for',
      integer({
        description: 'Retention, in units of task_ret_unit; 0 keeps snapshots forever.',
        min: 0,
        max: 999_999,
        initial: 2,
      }),
    ),
    task_ret_unit: titled(
      'Unit',
      choice(retentionUnits, {
        description: 'Unit of the retention; a month has 30 days, a year 365.',
        initial: 'week',
      }),
    ),
  }),
  ...basic('Schedule', {
    task_begin: timeOfDay({ description: 'Time of day of the first snapshot.', initial: '09:00:00' }),
    task_end: timeOfDay({
      description:
        'Time of day after which no snapshot is created until the next begin. An end before task_begin is on the next day.',
      initial: '18:00:00',
    }),
    task_interval: titled('Minutes between snapshots', interval),
  }),
  ...advanced('Schedule', {
    task_repeat_unit: titled(
      'Repeat',
      choice(['daily', 'weekly'], {
        description: 'Whether the task runs every day, or on the days of task_byweekday.',
        initial: 'weekly',
      }),
    ),
  }),
  ...basic('Schedule', {
    task_byweekday: titled('Days of the week', weekdays),
  }),
  task_enabled: flag(true, { description: 'Whether snapshots are created, and destroyed when they expire.' }),
};

export type SnapshotTask = RecordOf<typeof fields>;

export const snapshotTask = collection('storage/task', {
  shortName: 'task/snapshot',
  columns: ['task_filesystem', 'task_interval', 'task_repeat_unit', 'task_ret_count', 'task_ret_unit', 'task_enabled'],
  title: 'periodic snapshot task',
  description: 'Scheduled snapshots of a dataset, with their retention.',
  order: ['task_filesystem'],
  removedWithVolume: 'always',
  binned: true,
  fields,
  scheduled: [
    { when: (record) => (record.task_enabled ? timetableOf(record) : undefined), task: takeSnapshot },
    { quiet: true, when: (record) => (record.task_enabled ? everyHour : undefined), task: deleteExpired },
  ],
});

const everyHour = { minute: '2', hour: '*', daymonth: '*', month: '*', dayweek: '*' };

/** Whether the task takes snapshots of this dataset. */
export function covers({ task_filesystem, task_recursive }: SnapshotTask, dataset: string): boolean {
  return dataset === task_filesystem || (task_recursive && dataset.startsWith(`${task_filesystem}/`));
}

function takeSnapshot(record: SnapshotTask, { at, zone }: Due): Task {
  const { id: task, task_filesystem: dataset, task_recursive: recursive } = record;
  const name = snapshotName(record, at, zone);
  const snapshot = `${dataset}@${name}`;
  return {
    title: `create the snapshot ${snapshot}`,
    subject: `storage/task/${task}`,
    async run(work) {
      // The name is taken when another task has the same dataset and retention, and in the hour that occurs twice at
      // the end of daylight saving time.
      const exists = await work.ask(
        `look for the snapshot ${snapshot}`,
        async ({ zfs }) => (await zfs.named([snapshot])).snapshots.length > 0,
      );
      if (!exists) await work.step(takeSnapshotStep({ dataset, name, recursive, task }));
      return { snapshot, made: !exists };
    },
  };
}

/**
 * Destroys the expired snapshots of this task. A snapshot qualifies only when it carries the id of the task as a
 * property and has a name with a retention. Snapshots of users and of other tasks are never destroyed here.
 */
function deleteExpired(record: SnapshotTask, { at, facts }: Due): Task | undefined {
  const expired = expiredOf(record, facts.storage.snapshots.takenBy(record.id), at);
  if (expired.length === 0) return undefined;
  return {
    title: `delete expired snapshots of ${record.task_filesystem}`,
    subject: `storage/task/${record.id}/retention`,
    alone: true,
    async run(work) {
      const snapshots = expired.map(({ id }) => id).join('\n');
      const result = await work.step(destroyExpired({ snapshots, of: record.task_filesystem }));
      if (result === undefined) return {};
      if (result.kept.length > 0) throw new JobFailure(result.kept[0] ?? '', result);
      return result;
    },
  };
}

export function expiredOf(task: SnapshotTask, taken: Iterable<KnownSnapshot>, at: number): readonly KnownSnapshot[] {
  return [...taken].filter((snapshot) => {
    const lifetime = lifetimeOf(snapshot.name);
    return (
      !snapshot.deferred &&
      covers(task, snapshot.dataset) &&
      lifetime !== undefined &&
      (snapshot.created + lifetime) * 1000 <= at
    );
  });
}
