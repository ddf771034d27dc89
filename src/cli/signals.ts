import type { DaemonLog } from './daemon-log.ts';
import { notifySystemd } from './sd-notify.ts';

/** What signals do once the daemon has started. */
interface Started {
  stop(): Promise<void>;
  /** Reads what was changed outside of Holdfast. */
  reload(): Promise<void>;
}

/**
 * Handles signals from the beginning of the start on: without a handler, they would end the daemon without a message. A
 * daemon that is stopped while it starts ends at once; the next start completes or takes back what this one had begun. A
 * reload is done after the start; a daemon that does not reload ends with its terminal.
 */
export function takeSignals(
  { log, end }: DaemonLog,
  { reloads }: { readonly reloads: boolean },
): { started(by: Started): void } {
  let daemon: Started | undefined;
  let isStopping = false;
  let awaitsReload = false;

  const stop = (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, daemon === undefined ? 'stopping during the start' : 'stopping');
    (daemon?.stop() ?? Promise.resolve()).then(
      () => end(0),
      (error: unknown) => {
        log.error({ err: error }, 'stop failed');
        end(1);
      },
    );
  };
  const reload = async () => {
    awaitsReload = daemon === undefined;
    if (daemon === undefined) return;
    log.info('reloading');
    await notifySystemd('--reloading');
    await daemon.reload().catch((error: unknown) => log.error({ err: error }, 'reload failed'));
    await notifySystemd('--ready');
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('SIGHUP', () => (reloads ? void reload() : stop('SIGHUP')));
  return {
    started(by) {
      daemon = by;
      if (awaitsReload) void reload();
    },
  };
}
