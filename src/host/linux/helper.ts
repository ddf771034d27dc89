/**
 * The helper process: starts programs for the daemon, which is too big to start them quickly itself. It is a program
 * of its own, ends with the daemon, and takes along what it still runs.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { messageOf } from '../../lib/text.ts';
import { isPermissionOrder, permissionsWord, setPermissionsBelow } from './permissions.ts';
import { type Report, readOrder, type StartOrder } from './protocol.ts';
import { carry, isTransferOrder, transferWord } from './transfer.ts';

/** Milliseconds from asking a program to end to ending it. */
const patience = 3000;

/** Milliseconds that a program's children may go on writing after it has ended, counted anew with each piece. */
const afterglow = 1000;

const running = new Map<number, (cut?: 'time' | 'size') => void>();

/** Work that is a program of its own, by the word that asks for it: told its order, it counts what it has done. */
const deeds: Readonly<Record<string, (order: unknown, told: (count: number) => void) => Promise<void>>> = {
  [permissionsWord]: async (order, told) => (isPermissionOrder(order) ? setPermissionsBelow(order, told) : noOrder()),
  [transferWord]: async (order, told) => (isTransferOrder(order) ? carry(order, told) : noOrder()),
};

const deed = deeds[process.argv[2] ?? ''];

if (deed !== undefined) {
  try {
    await deed(JSON.parse(await text(process.stdin)), (count) => process.stdout.write(`${count}\n`));
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  }
} else {
  process.on('message', (message) => {
    const order = readOrder(message);
    if (order?.kind === 'start') start(order);
    else if (order?.kind === 'end') running.get(order.id)?.();
  });
  process.on('disconnect', () => {
    for (const end of running.values()) end();
    process.exit();
  });
  // The daemon decides when it is time; a signal to the whole group must not end this process before its own work.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
}

function noOrder(): never {
  throw new Error('this is no order');
}

function tell(report: Report): void {
  process.send?.(report);
}

function start({ id, argv, input, folder, environment, timeout, most, tail, lines, umask }: StartOrder): void {
  const [program = '', ...rest] = argv;
  let cut: 'time' | 'size' | undefined;
  let status: number | undefined;
  const timers = new Set<NodeJS.Timeout>();
  // A process group of its own: whoever ends the program ends its children too.
  const own = umask === undefined ? undefined : process.umask(umask);
  // Without input there is none: a pipe of Node's is a socket, and some programs (proftpd) take a socket for a client.
  const child = spawn(program, rest, {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  if (own !== undefined) process.umask(own);

  const later = (milliseconds: number, deed: () => void) => {
    const timer = setTimeout(deed, milliseconds);
    timers.add(timer);
    return timer;
  };
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // It has ended by itself.
    }
  };
  const end = (reason?: 'time' | 'size') => {
    cut ??= reason;
    signal('SIGTERM');
    later(patience, () => signal('SIGKILL'));
    // A program that the kernel holds does not end even then; its answer does not wait for it.
    later(patience + 1000, () => answer());
  };
  const stdout = new Collected(most, tail, () => end('size'));
  const stderr = new Collected(most, tail, () => end('size'));
  const settle = () => {
    if (!running.delete(id)) return false;
    for (const timer of timers) clearTimeout(timer);
    child.stdout?.destroy();
    child.stderr?.destroy();
    return true;
  };
  const answer = () => {
    if (settle())
      tell({
        kind: 'ended',
        id,
        status: status ?? 128 + constants.signals.SIGKILL,
        stdout: stdout.text(),
        stderr: stderr.text(),
        cut,
      });
  };

  running.set(id, end);
  if (timeout !== undefined) later(timeout, () => end('time'));
  let glow: NodeJS.Timeout | undefined;
  const keep = (where: Collected) => (piece: Buffer) => {
    where.add(piece);
    glow?.refresh();
  };
  child.stderr?.on('data', keep(stderr));
  if (lines && child.stdout !== null)
    createInterface({ input: child.stdout }).on('line', (line) => tell({ kind: 'line', id, text: line }));
  child.stdout?.on('data', keep(stdout));
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (child.pid === undefined && settle())
      tell({ kind: 'failed', id, code: error.code ?? '', message: error.message });
  });
  child.on('exit', (code, name) => {
    status = code ?? 128 + (name === null ? 0 : constants.signals[name]);
    // What it left running in the background may hold its streams open for ever.
    glow = later(afterglow, answer);
  });
  child.on('close', answer);
  child.stdin?.on('error', () => {
    // The program did not want its input.
  });
  child.stdin?.end(input);
}

/** What a stream said: all of it up to a limit, or its end. */
class Collected {
  #pieces: Buffer[] = [];
  #size = 0;
  readonly #most: number;
  readonly #tail: boolean;
  readonly #overflow: () => void;

  constructor(most: number, tail: boolean, overflow: () => void) {
    this.#most = most;
    this.#tail = tail;
    this.#overflow = overflow;
  }

  add(piece: Buffer): void {
    if (!this.#tail && this.#size + piece.length > this.#most) {
      this.#overflow();
      return;
    }
    this.#pieces.push(piece);
    this.#size += piece.length;
    while (this.#tail && this.#size - (this.#pieces[0]?.length ?? 0) >= this.#most && this.#pieces.length > 1)
      this.#size -= this.#pieces.shift()?.length ?? 0;
  }

  text(): string {
    const whole = Buffer.concat(this.#pieces);
    if (!this.#tail || whole.length <= this.#most) return whole.toString();
    let from = whole.length - this.#most;
    // Not from within a character: its later bytes are 10xxxxxx.
    while (from < whole.length && ((whole[from] ?? 0) & 0xc0) === 0x80) from += 1;
    return whole.subarray(from).toString();
  }
}
