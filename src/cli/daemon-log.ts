import { writeSync } from 'node:fs';
import pino from 'pino';
import { isJournal, withPriorities } from './journal.ts';
import { plainLines } from './plain-lines.ts';
import type { Settings } from './settings.ts';

/** Milliseconds that the end of the process waits for an output that takes no more lines. */
const longestWrite = 2000;

/** The log of the daemon, and what it needs to end with a message. */
export interface DaemonLog {
  readonly log: pino.Logger;
  /** Whether it is for a person at a terminal: a few lines of text instead of a line of JSON for each event. */
  readonly isPlain: boolean;
  /** Writes to the standard error why the process will end. */
  explain(message: string): void;
  /** Ends the process when all lines of the log are written. */
  end(status: number): void;
}

/**
 * Opens the log on the standard output. Whatever ends the process, except for a signal that cannot be caught, it leaves
 * a message: also when Node finds nothing to wait for during the start, and when another part calls `process.exit`.
 */
export function openLog(level: string, format: Settings['logFormat'] = 'auto'): DaemonLog {
  const destination = pino.destination({ dest: 1, sync: false });
  // Output that cannot be written, for example to a file on a full disk, must not end the daemon.
  destination.on('error', () => {});
  process.stderr.on('error', () => {});
  const isPlain = format === 'auto' ? process.stdout.isTTY === true : format === 'text';
  const written = isJournal(process.env['JOURNAL_STREAM']) ? withPriorities(destination) : destination;
  const log = pino(
    // What a person at a terminal has to know is printed by the start itself, and what goes wrong.
    { level: isPlain && level === 'info' ? 'warn' : level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    isPlain ? plainLines(destination) : written,
  );
  let isExplained = false;
  process.on('exit', (status) => {
    attempt(() => destination.flushSync());
    if (!isExplained) attempt(() => writeSync(2, `holdfast: the daemon ended unexpectedly with status ${status}.\n`));
  });
  return {
    log,
    isPlain,
    explain(message) {
      isExplained = true;
      process.stderr.write(`holdfast: ${message}\n`);
    },
    end(status) {
      isExplained = true;
      const exit = () => process.exit(status);
      destination.once('drain', exit);
      destination.once('error', exit);
      setTimeout(exit, longestWrite);
      // `flush` does not wait for the lines that are being written now, and those after them would come first. Nothing is
      // added, and `drain` follows when all is written.
      destination.write('');
    },
  };
}

/** At the end of the process, an error of a write can be reported nowhere. */
function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // See above.
  }
}
