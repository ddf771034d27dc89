import type { Task } from './resource.ts';
import { nextRun, type Schedule } from './schedule.ts';

/** A record whose time comes again and again. The entry of an unchanged record may be another object each time. */
export interface Entry {
  /** As `tasks/rsync/1`. */
  readonly subject: string;
  readonly when: Schedule;
  /** Frozen, and another object when it was changed. */
  readonly record: object;
  task(): Task;
}

export interface SchedulerParts {
  /** What there is to be started at this moment. */
  readonly entries: () => Iterable<Entry>;
  readonly start: (task: Task) => void;
  readonly now: () => number;
  readonly zone: () => string;
}

const minute = 60_000;

/** A clock that goes on by more than this between two looks was put forward or stood still; what it passed over is not made up for. */
const longestGap = 10 * minute;

/** Looks at the clock every minute, as cron does, and starts what is due. */
export class Scheduler {
  readonly #parts: SchedulerParts;
  /** When each record comes next, in the zone it was asked for. A changed record is another object and is asked anew. */
  #next = new WeakMap<object, { readonly at: number | undefined; readonly zone: string }>();
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
    const { now, entries, start } = this.#parts;
    const at = now();
    if (at < this.#looked || at - this.#looked > longestGap) {
      this.#next = new WeakMap();
      this.#looked = at - (at % minute) - 1;
    }
    const due = [...entries()].filter((entry) => this.#isDue(entry, at));
    this.#looked = at;
    for (const entry of due) start(entry.task());
  }

  #isDue({ record, when }: Entry, at: number): boolean {
    const zone = this.#parts.zone();
    let next = this.#next.get(record);
    if (next === undefined || next.zone !== zone || (next.at !== undefined && next.at <= this.#looked)) {
      next = { at: nextRun(when, this.#looked, zone), zone };
      this.#next.set(record, next);
    }
    return next.at !== undefined && next.at <= at;
  }

  #wait(): void {
    const { now } = this.#parts;
    this.#timer = setTimeout(
      () => {
        this.look();
        this.#wait();
      },
      minute - (now() % minute) + 20,
    );
    this.#timer.unref();
  }
}
