import type { Problem } from '../../engine/declare/problem.ts';
import type { View } from '../../engine/declare/resource.ts';
import { nextRun, scheduleOf, type Timetable } from '../../engine/declare/schedule.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { aboutDisk } from '../storage/disk-problems.ts';
import { diskNamed } from '../storage/disks.ts';
import { replicationTask } from '../storage/replication.ts';
import { scrubTask } from '../storage/scrub.ts';
import { timetableOf } from '../storage/snapshot-times.ts';
import { covers, snapshotTask } from '../storage/task.ts';
import { smartTest } from '../tasks/smarttest.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Days after a scrub without an enabled task. */
const unscrubbed = 90;

/** Milliseconds that a run may take before it counts as missed. */
const grace = { snapshot: 15 * minute, scrub: day, test: day } as const;

/** The shortest time for which a replication may fail. */
const leastReplication = 30 * minute;

interface LateTasksParts {
  readonly view: () => View;
  readonly facts: () => Facts;
  readonly now: () => number;
  readonly zone: () => string;
  /** How the last run of each subject ended. */
  readonly lastEnded: () => readonly { readonly subject: string; readonly state: string }[];
  /** How the runs of a subject ended, the newest first. */
  readonly runs: (subject: string) => readonly { readonly state: string; readonly ended: string | null }[];
}

/**
 * Tasks that have not succeeded for twice their period: two runs were due since the last success. A task whose success is
 * not known counts from when it was first seen or last changed.
 */
export class LateTasks {
  readonly #parts: LateTasksParts;
  readonly #seen = new WeakMap<object, number>();
  #began: number | undefined;

  constructor(parts: LateTasksParts) {
    this.#parts = parts;
  }

  get problems(): readonly Problem[] {
    const found = [...this.#snapshots(), ...this.#replications(), ...this.#scrubs(), ...this.#tests()];
    this.#began ??= this.#parts.now();
    return found;
  }

  /** From when on two runs must have been due. What was there at the start of the daemon counts from its last success. */
  #base(record: object, success: number | undefined): number {
    const now = this.#parts.now();
    const began = this.#began ?? now;
    const seen = this.#seen.get(record) ?? (this.#began === undefined ? 0 : now);
    this.#seen.set(record, seen);
    return Math.max(seen, success ?? began);
  }

  /** Whether two runs were due since then. */
  #isLate(when: Timetable, base: number, patience: number): boolean {
    const { now, zone } = this.#parts;
    if (now() - base <= patience) return false;
    const first = nextRun(when, base, zone());
    const second = first === undefined ? undefined : nextRun(when, first, zone());
    return second !== undefined && second + patience < now();
  }

  #snapshots(): readonly Problem[] {
    const { view, facts } = this.#parts;
    const newest = facts().storage.snapshots.newestByTask;
    return view()
      .all(snapshotTask)
      .filter((task) => task.task_enabled && facts().storage.datasets.has(task.task_filesystem))
      .flatMap((task): readonly Problem[] => {
        const taken = newest.get(task.id);
        const last = taken === undefined ? undefined : taken * 1000;
        if (!this.#isLate(timetableOf(task), this.#base(task, last), grace.snapshot)) return [];
        const since = last === undefined ? 'never' : `since ${new Date(last).toISOString()} not`;
        const message = `The task ${task.id} has ${since} taken a snapshot of ${task.task_filesystem}, although two were due. GET /api/holdfast/v1/jobs?subject=storage/task/${task.id} shows its runs.`;
        return [{ kind: 'late', about: `storage/task/${task.id}`, severity: 'warning', message }];
      });
  }

  #replications(): readonly Problem[] {
    const { view, runs, lastEnded, now } = this.#parts;
    const failed = new Set(lastEnded().flatMap(({ subject, state }) => (state === 'failed' ? subject : [])));
    const tasks = view().all(snapshotTask);
    return view()
      .all(replicationTask)
      .filter(({ id, repl_enabled }) => repl_enabled && failed.has(`storage/replication/${id}`))
      .flatMap(({ id, repl_filesystem }): readonly Problem[] => {
        const ended = runs(`storage/replication/${id}`).filter((run) => run.ended !== null);
        const good = ended.find(({ state }) => state === 'finished');
        const since = Date.parse((good ?? ended.at(-1))?.ended ?? '');
        const periods = tasks
          .filter((task) => task.task_enabled && covers(task, repl_filesystem))
          .map((task) => task.task_interval * minute);
        const patience = Math.max(leastReplication, 2 * Math.min(day, ...periods));
        if (!(now() - since > patience)) return [];
        const message = `The replication of ${repl_filesystem} has ${good === undefined ? 'not succeeded' : `last succeeded at ${new Date(since).toISOString()}`}, and its runs fail for longer than twice the period of its snapshots. GET /api/holdfast/v1/jobs?subject=storage/replication/${id} shows why.`;
        return [{ kind: 'late', about: `storage/replication/${id}`, severity: 'critical', message }];
      });
  }

  #scrubs(): readonly Problem[] {
    const { view, facts, now } = this.#parts;
    return [...facts().storage.pools.values()].flatMap(({ name, scan }): readonly Problem[] => {
      // After a resilver, the time of the last scrub is unknown.
      if (scan?.kind !== 'scrub' || scan.ended === undefined) return [];
      const task = view().find(scrubTask, 'scrub_volume', name);
      const ended = scan.ended * 1000;
      const days = Math.floor((now() - ended) / day);
      const isLate =
        task?.scrub_enabled === true
          ? this.#isLate(scheduleOf('scrub', task), ended + task.scrub_threshold * day, grace.scrub)
          : days >= unscrubbed;
      if (!isLate) return [];
      const message = `The last scrub of the volume ${name} ended ${days} days ago. Errors that no program reads are found only by a scrub: POST /storage/volume/${name}/scrub/ starts one.`;
      const remedy = { method: 'POST', path: `/api/v1.0/storage/volume/${name}/scrub/` } as const;
      return [{ kind: 'scrub', about: `storage/volume/${name}`, severity: 'warning', message, remedy }];
    });
  }

  #tests(): readonly Problem[] {
    const { view, facts, now } = this.#parts;
    const { condition, disks } = facts();
    return view()
      .all(smartTest)
      .filter(({ smarttest_type }) => smarttest_type === 'L' || smarttest_type === 'S')
      .flatMap((task) =>
        task.smarttest_disks.flatMap((identifier): readonly Problem[] => {
          const name = diskNamed(identifier, disks)?.name;
          const health = condition.health.find((one) => one.name === name);
          if (name === undefined || health?.hours === undefined) return [];
          const age = health.testedAt === undefined ? undefined : (health.hours - health.testedAt) * hour;
          const last = age === undefined ? undefined : now() - age;
          const when = scheduleOf('smarttest', { ...task, smarttest_minute: '0' });
          if (!this.#isLate(when, this.#base(task, last), grace.test)) return [];
          const passed = age === undefined ? 'no self-test' : `no self-test for ${Math.floor(age / day)} days`;
          const message = `The disk ${name} has completed ${passed}, although two were due by the task ${task.id}. Its log shows why: smartctl --log=selftest /dev/${name}.`;
          return [
            {
              kind: 'self-test',
              about: aboutDisk(name, { disks }),
              detail: String(task.id),
              severity: 'warning',
              message,
            },
          ];
        }),
      );
  }
}
