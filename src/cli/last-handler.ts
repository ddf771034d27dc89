import type { Log } from '../engine/engine.ts';

/** A machine of a pair serves an appliance again each time it takes the pool. */
let isHandled = false;

/**
 * Logs uncaught errors and keeps the daemon running: without it, a storage appliance takes no snapshots, sends no mail
 * and cannot be repaired remotely. The operation with the error may have failed. The configuration remains consistent,
 * because each change is stored as a whole or not at all.
 *
 * Node reports unhandled rejections as uncaught exceptions too.
 */
export function serveThroughErrors(log: Log): void {
  if (isHandled) return;
  isHandled = true;
  process.on('uncaughtException', (error, origin) =>
    log.error({ err: error, origin }, 'unexpected error: the daemon keeps serving'),
  );
}
