import { execFile } from 'node:child_process';

/**
 * Reports the state of the daemon to the service manager. Node does not support Unix datagram sockets, so
 * `systemd-notify` sends the message.
 */
export function notifySystemd(...states: readonly string[]): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    execFile('systemd-notify', [`--pid=${process.pid}`, ...states], () => resolve());
  });
}

/** Milliseconds between two messages. */
const interval = 10_000;

/**
 * Seconds without progress after which systemd may end the start: twice the time that one service may take to start.
 */
const patience = 300;

/**
 * Lets systemd wait for a long start as long as it makes progress: each message extends the timeout by five minutes,
 * and none is sent without progress. The first message is sent after ten seconds, so a usual start sends none.
 */
export class StartNotifier {
  readonly #send: (...states: readonly string[]) => Promise<void>;
  readonly #now: () => number;
  #sent: number;
  #later: NodeJS.Timeout | undefined;
  #what = '';
  #isReady = false;

  constructor(options: { readonly send?: typeof notifySystemd; readonly now?: () => number } = {}) {
    this.#send = options.send ?? notifySystemd;
    this.#now = options.now ?? (() => performance.now());
    this.#sent = this.#now();
  }

  /** Called for each progress; `what` is the current work, empty after the start. */
  progress(what: string): void {
    this.#what = what;
    if (this.#later !== undefined) return;
    const wait = this.#sent + interval - this.#now();
    if (wait <= 0) void this.#notify();
    else {
      this.#later = setTimeout(() => void this.#notify(), wait);
      this.#later.unref();
    }
  }

  /**
   * Reports the service as started, so that dependent units start. Pools that are still being imported become the
   * status.
   */
  ready(): Promise<void> {
    this.#isReady = true;
    return this.#notify('READY=1');
  }

  #notify(...states: readonly string[]): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#sent = this.#now();
    if (!this.#isReady)
      return this.#send(`EXTEND_TIMEOUT_USEC=${patience * 1_000_000}`, `STATUS=Starting: ${this.#what}`);
    return this.#send(...states, `STATUS=Serving${this.#what === '' ? '' : `, ${this.#what}`}`);
  }
}
