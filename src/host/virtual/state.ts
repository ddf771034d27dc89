import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';
import { isObject } from '../../lib/json.ts';
import { HostError } from '../ports/index.ts';

export type Guard<T> = (value: unknown) => value is T;

export const isText = (value: unknown): value is string => typeof value === 'string';
export const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';

export function listOf<T>(item: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(item);
}

export function mapOf<T>(item: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> => isObject(value) && Object.values(value).every(item);
}

export function oneOf<const T extends string>(words: readonly T[]): Guard<T> {
  return (value): value is T => words.some((word) => word === value);
}

export function optional<T>(item: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || item(value);
}

export function shapeOf<T extends object>(members: { readonly [K in keyof T]-?: Guard<T[K]> }): Guard<T> {
  return (value): value is T => {
    if (!isObject(value)) return false;
    for (const name in members) if (!members[name](value[name])) return false;
    return true;
  };
}

/**
 * What one port of the virtual machine remembers: a frozen value, and the file it is kept in. The file is replaced
 * whole before the value is, so that a process that is killed leaves the one or the other.
 */
export class Memory<T> {
  #value: T;
  readonly #path: string;

  constructor(path: string, guard: Guard<T>, fresh: T) {
    this.#path = path;
    this.#value = load(path, guard) ?? fresh;
  }

  get value(): T {
    return this.#value;
  }

  keep(value: T): void {
    try {
      replaceFile(this.#path, `${this.#path}.new`, JSON.stringify(value), 0o600);
    } catch (error) {
      throw hostError(`cannot keep ${this.#path}`, error);
    }
    this.#value = value;
  }
}

function load<T>(path: string, guard: Guard<T>): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!guard(value)) throw new Error(`${path} is not what the virtual host wrote. Remove it to begin with a fresh one.`);
  return value;
}

/** Makes `path` hold `content` in one step. Nothing is left at `aside` if that fails. */
export function replaceFile(path: string, aside: string, content: string | Buffer, mode: number): void {
  try {
    writeFileSync(aside, content, { mode });
    // The mode given to the writing is cut by the process's umask.
    chmodSync(aside, mode);
    renameSync(aside, path);
  } catch (error) {
    discardQuietly(aside);
    throw error;
  }
}

/** Litter is no reason to hide why there is any. */
function discardQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** `cannot write /etc/x: permission denied`, for a failed call to the file system. */
export function hostError(what: string, error: unknown): HostError {
  if (error instanceof HostError) return error.message.startsWith('cannot ') ? error : new HostError(`${what}: ${error.message}`);
  return new HostError(`${what}: ${wordsOf(error)}`, { cause: error });
}

function wordsOf(error: unknown): string {
  // Node gives some of its own errors the number without its sign.
  if (error instanceof Error && 'errno' in error && typeof error.errno === 'number') return getSystemErrorMessage(-Math.abs(error.errno));
  return error instanceof Error ? error.message : String(error);
}
