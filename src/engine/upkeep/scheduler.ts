import type { Task } from '../declare/resource.ts';
import { nextRun, type Timetable } from '../declare/schedule.ts';

/** A scheduled record. The entry of an unchanged record may be a different object each time. */
export interface Entry {
  /** Path and id, such as `tasks/rsync/1`. */
  readonly subject: string;
  readonly when: Timetable;
  /** Frozen; a changed record is a different object. */
  readonly record: object;
  /** The index of the schedule, for a record with several. */
  readonly part: number;
  /** The task to run at that time, if any. */
  task(at: number): Task | undefined;
}

export interface SchedulerParts {
  /** The scheduled records at this time. */
  readonly entries: () => Iterable<Entry>;
  readonly start: (task: Task) => void;
  /** Called for a task that could not be started; the other due tasks are started. */
  readonly failed: (subject: string, error: unknown) => void;
  readonly now: () => number;
  readonly zone: () => string;
}

interface Next {
  readonly at: number | undefined;
  readonly zone: string;
}

const minute = 60_000;

/**
 * If the clock advances more than this between two checks, it was set or the machine slept; missed runs are not
 * repeated.
 */
const longestGap = 10 * minute;

/** Checks the clock every minute, like cron, and starts the due tasks. */
export class Scheduler {
  readonly #parts: SchedulerParts;
  /**
   * The next run of each record, by schedule and zone. A changed record is a different object and is computed again.
   */
  #next = new WeakMap<object, Map<number, Next>>();
  #looked: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#looked = parts.now();
  }

  begin(): void {
    this.#looked = this.#parts.now();
    this.#wait();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Starts the tasks that became due since the last check. */
  look(): void {
    const { now, entries, start, failed } = this.#parts;
    const at = now();
    if (at < this.#looked || at - this.#looked > longestGap) {
      this.#next = new WeakMap();
      this.#looked = at - (at % minute) - 1;
    }
    const due = [...entries()].flatMap((entry) => {
      const next = this.#nextOf(entry);
      return next !== undefined && next <= at ? [{ entry, next }] : [];
    });
    this.#looked = at;
    for (const { entry, next } of due) {
      try {
        const task = entry.task(next);
        if (task !== undefined) start(task);
      } catch (error) {
        failed(entry.subject, error);
      }
    }
  }

  #nextOf({ record, part, when }: Entry): number | undefined {
    const zone = this.#parts.zone();
    const parts = this.#next.get(record) ?? new Map<number, Next>();
    let next = parts.get(part);
    if (next === undefined || next.zone !== zone || (next.at !== undefined && next.at <= this.#looked)) {
      next = { at: nextRun(when, this.#looked, zone), zone };
      this.#next.set(record, parts.set(part, next));
    }
    return next.at;
  }

  #wait(): void {
    const { now } = this.#parts;
    this.#timer = setTimeout(
      () => {
        // Set first, so that an error in this check does not prevent the next one.
        this.#wait();
        this.look();
      },
      minute - (now() % minute) + 20,
    );
    this.#timer.unref();
  }
}
