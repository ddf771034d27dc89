import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Log } from '../declare/log.ts';
import type { Problem } from '../declare/problem.ts';

/** Milliseconds between two looks while the daemon works. A stall that is shorter than this is not noticed. */
const interval = 20;

/**
 * Milliseconds between two looks while it rests, so that an idle machine is hardly woken. A request or a job ends the rest.
 * Of other work, the first stall is noticed if it lasts until the next look; from then on the daemon works.
 */
const restingInterval = 5000;

/** Milliseconds of computing in the first turn of a request from which on the daemon works: more turns may follow. */
const worksFrom = 5;

/**
 * It rests when it computed for less than a tenth of the time of so many looks, and works when it computed for more than a
 * twentieth of the time since a look at rest. Less would not do: where a timer is dear, or processor time is counted in
 * ticks of 10 ms, fifty looks a second alone are found to be more than that.
 */
const looksBeforeRest = 50;
const restsBelow = 0.1;
const worksAbove = 0.05;

interface Looks {
  readonly looks: number;
  readonly passed: number;
  readonly computed: number;
}

const noLooks: Looks = Object.freeze({ looks: 0, passed: 0, computed: 0 });

/** Milliseconds for which a request may keep others waiting, unless the machine is known to be slow. */
export const longestTurn = 50;

/** Stalls that are shown. */
const mostShown = 100;

/** So many stalls within this time are a problem. */
const repeated = { stalls: 5, within: 10 * 60_000 } as const;

/** A time during which the daemon computed and answered nothing. */
export interface Stall {
  readonly at: number;
  readonly milliseconds: number;
}

export interface EventLoopReport {
  /** Milliseconds between two turns while it works, including the time that other processes had the processor. */
  readonly delay: { readonly mean: number; readonly p99: number; readonly max: number };
  /** Stalls since the start of the daemon. */
  readonly stalls: number;
  /** Milliseconds of the longest of them. */
  readonly longest: number;
  /** The last of them, the newest first. */
  readonly recent: readonly Stall[];
}

/** The clocks that tests replace. */
export interface Clocks {
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  /** Milliseconds of processor time that the daemon has used. */
  readonly used: () => number;
}

/**
 * Detects when the daemon computes for so long that requests wait. A late timer alone does not prove that: another
 * process may have had the processor. So a stall counts for as long as the daemon itself was computing.
 */
export class EventLoop {
  readonly #now: () => number;
  readonly #log: Log;
  readonly #clocks: Clocks;
  readonly #limit: number;
  readonly #rest: number;
  /** Made when it begins: its module takes a hundredth of the time until the first answer. */
  #delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  readonly #recent: Stall[] = [];
  #stalls = 0;
  #longest = 0;
  #last: { readonly elapsed: number; readonly used: number };
  #timer: NodeJS.Timeout | undefined;
  #interval = interval;
  #isHeeding = false;
  /** What the looks since a fixed number of them found. */
  #window: Looks = noLooks;

  constructor({
    now,
    log,
    clocks = own,
    limit = longestTurn,
    rest = restingInterval,
  }: {
    now: () => number;
    log: Log;
    clocks?: Clocks;
    /** Milliseconds of computing that are not yet a stall. */
    limit?: number | undefined;
    /** Milliseconds between two looks at rest. */
    rest?: number;
  }) {
    this.#limit = limit;
    this.#rest = rest;
    this.#now = now;
    this.#log = log;
    this.#clocks = clocks;
    this.#last = { elapsed: clocks.elapsed(), used: clocks.used() };
  }

  begin(): void {
    this.#last = this.#read();
    this.#lookEach(interval);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#delays?.disable();
  }

  /** A request begins. At rest, a timer would not notice how long its first turn takes: the end of the turn does. */
  heed(): void {
    if (!this.#isAtRest || this.#isHeeding) return;
    this.#isHeeding = true;
    const begun = this.#read();
    setImmediate(() => {
      this.#isHeeding = false;
      const { elapsed, used } = this.#read();
      const computed = used - begun.used;
      if (!this.#isAtRest || computed < worksFrom) return;
      this.begin();
      this.#note(Math.min(elapsed - begun.elapsed, computed));
    });
  }

  /** Work begins that may compute, such as a job. */
  work(): void {
    if (this.#isAtRest) this.begin();
  }

  get #histogram() {
    this.#delays ??= monitorEventLoopDelay({ resolution: interval });
    return this.#delays;
  }

  #read() {
    return { elapsed: this.#clocks.elapsed(), used: this.#clocks.used() };
  }

  get #isAtRest(): boolean {
    return this.#timer !== undefined && this.#interval !== interval;
  }

  #lookEach(milliseconds: number): void {
    this.#interval = milliseconds;
    this.#window = noLooks;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.look(), milliseconds);
    this.#timer.unref();
    // It has a timer of its own.
    if (milliseconds === interval) this.#histogram.enable();
    else this.#histogram.disable();
  }

  /** Looks more often while the daemon works than while it rests. */
  #keepPace(passed: number, computed: number): void {
    if (this.#timer === undefined) return;
    if (this.#isAtRest) {
      if (computed > worksAbove * passed) this.#lookEach(interval);
      return;
    }
    const { looks, ...sums } = this.#window;
    this.#window = { looks: looks + 1, passed: sums.passed + passed, computed: sums.computed + computed };
    if (this.#window.looks < looksBeforeRest) return;
    if (this.#window.computed < restsBelow * this.#window.passed) this.#lookEach(this.#rest);
    else this.#window = noLooks;
  }

  /** Notes a stall since the last look. */
  look(): void {
    const { elapsed, used } = this.#read();
    const late = elapsed - this.#last.elapsed - this.#interval;
    const computed = used - this.#last.used;
    const passed = elapsed - this.#last.elapsed;
    this.#last = { elapsed, used };
    this.#keepPace(passed, computed);
    this.#note(Math.min(late, computed));
  }

  #note(stall: number): void {
    const milliseconds = Math.round(stall);
    if (milliseconds <= this.#limit) return;
    this.#stalls += 1;
    this.#longest = Math.max(this.#longest, milliseconds);
    this.#recent.unshift({ at: this.#now(), milliseconds });
    this.#recent.splice(mostShown);
    this.#log.info({ milliseconds }, 'event loop: stalled');
  }

  get report(): EventLoopReport {
    const shown = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? Math.round(nanoseconds / 1e5) / 10 : 0);
    const { mean, max } = this.#histogram;
    return {
      delay: { mean: shown(mean), p99: shown(this.#histogram.percentile(99)), max: shown(max) },
      stalls: this.#stalls,
      longest: this.#longest,
      recent: [...this.#recent],
    };
  }

  get problems(): readonly Problem[] {
    const since = this.#now() - repeated.within;
    const late = this.#recent.filter(({ at }) => at > since);
    if (late.length < repeated.stalls) return [];
    const longest = Math.max(...late.map(({ milliseconds }) => milliseconds));
    return [
      {
        kind: 'stalls',
        about: 'daemon',
        severity: 'warning',
        message: `Requests had to wait: Holdfast computed ${late.length} times in the last ten minutes for longer than ${this.#limit} ms without a pause, up to ${longest} ms. GET /api/holdfast/v1/daemon lists when. If this machine is slow, set HOLDFAST_STALL to more milliseconds; otherwise report it as an error.`,
      },
    ];
  }
}

const own: Clocks = {
  elapsed: () => performance.now(),
  used() {
    // Of this thread, where Node can tell: other threads compress, hash and collect garbage.
    const { user, system } =
      typeof process.threadCpuUsage === 'function' ? process.threadCpuUsage() : process.cpuUsage();
    return (user + system) / 1000;
  },
};
