import type { Task } from '../declare/resource.ts';
import { nextRun, type Timetable } from '../declare/schedule.ts';

/** A record whose time comes again and again. The entry of an unchanged record may be another object each time. */
export interface Entry {
  /** As `tasks/rsync/1`. */
  readonly subject: string;
  readonly when: Timetable;
  /** Frozen, and another object when it was changed. */
  readonly record: object;
  /** Which of the record's schedules this is, where it has several. */
  readonly part: number;
  /** What is done at that moment, if anything. */
  task(at: number): Task | undefined;
}

export interface SchedulerParts {
  /** What there is to be started at this moment. */
  readonly entries: () => Iterable<Entry>;
  readonly start: (task: Task) => void;
  /** Told of what could not be started; the others that are due are. */
  readonly failed: (subject: string, error: unknown) => void;
  readonly now: () => number;
  readonly zone: () => string;
}

interface Next {
  readonly at: number | undefined;
  readonly zone: string;
}

const minute = 60_000;

/** A clock that goes on by more than this between two looks was put forward or stood still; what it passed over is not made up for. */
const longestGap = 10 * minute;

/** Looks at the clock every minute, as cron does, and starts what is due. */
export class Scheduler {
  readonly #parts: SchedulerParts;
  /** When each record comes next, by the part and in the zone it was asked for. A changed record is another object and is asked anew. */
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

  /** Starts what has become due since the last look. */
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
        // Whatever fails in this look, there is a next one.
        this.#wait();
        this.look();
      },
      minute - (now() % minute) + 20,
    );
    this.#timer.unref();
  }
}
