import { choice, field, flag, good, integer, onMachine, required, text, wrong } from '../../engine/declare/fields.ts';
import { timeOfDay } from '../../engine/declare/formats.ts';
import { collection, type Due, type RecordOf, type Task } from '../../engine/declare/resource.ts';
import { JobFailure } from '../../engine/upkeep/jobs.ts';
import type { KnownSnapshot } from '../../engine/upkeep/snapshot-index.ts';
import { messageOf, quote, words } from '../../lib/text.ts';
import { lifetimeOf, retentionUnits, snapshotName, timetableOf } from './snapshot-times.ts';

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

/** Minutes between two snapshots, sent and answered as a number. */
const interval = field<number>({
  description: 'Minutes from one snapshot to the next.',
  initial: 60,
  blank: 60,
  schema: { enum: intervals.map(Number) },
  accepts: { enum: [...intervals.map(Number), ...intervals] },
  read(sent) {
    const reading = choice(intervals, { description: '' }).read(sent);
    return reading.ok ? good(Number(reading.value)) : reading;
  },
});

/** Days of the week as `1,2,3`; a list of numbers is taken as well (gaps 13.4). */
const weekdays = field<string>({
  description: 'Days of the week, 1 for Monday to 7 for Sunday, where task_repeat_unit is weekly.',
  initial: '1,2,3,4,5',
  blank: '1,2,3,4,5',
  schema: { type: 'string', pattern: '^[1-7](,[1-7])*$' },
  accepts: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: ['integer', 'string'] } }] },
  read(sent) {
    const items = Array.isArray(sent)
      ? sent.map(String)
      : typeof sent === 'string' || typeof sent === 'number'
        ? words(String(sent))
        : undefined;
    const stray = items?.find((day) => !/^[1-7]$/.test(day));
    if (items === undefined || stray !== undefined)
      return wrong(`Days of the week are numbers from 1 to 7 with commas between them, not ${quote(stray ?? sent)}.`);
    return items.length === 0
      ? wrong('At least one day of the week is wanted.')
      : good([...new Set(items)].toSorted().join(','));
  },
});

/** A dataset or zvol by its full name. */
export function datasetName({ description }: { readonly description: string }) {
  return onMachine(
    text({
      description,
      max: 150,
      pattern: /^[a-zA-Z][-a-zA-Z0-9_.: /]*$/,
      rule: 'The full name of a dataset or zvol begins with that of its volume.',
    }),
    (name, { storage }) => (storage.datasets.has(name) ? undefined : `There is no dataset or zvol ${quote(name)}.`),
  );
}

const fields = {
  task_filesystem: required(datasetName({ description: 'Full name of the dataset or zvol.' })),
  task_recursive: flag(false, { description: 'Whether all below it gets a snapshot in the same moment.' }),
  task_ret_count: integer({
    description: 'How many units of time a snapshot is kept; 0 keeps it for good.',
    min: 0,
    max: 999_999,
    initial: 2,
  }),
  task_ret_unit: choice(retentionUnits, {
    description: 'The unit of that time; a month is thirty days, a year 365.',
    initial: 'week',
  }),
  task_begin: timeOfDay({ description: 'Time of the day of the first snapshot.', initial: '09:00:00' }),
  task_end: timeOfDay({
    description:
      'Time of the day after which there is none until the next day. Before the beginning it lies on the day after.',
    initial: '18:00:00',
  }),
  task_interval: interval,
  task_repeat_unit: choice(['daily', 'weekly'], {
    description: 'Whether every day counts, or those of task_byweekday.',
    initial: 'weekly',
  }),
  task_byweekday: weekdays,
  task_enabled: flag(true, { description: 'Whether snapshots are made, and deleted when their time is over.' }),
};

export type SnapshotTask = RecordOf<typeof fields>;

export const snapshotTask = collection('storage/task', {
  title: 'periodic snapshot task',
  description: 'Snapshots of a dataset that are made by a schedule and kept for a time.',
  order: ['task_filesystem'],
  fields,
  scheduled: [
    { when: (record) => (record.task_enabled ? timetableOf(record) : undefined), task: takeSnapshot },
    { quiet: true, when: (record) => (record.task_enabled ? everyHour : undefined), task: deleteExpired },
  ],
});

const everyHour = { minute: '2', hour: '*', daymonth: '*', month: '*', dayweek: '*' };

/** Whether the snapshots of a task are also ones of this dataset. */
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
    touches: [{ dataset, below: true }],
    async run({ host: { zfs } }) {
      // Another task of the same dataset and retention, or the hour that a clock that was put back has twice.
      const there = (await zfs.snapshots([dataset])).some((one) => one.name === name);
      if (!there) await zfs.createSnapshot(snapshot, { recursive, task });
      return { snapshot, made: !there };
    },
  };
}

/**
 * Deletes what this task made and whose name says that its time is over. A snapshot has to bear the task's number and a
 * name that a task gives; what people made, and what other tasks did, is theirs.
 */
function deleteExpired(record: SnapshotTask, { at, facts }: Due): Task | undefined {
  const expired = expiredOf(record, facts.storage.snapshots.all, at);
  if (expired.length === 0) return undefined;
  return {
    title: `delete snapshots of ${record.task_filesystem} whose time is over`,
    subject: `storage/task/${record.id}/retention`,
    alone: true,
    touches: [...new Set(expired.map(({ dataset }) => dataset))].map((dataset) => ({ dataset })),
    async run({ host: { zfs }, signal }) {
      const deleted: string[] = [];
      const kept: string[] = [];
      for (const { id } of expired) {
        if (signal.aborted) break;
        try {
          await zfs.destroySnapshot(id, { deferred: true });
          deleted.push(id);
        } catch (error) {
          kept.push(`${id}: ${messageOf(error)}`);
        }
      }
      const result = { deleted, kept };
      if (kept.length > 0) throw new JobFailure(kept[0] ?? '', result);
      return result;
    },
  };
}

export function expiredOf(
  task: SnapshotTask,
  snapshots: readonly KnownSnapshot[],
  at: number,
): readonly KnownSnapshot[] {
  return snapshots.filter((one) => {
    const lifetime = lifetimeOf(one.name);
    return (
      one.task === task.id &&
      !one.deferred &&
      covers(task, one.dataset) &&
      lifetime !== undefined &&
      (one.created + lifetime) * 1000 <= at
    );
  });
}
