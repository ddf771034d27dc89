import { field, flag, good, integer, located, naming, required, text, titled } from '../../engine/declare/fields.ts';
import { cronField, schedule } from '../../engine/declare/formats.ts';
import { collection, type Draft, type RecordOf, type Task } from '../../engine/declare/resource.ts';
import { scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { quote } from '../../lib/text.ts';
import { switchScrub } from './steps.ts';
import { volumeRecord } from './volumes.ts';

/** A request gives the id or the name of the volume; a record shows the name (gaps 13.6). */
const volume = field<string | number>({
  description: 'Volume: id or name in requests, name in records.',
  schema: { type: 'string', maxLength: 50 },
  read(sent) {
    const reading = text({ description: '', max: 50 }).read(sent);
    return reading.ok && /^\d{1,15}$/.test(reading.value) ? good(Number(reading.value)) : reading;
  },
});

const fields = {
  scrub_volume: required(
    naming(
      'storage/volume',
      located(volume, (name) => ({ dataset: String(name) })),
    ),
  ),
  scrub_threshold: titled(
    'Days between scrubs',
    integer({
      description: 'Minimum number of days since the last scrub.',
      min: 0,
      max: 36_500,
      initial: 35,
    }),
  ),
  scrub_description: text({ description: 'Description of the task.', max: 200 }),
  ...schedule('scrub', { fullIsStar: true }),
  scrub_hour: cronField('hour', { description: "Hours in cron's notation.", initial: '00' }),
  scrub_dayweek: titled(
    'Day of the week',
    cronField('dayweek', {
      description: "Days of the week in cron's notation; 0 and 7 are Sunday.",
      initial: '7',
    }),
  ),
  scrub_enabled: flag(true, { description: 'Whether the task is enabled.' }),
};

type ScrubTask = RecordOf<typeof fields>;

export const scrubTask = collection('storage/scrub', {
  shortName: 'task/scrub',
  title: 'scrub task',
  description: 'Scheduled scrub of a volume.',
  order: ['scrub_volume'],
  alias: 'scrub_volume',
  removedWithVolume: 'always',
  binned: true,
  unique: [{ fields: ['scrub_volume'], description: 'This volume already has a scrub task.' }],
  fields,
  complete: ({ record, view }) => ({
    scrub_volume:
      typeof record.scrub_volume === 'number'
        ? (view.get(volumeRecord, record.scrub_volume)?.vol_name ?? record.scrub_volume)
        : record.scrub_volume,
  }),
  check({ record, view, issues }) {
    if (view.find(volumeRecord, 'vol_name', record.scrub_volume) === undefined)
      issues.add('scrub_volume', `The volume ${quote(record.scrub_volume)} does not exist.`);
    const problem = scheduleProblem(scheduleOf('scrub', record));
    if (problem !== undefined) issues.add('__all__', problem);
  },
  scheduled: {
    when: (record) => (record.scrub_enabled ? scheduleOf('scrub', record) : undefined),
    task: (record, { at }) => scrubWhenDue(record, at),
  },
});

/** Every new volume gets its own scrub task (gaps 13.6). */
export function giveScrubTask(draft: Draft, name: string): void {
  if (draft.find(scrubTask, 'scrub_volume', name) === undefined) draft.create(scrubTask, { scrub_volume: name });
}

function scrubWhenDue({ id, scrub_volume, scrub_threshold }: ScrubTask, at: number): Task {
  const name = String(scrub_volume);
  return {
    title: `scrub ${name} if the last scrub ended at least ${scrub_threshold} days ago`,
    subject: `storage/scrub/${id}`,
    alone: true,
    async run(work) {
      const [pool] = await work.ask(`look at the last scrub of ${name}`, async ({ zfs }) =>
        (await zfs.pools()).filter((candidate) => candidate.name === name),
      );
      if (pool === undefined) throw new Error(`The volume ${quote(name)} is not imported, so no scrub was started.`);
      const { scan } = pool;
      if (scan?.state === 'running' || scan?.state === 'paused')
        return { started: false, reason: `A ${scan.kind} is ${scan.state}.` };
      // ZFS reports only the last scan. After a resilver, which does not read all data, the time of the last scrub is
      // unknown, and the volume is scrubbed.
      const days =
        scan?.kind === 'scrub' && scan.ended !== undefined ? Math.floor((at / 1000 - scan.ended) / 86_400) : undefined;
      if (days !== undefined && days < scrub_threshold)
        return { started: false, reason: `The last scrub ended ${days} days ago.` };
      await work.step(switchScrub({ pool: name, what: 'start' }));
      return { started: true };
    },
  };
}
