import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import { type CurrentProblem, type Problem, problemId, type Severity } from '../declare/problem.ts';

import type { Resource, Situation } from '../declare/resource.ts';

interface ProblemsParts {
  /** Each computes the current problems of one part. */
  readonly sources: readonly (() => readonly Problem[])[];
  readonly events: EventBus;
  readonly log: Log;
  readonly now: () => number;
}

/** Milliseconds that collect causes of a look, such as the events of many datasets. */
const pause = 100;

/**
 * A look with many thousand records takes tens of milliseconds. Under a load of changes the next one waits for this many
 * times as long, so that looks take at most a twentieth of the processor.
 */
const restAfter = 20;

/** Milliseconds between looks without a cause: some problems, such as a certificate that expires, begin with time. */
const interval = 60_000;

const urgency: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 };

/**
 * The current problems. The list is computed when it is read; looking at it after each possible cause reports every
 * problem that began or ended, once, as an event and in the log.
 */
export class Problems {
  readonly #parts: ProblemsParts;
  /** The problems of the last look. */
  #known: ReadonlyMap<string, CurrentProblem> = new Map();
  #soon: NodeJS.Timeout | undefined;
  /** Milliseconds that the last look took. */
  #took = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: ProblemsParts) {
    this.#parts = parts;
  }

  /** The current problems, the most urgent first. */
  get list(): readonly CurrentProblem[] {
    const { sources, now } = this.#parts;
    const current = new Map<string, CurrentProblem>();
    for (const problem of sources.flatMap((source) => source())) {
      const id = problemId(problem);
      const since = problem.since ?? this.#known.get(id)?.since ?? now();
      if (!current.has(id)) current.set(id, Object.freeze({ ...problem, id, since }));
    }
    return [...current.values()].toSorted((a, b) => urgency[a.severity] - urgency[b.severity]);
  }

  /** The problems of the last look, which is at most a minute old. Reading them computes nothing. */
  get known(): readonly CurrentProblem[] {
    return [...this.#known.values()];
  }

  /** Starts to report problems that begin and end. Before the start has configured the machine, everything is wrong. */
  begin(): void {
    // A daemon that was stopped during its start has closed the store.
    if (this.#isClosed) return;
    this.#timer = setInterval(() => this.look(), interval);
    this.#timer.unref();
    this.look();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#timer = undefined;
  }

  /** Looks in a moment. Called when something changed that problems depend on. */
  soon(): void {
    if (this.#timer === undefined || this.#soon !== undefined) return;
    this.#soon = setTimeout(() => this.look(), Math.max(pause, this.#took * restAfter));
    this.#soon.unref();
  }

  /** Reports the problems that began or ended since the last look. */
  look(): void {
    const { events, log } = this.#parts;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const before = this.#known;
    const begun = performance.now();
    this.#known = new Map(this.list.map((problem) => [problem.id, problem]));
    this.#took = performance.now() - begun;
    for (const { id, kind, about, severity, message } of this.#known.values()) {
      if (before.has(id)) continue;
      log[levelOf[severity]]({ problem: kind, about }, message);
      events.emit('problem.began', { id, kind, about, severity, message });
    }
    for (const { id, kind, about } of before.values()) {
      if (this.#known.has(id)) continue;
      log.info({ problem: kind, about }, `problem ended: ${kind} of ${about}`);
      events.emit('problem.ended', { id, kind, about });
    }
  }
}

export function problemsOfResources(resources: readonly Resource[], situation: Situation): readonly Problem[] {
  const { view } = situation;
  return resources.flatMap((resource) => {
    if (resource.kind === 'hosted') return resource.problems?.(situation) ?? [];
    if (resource.kind === 'singleton') return resource.problems?.(view.only(resource), situation) ?? [];
    return resource.problems?.(view.all(resource), situation) ?? [];
  });
}

const levelOf = { info: 'info', warning: 'warn', critical: 'error' } as const satisfies Record<Severity, keyof Log>;
