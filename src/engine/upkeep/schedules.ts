import { collected } from '../../lib/slices.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import { Fault } from '../declare/errors.ts';
import type { EventBus } from '../declare/events.ts';
import type { Fields } from '../declare/fields.ts';
import type { Log } from '../declare/log.ts';
import type { Collection, Due, RecordOf, Runs, Task, World } from '../declare/resource.ts';
import { nextRun, type Timetable, timeIn, timetableLine } from '../declare/schedule.ts';
import { Scheduler } from './scheduler.ts';

interface SchedulesParts {
  readonly configuration: StoredConfiguration;
  readonly events: EventBus;
  readonly log: Log;
  readonly now: () => number;
  readonly zone: () => string;
  readonly world: () => World;
  readonly runs: Runs;
  /** Starts a job; throws a fault if it cannot be started now. */
  readonly start: (task: Task) => void;
}

/** When a record is due next. */
export interface ScheduleReport {
  /** Path of the resource, such as `tasks/rsync`. */
  readonly resource: string;
  readonly id: number;
  /** In cron notation. */
  readonly schedule: string;
  readonly zone: string;
  /** Time of the next run in that zone; null if there is none. */
  readonly next: string | null;
}

interface ScheduledRecord {
  readonly subject: string;
  readonly resource: string;
  readonly record: { readonly id: number };
  readonly part: number;
  readonly when: Timetable;
  readonly quiet: boolean;
  readonly task: ((due: Due) => Task | undefined) | undefined;
}

/** The records that have a schedule, and the start of their jobs. */
export class Schedules {
  readonly #parts: SchedulesParts;
  readonly #scheduler: Scheduler;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
    const { log, now, zone } = parts;
    this.#scheduler = new Scheduler({
      entries: () => this.#entries(),
      start: (task) => this.#start(task),
      failed: (subject, error) => log.error({ subject, err: error }, 'schedule: due task could not be started'),
      now,
      zone,
    });
  }

  begin(): void {
    this.#scheduler.begin();
  }

  end(): void {
    this.#scheduler.end();
  }

  /** Starts the tasks that are due. */
  look(): void {
    this.#scheduler.look();
  }

  /** The next run of each scheduled record, also of those that other programs such as cron run; the earliest first. */
  async reports(): Promise<readonly ScheduleReport[]> {
    const shown = (await collected(this.#nextRuns())).toSorted(
      (a, b) => (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY),
    );
    return shown.map(({ report }) => report);
  }

  *#nextRuns(): Generator<{ readonly at: number | undefined; readonly report: ScheduleReport }> {
    const zone = this.#parts.zone();
    const after = this.#parts.now();
    for (const { resource, record, when, quiet } of this.#records()) {
      if (quiet) continue;
      const at = nextRun(when, after, zone);
      const next = at === undefined ? null : timeIn(zone, at);
      yield { at, report: { resource, id: record.id, schedule: timetableLine(when), zone, next } };
    }
  }

  #entries() {
    const { zone, runs, world } = this.#parts;
    return this.#records().flatMap(({ task, ...entry }) =>
      task === undefined ? [] : [{ ...entry, task: (at: number) => task({ at, zone: zone(), runs, ...world() }) }],
    );
  }

  #records(): readonly ScheduledRecord[] {
    const { resources, tables } = this.#parts.configuration;
    return resources.flatMap((resource) =>
      resource.kind === 'collection' ? scheduledIn(resource, tables.table(resource).all()) : [],
    );
  }

  #start(task: Task): void {
    const { start, log, events } = this.#parts;
    try {
      start(task);
      log.info({ subject: task.subject }, task.title);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      log.warn({ subject: task.subject, error: error.message }, `scheduled task skipped: ${task.title}`);
      events.emit('schedule.skipped', { subject: task.subject, reason: error.message });
    }
  }
}

function scheduledIn<F extends Fields>(
  { path, scheduled = [] }: Collection<F>,
  records: readonly RecordOf<F>[],
): readonly ScheduledRecord[] {
  return [scheduled].flat().flatMap((hook, part) => {
    const taskOf = hook.task?.bind(hook);
    return records.flatMap((record) => {
      const when = hook.when(record);
      if (when === undefined) return [];
      const subject = `${path}/${record.id}`;
      return [
        {
          subject,
          resource: path,
          record,
          part,
          when,
          quiet: hook.quiet ?? false,
          task: taskOf && ((due: Due) => taskOf(record, due)),
        },
      ];
    });
  });
}
