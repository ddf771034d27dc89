import { execFile } from 'node:child_process';

/**
 * Reports to the service manager how far the daemon is. Node has no datagram sockets in the file system, so systemd's own
 * program carries the message: never more often than the start's messages below.
 */
export function notifySystemd(...states: readonly string[]): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    execFile('systemd-notify', [`--pid=${process.pid}`, ...states], () => resolve());
  });
}

/** Milliseconds between two messages. */
const interval = 10_000;

/** Seconds without progress after which systemd may end the start: twice as long as a service may take to start. */
const patience = 300;

/**
 * Lets systemd wait for a start that takes long, as long as something moves: each message gives the start five more
 * minutes, and none is sent without progress. The first comes after ten seconds, so that a usual start sends none.
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

  /** Something moved; `what` is under way now, nothing when it is empty. */
  progress(what: string): void {
    this.#what = what;
    if (this.#later !== undefined) return;
    const wait = this.#sent + interval - this.#now();
    if (wait <= 0) void this.#tell();
    else {
      this.#later = setTimeout(() => void this.#tell(), wait);
      this.#later.unref();
    }
  }

  /** The units that come after this one may start. Pools that are still being imported are reported from now on as a status. */
  ready(): Promise<void> {
    this.#isReady = true;
    return this.#tell('READY=1');
  }

  #tell(...states: readonly string[]): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#sent = this.#now();
    if (!this.#isReady)
      return this.#send(`EXTEND_TIMEOUT_USEC=${patience * 1_000_000}`, `STATUS=Starting: ${this.#what}`);
    return this.#send(...states, `STATUS=Serving${this.#what === '' ? '' : `, ${this.#what}`}`);
  }
}
