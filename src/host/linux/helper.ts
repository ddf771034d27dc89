/**
 * The helper process starts programs for the daemon: a fork of the daemon's large process would block it. It ends with
 * the daemon, and then ends the programs that it still runs.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { StringDecoder } from 'node:string_decoder';
import { messageOf } from '../../lib/text.ts';
import { isPermissionOrder, permissionsWord, setPermissionsBelow } from './permissions.ts';
import { type Report, readOrder, type StartOrder } from './protocol.ts';
import { isRestoreOrder, restoreBelow, restoreWord } from './restore.ts';
import { carry, isTransferOrder, transferWord } from './transfer.ts';

/** Milliseconds between SIGTERM and SIGKILL. */
const patience = 3000;

/**
 * Milliseconds without output after which the streams of an ended program are closed, although its children hold them.
 */
const drainTime = 1000;

/** Bytes of a long output that are sent on together. */
const pieceSize = 64 * 1024;

const running = new Map<number, (cut?: 'time' | 'size') => void>();

/**
 * Operations that run in a process of their own, by the argument that selects them. Each reports a count of what it has
 * done.
 */
const operations: Readonly<Record<string, (order: unknown, report: (count: number) => void) => Promise<void>>> = {
  [permissionsWord]: async (order, report) =>
    isPermissionOrder(order) ? setPermissionsBelow(order, report) : refuseOrder(),
  [restoreWord]: async (order, report) => (isRestoreOrder(order) ? restoreBelow(order, report) : refuseOrder()),
  [transferWord]: async (order, report) => (isTransferOrder(order) ? carry(order, report) : refuseOrder()),
};

const operation = operations[process.argv[2] ?? ''];

if (operation !== undefined) {
  try {
    await operation(JSON.parse(await text(process.stdin)), (count) => process.stdout.write(`${count}\n`));
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  }
} else {
  process.on('message', (message) => {
    const order = readOrder(message);
    if (order?.kind === 'start') start(order);
    else if (order?.kind === 'end') running.get(order.id)?.();
    else if (order?.kind === 'close') close();
  });
  process.on('disconnect', close);
  // The daemon ends this process. A signal to the whole process group must not end it before the daemon has stopped.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
}

function close(): never {
  for (const end of running.values()) end();
  process.exit();
}

function refuseOrder(): never {
  throw new Error('expected an order for the helper process on standard input');
}

/**
 * Reports the lines that match, those of one read together. The program is read again only when the daemon's channel has
 * taken them: a pool that loses a disk has thousands of events a second, and what other programs answer must not queue
 * behind them. ZFS drops the oldest unread events.
 */
function reportLines(stream: Readable, id: number, wanted: RegExp): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const report = (all: readonly string[]) => {
    const texts = all.filter((line) => wanted.test(line));
    if (texts.length === 0) return;
    stream.pause();
    send({ kind: 'lines', id, texts }, () => stream.resume());
  };
  stream.on('data', (piece: Buffer) => {
    // A carriage return alone ends a line of progress; at the end of a piece it may be half of a line end.
    const all = `${rest}${decoder.write(piece)}`.split(/\r\n|\n|\r(?!$)/);
    rest = all.pop() ?? '';
    report(all);
  });
  stream.on('end', () => {
    if (rest !== '') report([rest.replace(/\r$/, '')]);
  });
}

function send(report: Report, sent = () => {}): void {
  // A daemon that stops no longer reads reports. Without a callback, the failed write would end this process with a
  // stack trace in the log, before it has ended the programs that still run.
  process.send?.(report, sent);
}

function start({ id, argv, input, folder, environment, timeout, most, tail, lines, umask }: StartOrder): void {
  const [program = '', ...rest] = argv;
  let cut: 'time' | 'size' | undefined;
  let status: number | undefined;
  const timers = new Set<NodeJS.Timeout>();
  // A program inherits the umask of this process.
  const own = umask === undefined ? undefined : process.umask(umask);
  // `detached` makes a process group, so that a signal reaches the program and its children. Without input, standard
  // input is not a pipe: a pipe of Node's is a socket, and some programs (proftpd) take a socket for a client.
  const child = spawn(program, rest, {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  if (own !== undefined) process.umask(own);

  const later = (milliseconds: number, callback: () => void) => {
    const timer = setTimeout(callback, milliseconds);
    timers.add(timer);
    return timer;
  };
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // The program has already ended.
    }
  };
  const end = (reason?: 'time' | 'size') => {
    cut ??= reason;
    signal('SIGTERM');
    later(patience, () => signal('SIGKILL'));
    // A program in an uninterruptible system call survives even SIGKILL; the daemon is answered regardless.
    later(patience + 1000, () => answer());
  };
  /** Pieces of output that the daemon has not taken. */
  let untaken = 0;
  const sendOn = (stream: 'stdout' | 'stderr') => (bytes: Buffer) => {
    untaken += 1;
    child[stream]?.pause();
    send({ kind: 'output', id, stream, bytes }, () => {
      untaken -= 1;
      child[stream]?.resume();
    });
  };
  const output = (stream: 'stdout' | 'stderr') =>
    tail ? new Tail(most) : new SentOn(most, sendOn(stream), () => end('size'));
  const stdout = output('stdout');
  const stderr = output('stderr');
  const settle = () => {
    if (!running.delete(id)) return false;
    for (const timer of timers) clearTimeout(timer);
    child.stdout?.destroy();
    child.stderr?.destroy();
    return true;
  };
  const answer = () => {
    if (settle())
      send({
        kind: 'ended',
        id,
        status: status ?? 128 + constants.signals.SIGKILL,
        stdout: stdout.rest(),
        stderr: stderr.rest(),
        cut,
      });
  };

  running.set(id, end);
  if (timeout !== undefined) later(timeout, () => end('time'));
  let drain: NodeJS.Timeout | undefined;
  const keep = (where: Output) => (piece: Buffer) => {
    where.add(piece);
    drain?.refresh();
  };
  child.stderr?.on('data', keep(stderr));
  if (lines !== undefined && child.stdout !== null) reportLines(child.stdout, id, new RegExp(lines));
  child.stdout?.on('data', keep(stdout));
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (child.pid === undefined && settle())
      send({ kind: 'failed', id, code: error.code ?? '', message: error.message });
  });
  child.on('exit', (code, name) => {
    status = code ?? 128 + (name === null ? 0 : constants.signals[name]);
    // Programs that it left in the background may hold its streams open indefinitely. While the daemon takes nothing,
    // no output is read here, but there may be some.
    drain = later(drainTime, () => (untaken > 0 ? drain?.refresh() : answer()));
  });
  child.on('close', answer);
  child.stdin?.on('error', () => {
    // The program ended or closed its standard input without reading all of it.
  });
  child.stdin?.end(input);
}

/** The output on a stream. */
interface Output {
  add(piece: Buffer): void;
  /** What has not been sent on. */
  rest(): Buffer;
}

/** All of an output up to a limit, sent on whenever there is enough of it: a long output is never in this process. */
class SentOn implements Output {
  #pieces: Buffer[] = [];
  #size = 0;
  #sent = 0;
  readonly #most: number;
  readonly #send: (bytes: Buffer) => void;
  readonly #overflow: () => void;

  constructor(most: number, send: (bytes: Buffer) => void, overflow: () => void) {
    this.#most = most;
    this.#send = send;
    this.#overflow = overflow;
  }

  add(piece: Buffer): void {
    if (this.#sent + this.#size + piece.length > this.#most) {
      this.#overflow();
      return;
    }
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size < pieceSize) return;
    this.#send(this.rest());
    this.#sent += this.#size;
    this.#pieces = [];
    this.#size = 0;
    // Frees what was sent before. V8 alone would let some 60 MB of it gather, because the bytes are outside its heap.
    globalThis.gc?.({ type: 'minor' });
  }

  rest(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** The last bytes of an output. */
class Tail implements Output {
  readonly #pieces: Buffer[] = [];
  #size = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
    while (this.#size - (this.#pieces[0]?.length ?? 0) >= this.#most && this.#pieces.length > 1)
      this.#size -= this.#pieces.shift()?.length ?? 0;
  }

  rest(): Buffer {
    const whole = Buffer.concat(this.#pieces);
    if (whole.length <= this.#most) return whole;
    let from = whole.length - this.#most;
    // Starts at a whole UTF-8 character: the later bytes of one are 10xxxxxx.
    while (from < whole.length && ((whole[from] ?? 0) & 0xc0) === 0x80) from += 1;
    return whole.subarray(from);
  }
}
