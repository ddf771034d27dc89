/**
 * SHA-512 crypt, the hash of passwords in /etc/shadow that begins with `$6$` (its specification is at
 * https://www.akkadia.org/drepper/SHA-crypt.txt). The 5000 rounds take about 10 ms; a generator, so that other work can
 * be done between them.
 */
import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto';

const size = 64;
const usualRounds = 5000;
const longestSalt = 16;
/** Rounds between two pauses: less than a millisecond. */
const roundsAtOnce = 250;

/** Hashes a password with a new salt. */
export function hashedPassword(password: string): Generator<void, string> {
  const salt = Array.from(randomBytes(longestSalt), (byte) => alphabet[byte & 63]).join('');
  return crypted(password, { salt, rounds: usualRounds, isNamed: false });
}

/** Whether a password has this hash. */
export function* isPassword(password: string, against: string): Generator<void, boolean> {
  const setting = settingIn(against);
  if (setting === undefined) return false;
  const made = Buffer.from(yield* crypted(password, setting));
  const expected = Buffer.from(against);
  return made.length === expected.length && timingSafeEqual(made, expected);
}

/** Completes the work without a pause. */
export function completed<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

interface Setting {
  readonly salt: string;
  readonly rounds: number;
  /** Whether the hash names its number of rounds. */
  readonly isNamed: boolean;
}

function settingIn(text: string): Setting | undefined {
  const match = /^\$6\$(?:rounds=(\d{1,9})\$)?([^$:\n]{0,16})\$[./0-9A-Za-z]{86}$/.exec(text);
  if (match === null) return undefined;
  const [, rounds, salt = ''] = match;
  return { salt, rounds: Math.max(1000, Number(rounds ?? usualRounds)), isNamed: rounds !== undefined };
}

function* crypted(password: string, { salt: saltText, rounds, isNamed }: Setting): Generator<void, string> {
  const key = Buffer.from(password);
  const salt = Buffer.from(saltText);
  const second = digest(key, salt, key);
  const first = createHash('sha512').update(key).update(salt).update(repeated(second, key.length));
  for (let bits = key.length; bits > 0; bits >>>= 1) first.update((bits & 1) === 1 ? second : key);
  let last = first.digest();
  const keys = createHash('sha512');
  for (let n = 0; n < key.length; n += 1) keys.update(key);
  const p = repeated(keys.digest(), key.length);
  const salts = createHash('sha512');
  for (let n = 0; n < 16 + (last[0] ?? 0); n += 1) salts.update(salt);
  const s = repeated(salts.digest(), salt.length);
  const scratch = Buffer.alloc(size + 2 * p.length + s.length);
  for (let n = 0; n < rounds; n += 1) {
    if (n > 0 && n % roundsAtOnce === 0) yield;
    let end = 0;
    const add = (part: Buffer) => {
      part.copy(scratch, end);
      end += part.length;
    };
    add(n % 2 === 1 ? p : last);
    if (n % 3 !== 0) add(s);
    if (n % 7 !== 0) add(p);
    add(n % 2 === 1 ? last : p);
    last = hash('sha512', scratch.subarray(0, end), 'buffer');
  }
  return `$6$${isNamed ? `rounds=${rounds}$` : ''}${saltText}$${encoded(last)}`;
}

function digest(...parts: readonly Buffer[]): Buffer {
  return hash('sha512', Buffer.concat(parts), 'buffer');
}

/** The bytes again and again, up to a length. */
function repeated(bytes: Buffer, length: number): Buffer {
  return Buffer.alloc(length, bytes);
}

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 21 groups of three bytes, each next group with the places of the one before moved by one, and the last byte alone. */
function encoded(bytes: Buffer): string {
  let text = '';
  const add = (value: number, count: number) => {
    for (let n = 0; n < count; n += 1) text += alphabet[(value >>> (6 * n)) & 63];
  };
  for (let group = 0; group < 21; group += 1) {
    const places = [group, group + 21, group + 42];
    const [high = 0, middle = 0, low = 0] = [0, 1, 2].map((n) => bytes[places[(n + group) % 3] ?? 0] ?? 0);
    add((high << 16) | (middle << 8) | low, 4);
  }
  add(bytes[63] ?? 0, 2);
  return text;
}
