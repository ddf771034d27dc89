import type { Severity } from '../../engine/declare/problem.ts';

/** A problem as a channel reports it. */
export interface Alert {
  /** The id of the problem. */
  readonly id: string;
  readonly kind: string;
  readonly about: string;
  readonly severity: Severity;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** `lasts` is a repetition, because the problem was not acknowledged. */
  readonly state: 'began' | 'lasts' | 'ended';
}

/** What is sent at one time: all that began or ended shortly after one another. */
export interface Bulletin {
  /** Name of the appliance. */
  readonly host: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly alerts: readonly Alert[];
}

/** Alerts that a text lists; the others are counted. */
const mostListed = 20;

const rank: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 };

export const isAtLeast = (severity: Severity, least: Severity): boolean => rank[severity] >= rank[least];

/** The most urgent severity of what lasts; `ended` if all of it has ended. */
export function toneOf(alerts: readonly Alert[]): Severity | 'ended' {
  const lasting = alerts.filter(({ state }) => state !== 'ended').map(({ severity }) => severity);
  return lasting.toSorted((a, b) => rank[b] - rank[a])[0] ?? 'ended';
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** One line: `nas: 2 problems, the worst is critical`. */
export function titleOf({ host, alerts }: Bulletin): string {
  const lasting = alerts.filter(({ state }) => state !== 'ended').length;
  const ended = alerts.length - lasting;
  if (lasting === 0) return `${host}: ${counted(ended, 'problem')} ended`;
  const tone = toneOf(alerts);
  const worst = lasting === 1 ? tone : `the worst is ${tone}`;
  return `${host}: ${counted(lasting, 'problem')}, ${worst}${ended > 0 ? `; ${ended} ended` : ''}`;
}

/** A line for each alert. */
export function textOf(alerts: readonly Alert[]): string {
  const lines = alerts.slice(0, mostListed).map(({ state, severity, message }) => {
    const word = state === 'ended' ? 'ended' : state === 'lasts' ? `still ${severity}` : severity;
    return `[${word}] ${message}`;
  });
  const more = alerts.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more: GET /api/holdfast/v1/problems lists them.`] : [])].join('\n');
}
