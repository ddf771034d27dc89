import type { Alert, Bulletin } from './alert.ts';

/** The facility of daemons, and what the severities are among the eight of syslog. */
const facility = 3;
const levels = { critical: 2, warning: 4, info: 6, ended: 5 } as const;

/** A message of RFC 5424, without the framing of a transport. */
export function syslogMessage(alert: Alert, { host, at }: Omit<Bulletin, 'alerts'>): string {
  const { id, kind, about, severity, state, message } = alert;
  const priority = facility * 8 + levels[state === 'ended' ? 'ended' : severity];
  // 32473 is the number of examples (RFC 5612): Holdfast has none of its own.
  const data = Object.entries({ id, kind, about, severity, state }).map(
    ([name, value]) => ` ${name}="${escaped(value)}"`,
  );
  const header = `<${priority}>1 ${new Date(at).toISOString()} ${nameOf(host)} holdfast - ${nameOf(kind).slice(0, 32)}`;
  return `${header} [holdfast@32473${data.join('')}] \u{feff}${message.replaceAll(/\p{Cc}+/gu, ' ')}`;
}

/** A frame for TCP and TLS: the number of octets before the message (RFC 6587, RFC 5425). */
export function framed(message: string): Buffer {
  const octets = Buffer.from(message);
  return Buffer.concat([Buffer.from(`${octets.length} `), octets]);
}

const escaped = (value: string) => value.replaceAll(/["\\\]]/g, (character) => `\\${character}`);

/** Printable ASCII without spaces. */
const nameOf = (text: string) => text.replaceAll(/[^!-~]+/g, '-').slice(0, 255) || '-';
