import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a program of this machine and returns its output; throws its message when it fails. */
export async function run(...words: readonly [string, ...string[]]): Promise<string> {
  const [program, ...rest] = words;
  const { stdout } = await execute(program, rest, { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

export interface ClientOutcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a client program, for at most `seconds` (120 by default); its exit status is an answer. */
export function runClient(
  words: readonly [string, ...string[]],
  options: { readonly input?: string; readonly seconds?: number } = {},
): Promise<ClientOutcome> {
  const [program, ...rest] = words;
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      rest,
      { maxBuffer: 64 * 1024 * 1024, timeout: (options.seconds ?? 120) * 1000 },
      (error, stdout, stderr) => {
        const status = child.exitCode;
        if (error !== null && status === null) reject(error);
        else resolve({ status: status ?? 0, stdout, stderr });
      },
    );
    // The program has ended or closed its standard input.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}

/**
 * Networks of the test: bridges in the test's network namespace, on which the test is host 2. Machines that start at the same
 * time wait for the same one.
 */
const bridges = new Map<number, Promise<void>>();

/** A client that goes on until the test ends it. */
export interface Session extends AsyncDisposable {
  /** Ends it and returns `it lasted`, or its output when it had already ended. */
  end(): Promise<string>;
}

/** Starts a client program, whose output is of no interest but for errors. */
export function lastingClient([program, ...rest]: readonly [string, ...string[]]): Session {
  const child = spawn(program, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (part) => {
    stderr += String(part);
  });
  const closed = once(child, 'close');
  const end = async () => {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    // Programs of libiscsi ignore SIGTERM.
    child.kill('SIGKILL');
    await closed;
    return hasEnded ? `the session ended by itself: ${stderr}` : 'it lasted';
  };
  return {
    end,
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}

/** The address of host `host` on network `network`: 10.0.2.x on the first, 10.0.3.x on the second. */
export function addressOn(network: number, host: number): string {
  return `10.0.${2 + network}.${host}`;
}

/** A tap for a machine on a network; creates the network when the machine is the first on it. */
export async function plugInto(network: number, tap: string): Promise<void> {
  const bridge = `net${network}`;
  const made = bridges.get(network) ?? makeBridge(network, bridge);
  bridges.set(network, made);
  await made;
  await run('ip', 'tuntap', 'add', tap, 'mode', 'tap');
  await run('ip', 'link', 'set', tap, 'master', bridge);
  await run('ip', 'link', 'set', tap, 'up');
}

async function makeBridge(network: number, bridge: string): Promise<void> {
  await run('ip', 'link', 'add', bridge, 'type', 'bridge');
  await run('ip', 'addr', 'add', `${addressOn(network, 2)}/24`, 'dev', bridge);
  // A machine that starts is asked for its address each second otherwise.
  await writeFile(`/proc/sys/net/ipv4/neigh/${bridge}/retrans_time_ms`, '100');
  await run('ip', 'link', 'set', bridge, 'up');
}
