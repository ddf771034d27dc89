import { fstatSync } from 'node:fs';

/** What pino writes its lines to. */
interface Destination {
  write(line: string): unknown;
}

/** Set by pino on a destination that asks for it, before each line. */
const metadata = Symbol.for('pino.metadata');

/** Levels of pino, with the priorities of syslog that the journal knows. */
const priorities: readonly (readonly [number, number])[] = [
  [60, 2],
  [50, 3],
  [40, 4],
  [30, 6],
];

/** The priority of a line, for example 4, warning, for `warn`. */
export function priorityOf(level: number): number {
  return priorities.find(([from]) => level >= from)?.[1] ?? 7;
}

/**
 * Begins each line with its priority, which the journal removes and stores (sd-daemon(3)), so that `journalctl -p warning`
 * shows warnings and errors.
 */
export function withPriorities(destination: Destination) {
  return {
    [metadata]: true,
    lastLevel: 30,
    write(line: string): void {
      destination.write(`<${priorityOf(this.lastLevel)}>${line}`);
    },
  };
}

/** Whether standard output is the journal, as systemd says in JOURNAL_STREAM (systemd.exec(5)). */
export function isJournal(stream: string | undefined): boolean {
  if (stream === undefined) return false;
  const { dev, ino } = fstatSync(1);
  return stream === `${dev}:${ino}`;
}
