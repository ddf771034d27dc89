import { spawn } from 'node:child_process';
import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { isObject } from '../../lib/json.ts';

/** The word that makes the helper's program carry a stream through a row of programs instead of serving the daemon. */
export const transferWord = 'transfer';

export interface TransferOrder {
  /** Programs, each a list of words: what the first writes goes through the others to the last. */
  readonly stages: readonly (readonly string[])[];
  /** Bytes in a second into the last, or 0 for as many as there go. */
  readonly limit: number;
  /** Milliseconds without a byte after which it is given up. */
  readonly stall: number;
}

export function isTransferOrder(value: unknown): value is TransferOrder {
  if (!isObject(value)) return false;
  const { stages, limit, stall } = value;
  const isWords = (one: unknown) =>
    Array.isArray(one) && one.length > 0 && one.every((word) => typeof word === 'string');
  return (
    Array.isArray(stages) &&
    stages.length > 1 &&
    stages.every(isWords) &&
    typeof limit === 'number' &&
    typeof stall === 'number'
  );
}

/** Milliseconds that the other programs have to end once one has failed. */
const patience = 2000;

/**
 * Starts the programs with pipes between them and answers when all have ended well. `told` hears every second how many
 * bytes the first has written. One that fails, or a stream that stands still, ends the others.
 */
export async function carry({ stages, limit, stall }: TransferOrder, told: (bytes: number) => void): Promise<void> {
  const children = stages.map(([program = '', ...words], index) => {
    const child = spawn(program, words, {
      stdio: [index === 0 ? 'ignore' : 'pipe', index === stages.length - 1 ? 'ignore' : 'pipe', 'pipe'],
    });
    return { child, program };
  });
  const words = children.map(({ child }) => {
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
          else reject(new Error(words[index]?.text.trim() || `${program} ended with ${code ?? signal}`));
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
    told(bytes);
    if (!last.writableFinished && performance.now() - moved > stall)
      stalled.reject(new Error(`No data moved for ${stall / 1000} s, so it was given up.`));
  }, 1000);

  const flows = children.slice(0, -1).flatMap(({ child }, index) => {
    const into = children[index + 1]?.child.stdin;
    if (child.stdout === null || into === null || into === undefined) return [];
    const between = [...(index === 0 ? [counter] : []), ...(index === children.length - 2 ? [last] : [])];
    // A program that ended before its input did is told by its own end.
    return [pipeline([child.stdout, ...between, into]).catch(() => {})];
  });
  try {
    await Promise.race([Promise.all(ends), stalled.promise]);
    await Promise.all(flows);
    told(bytes);
  } catch (error) {
    endAll();
    await Promise.race([Promise.allSettled(ends), wait(patience)]);
    throw withFarWords(error, words.at(-1)?.text.trim() ?? '');
  } finally {
    clearInterval(watch);
    for (const { child } of children) child.kill('SIGKILL');
    stalled.promise.catch(() => {});
  }
}

/** What the last program says tells why, more than that a pipe to it broke. */
function withFarWords(error: unknown, farWords: string): Error {
  const own = error instanceof Error ? error : new Error(String(error));
  return farWords === '' || own.message.includes(farWords) ? own : new Error(`${farWords}\n${own.message}`);
}

/** Lets so many bytes through in a second, and tells when some went. */
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
