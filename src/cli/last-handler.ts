import type { Log } from '../engine/engine.ts';

/**
 * Logs an error that nothing has caught, and lets the daemon go on: a storage appliance whose interface is gone takes no
 * snapshots, sends no mail and cannot be repaired from afar. What the error belongs to may have failed; each change is
 * kept as a whole or not at all, so the configuration has not.
 *
 * Node reports an unhandled rejection as an uncaught exception too.
 */
export function serveThroughErrors(log: Log): void {
  process.on('uncaughtException', (error, origin) =>
    log.error({ err: error, origin }, 'unexpected error: the daemon keeps serving'),
  );
}
