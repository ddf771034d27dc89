import { spawn } from 'node:child_process';
import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { isObject } from '../../lib/json.ts';

/** The argument that makes the helper carry a stream through a pipeline of programs instead of serving the daemon. */
export const transferWord = 'transfer';

export interface TransferOrder {
  /** Programs, each an argv: the output of the first goes through the others to the last. */
  readonly stages: readonly (readonly string[])[];
  /** Bytes per second into the last program, or 0 for no limit. */
  readonly limit: number;
  /** Milliseconds without a byte after which the transfer fails. */
  readonly stall: number;
}

export function isTransferOrder(value: unknown): value is TransferOrder {
  if (!isObject(value)) return false;
  const { stages, limit, stall } = value;
  const isArgv = (stage: unknown) =>
    Array.isArray(stage) && stage.length > 0 && stage.every((argument) => typeof argument === 'string');
  return (
    Array.isArray(stages) &&
    stages.length > 1 &&
    stages.every(isArgv) &&
    typeof limit === 'number' &&
    typeof stall === 'number'
  );
}

/** Milliseconds that the other programs have to end once one has failed. */
const patience = 2000;

/**
 * Starts the programs with pipes between them and resolves when all have succeeded. `report` receives every second how
 * many bytes the first has written. A program that fails, or a stream that stalls, ends the other programs.
 */
export async function carry({ stages, limit, stall }: TransferOrder, report: (bytes: number) => void): Promise<void> {
  const children = stages.map(([program = '', ...argv], index) => {
    const child = spawn(program, argv, {
      stdio: [index === 0 ? 'ignore' : 'pipe', index === stages.length - 1 ? 'ignore' : 'pipe', 'pipe'],
    });
    return { child, program };
  });
  const messages = children.map(({ child }) => {
    const said = { text: '' };
    child.stderr?.on('data', (piece: Buffer) => {
      said.text = `${said.text}${piece.toString()}`.slice(-4000);
    });
    return said;
  });
  const endAll = () => {
    for (const { child } of children) child.kill('SIGTERM');
  };
  const ends = children.map(
    ({ child, program }, index) =>
      new Promise<void>((resolve, reject) => {
        child.on('error', () => reject(new Error(`this machine has no ${program}`)));
        child.on('close', (code, signal) => {
          if (code === 0) resolve();
          else reject(new Error(messages[index]?.text.trim() || `${program} ended with ${code ?? signal}`));
        });
      }),
  );

  let bytes = 0;
  let moved = performance.now();
  const counter = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length;
      done(null, piece);
    },
  });
  const last = paced(limit, () => {
    moved = performance.now();
  });
  const stalled = Promise.withResolvers<never>();
  const watch = setInterval(() => {
    report(bytes);
    if (!last.writableFinished && performance.now() - moved > stall)
      stalled.reject(new Error(`The transfer was stopped: no data moved for ${stall / 1000} s.`));
  }, 1000);

  const flows = children.slice(0, -1).flatMap(({ child }, index) => {
    const into = children[index + 1]?.child.stdin;
    if (child.stdout === null || into === null || into === undefined) return [];
    const between = [...(index === 0 ? [counter] : []), ...(index === children.length - 2 ? [last] : [])];
    // A program that ended before its input did is reported by its exit status.
    return [pipeline([child.stdout, ...between, into]).catch(() => {})];
  });
  try {
    await Promise.race([Promise.all(ends), stalled.promise]);
    await Promise.all(flows);
    report(bytes);
  } catch (error) {
    endAll();
    await Promise.race([Promise.allSettled(ends), wait(patience)]);
    throw withLastMessage(error, messages.at(-1)?.text.trim() ?? '');
  } finally {
    clearInterval(watch);
    for (const { child } of children) child.kill('SIGKILL');
    stalled.promise.catch(() => {});
  }
}

/** The error message of the last program explains a failure better than the broken pipe to it does. */
function withLastMessage(error: unknown, lastMessage: string): Error {
  const own = error instanceof Error ? error : new Error(String(error));
  return lastMessage === '' || own.message.includes(lastMessage) ? own : new Error(`${lastMessage}\n${own.message}`);
}

/** Lets so many bytes per second through, and calls `moved` for each piece. */
function paced(limit: number, moved: () => void): Transform {
  let free = performance.now();
  return new Transform({
    transform(piece: Buffer, _encoding, done: TransformCallback) {
      moved();
      const now = performance.now();
      free = Math.max(free, now - 1000);
      if (limit > 0) free += (1000 * piece.length) / limit;
      const pause = limit > 0 ? free - now : 0;
      if (pause <= 0) done(null, piece);
      else
        setTimeout(() => {
          moved();
          done(null, piece);
        }, pause);
    },
  });
}
