/**
 * What is wrong with the appliance, as values. Resources, subsystems and parts of the engine declare their problems as
 * functions of the configuration and the facts: a problem exists exactly while its cause does. Alerts, mail, readiness
 * and the events of problems read one list (`upkeep/problems.ts`).
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../lib/json.ts';

export const severities = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

export interface Problem {
  /** What is wrong: `locked`. A problem is the same as long as `kind`, `about` and `detail` are, whatever its message. */
  readonly kind: string;
  /**
   * What it is about: the path of a record or resource (`sharing/cifs/3`), `subsystem/NAME`, or a path of the machine,
   * which begins with a slash.
   */
  readonly about: string;
  /** Distinguishes problems of one kind about the same thing, such as the errors of several disks of a volume. */
  readonly detail?: string;
  readonly severity: Severity;
  /** For users: what is wrong, and what to do. */
  readonly message: string;
  /** When it began, in milliseconds since 1970, if that is known. Otherwise it counts from when it was first seen. */
  readonly since?: number;
  /** The paths of the records that cannot do their work because of it. */
  readonly affects?: readonly string[];
  /** The request that ends it, if there is one that needs nothing else. */
  readonly remedy?: Remedy;
}

export interface Remedy {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject;
}

/** A problem of the list. */
export interface CurrentProblem extends Problem {
  readonly id: string;
  readonly since: number;
}

/** The id of a problem depends on its cause only, so that it stays the same while figures in the message change. */
export function problemId({ kind, about, detail }: Pick<Problem, 'kind' | 'about' | 'detail'>): string {
  const cause = [kind, about, ...(detail === undefined ? [] : [detail])].join(' ');
  return createHash('sha256').update(cause).digest('hex').slice(0, 32);
}
