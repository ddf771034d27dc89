import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isObject } from '../../src/lib/json.ts';

/** A request that the receiver got. */
export interface Received {
  /** The header webhook-id. */
  readonly id: string;
  /** `accepted` for the first time, `repeated`, `unavailable` or `cut before`. */
  readonly outcome: string;
  /** The header webhook-timestamp. */
  readonly at: number;
  readonly signed: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** The numbers of the events that it accepted, in their order. */
  readonly accepted: readonly number[];
  /** Lets it verify signatures by this secret too. */
  knows(secret: string): Promise<void>;
}

/** Starts a receiver as a process of its own. `faults` is the share of requests that it does not answer well, up to 1. */
export async function startReceiver({ faults = 0, seed = 1 } = {}): Promise<Receiver> {
  const program = fileURLToPath(new URL('receiver.ts', import.meta.url));
  const child = spawn(process.execPath, [program, String(faults), String(seed)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const received: Received[] = [];
  const port = Promise.withResolvers<number>();
  child.on('exit', () => port.reject(new Error('the receiver ended')));
  const lines = createInterface({ input: child.stdout }).on('line', (line) => {
    const value: unknown = JSON.parse(line);
    if (!isObject(value)) return;
    const { id, outcome, at, signed, body } = value;
    if (typeof value['port'] === 'number') port.resolve(value['port']);
    else if (isObject(body))
      received.push({ id: String(id), outcome: String(outcome), at: Number(at), signed: signed === true, body });
  });
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  return {
    url: `http://127.0.0.1:${await port.promise}/events`,
    received,
    get accepted() {
      return received.filter(({ outcome }) => outcome === 'accepted').map(({ id }) => Number(id));
    },
    async knows(secret) {
      child.stdin.write(`${secret}\n`);
      for (let line = ''; !line.startsWith('{"secrets"'); ) line = String((await once(lines, 'line'))[0]);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}
