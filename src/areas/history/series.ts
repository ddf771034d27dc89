/** The series of the history: what each is of, its unit, and its name such as `pool/tank/used`. */

export const units = ['bytes', 'bytes/s', 'operations/s', 'ms', 'percent', 'celsius', 'errors', 'sessions'] as const;
export type Unit = (typeof units)[number];

export const subjects = ['pool', 'disk', 'interface', 'service', 'system'] as const;
export type Subject = (typeof subjects)[number];

export const metrics: Readonly<Record<Subject, Readonly<Record<string, Unit>>>> = {
  pool: {
    used: 'bytes',
    size: 'bytes',
    read: 'bytes/s',
    written: 'bytes/s',
    reads: 'operations/s',
    writes: 'operations/s',
    read_latency: 'ms',
    write_latency: 'ms',
  },
  disk: { temperature: 'celsius', errors: 'errors' },
  interface: { received: 'bytes/s', sent: 'bytes/s' },
  service: { sessions: 'sessions' },
  system: { processor: 'percent', memory: 'bytes', cache: 'bytes', cache_hits: 'percent' },
};

export interface Series {
  readonly subject: Subject;
  /** Name of the pool, interface or service; serial number of the disk; empty for the system. */
  readonly of: string;
  readonly metric: string;
  readonly unit: Unit;
}

export const nameOf = (subject: Subject, of: string, metric: string): string =>
  of === '' ? `${subject}/${metric}` : `${subject}/${of.replaceAll(/[,/\s]+/g, '_')}/${metric}`;

/** Undefined for a name that no version of the daemon writes. */
export function seriesOf(name: string): Series | undefined {
  const parts = name.split('/');
  const subject = subjects.find((one) => one === parts[0]);
  const metric = parts.at(-1) ?? '';
  const unit = subject && Object.hasOwn(metrics[subject], metric) ? metrics[subject][metric] : undefined;
  if (subject === undefined || unit === undefined || parts.length !== (subject === 'system' ? 2 : 3)) return undefined;
  return { subject, of: subject === 'system' ? '' : (parts[1] ?? ''), metric, unit };
}
