import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getSystemErrorMessage } from 'node:util';
import { changesBetween } from '../../lib/groups.ts';
import { isObject } from '../../lib/json.ts';
import { messageOf } from '../../lib/text.ts';
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

export function oneOf<const T extends string>(members: readonly T[]): Guard<T> {
  return (value): value is T => members.some((member) => member === value);
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

/** How a value is made of the parsed content of its file; undefined for what cannot be its content. */
export interface Form<T> {
  readonly read: (value: unknown) => T | undefined;
}

/**
 * The persistent state of one port of the virtual machine: a frozen value, and the file that stores it. The file is
 * replaced atomically before the value, so that a killed process leaves either the old or the new state.
 */
export class Memory<T> {
  #value: T | undefined;
  readonly #path: string;
  readonly #load: () => T;

  /** Reads the file when the value is first used: that of a pool can have a hundred thousand snapshots. */
  constructor(path: string, form: Guard<T> | Form<T>, fresh: T) {
    const read = typeof form === 'function' ? (value: unknown) => (form(value) ? value : undefined) : form.read;
    this.#path = path;
    this.#load = () => load(path, read) ?? fresh;
  }

  get value(): T {
    this.#value ??= this.#load();
    return this.#value;
  }

  keep(value: T): void {
    try {
      replaceFile(this.#path, `${this.#path}.new`, JSON.stringify(value), 0o600);
    } catch (error) {
      throw hostError(`cannot store ${this.#path}`, error);
    }
    this.#value = value;
  }
}

/** How many ids share a file. */
const idsPerFile = 64;

/**
 * Persistent storage of values with ids. Values with neighbouring ids share a file, and only files with changed values
 * are written, so that saving thousands of values after a small change is fast.
 */
export class Shelf<T extends { readonly id: number }> {
  #values: readonly T[];
  readonly #folder: string;
  readonly #files = new Map<number, Memory<readonly T[]>>();
  readonly #guard: Guard<readonly T[]>;

  constructor(folder: string, guard: Guard<T>) {
    this.#folder = folder;
    this.#guard = listOf(guard);
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) {
      const number = /^(\d+)\.json$/.exec(name)?.[1];
      if (number !== undefined) this.#file(Number(number));
    }
    this.#values = this.#inOrder();
  }

  get values(): readonly T[] {
    return this.#values;
  }

  keep(values: readonly T[]): void {
    const { gone, come } = changesBetween(this.#values, values);
    const numbers = new Set([...gone, ...come].map(fileOf));
    const parts = Map.groupBy(
      values.filter((value) => numbers.has(fileOf(value))),
      fileOf,
    );
    try {
      for (const number of numbers) this.#file(number).keep(parts.get(number) ?? []);
      this.#values = values;
    } catch (error) {
      this.#values = this.#inOrder();
      throw error;
    }
  }

  #file(number: number): Memory<readonly T[]> {
    const known = this.#files.get(number);
    if (known !== undefined) return known;
    const made = new Memory<readonly T[]>(join(this.#folder, `${number}.json`), this.#guard, []);
    this.#files.set(number, made);
    return made;
  }

  #inOrder(): readonly T[] {
    return [...this.#files].sort(([a], [b]) => a - b).flatMap(([, { value }]) => value);
  }
}

function fileOf({ id }: { readonly id: number }): number {
  return Math.floor(id / idsPerFile);
}

function load<T>(path: string, read: Form<T>['read']): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw hostError(`cannot read ${path}`, error);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const found = read(value);
  if (found === undefined)
    throw new HostError(
      `${path} is not a valid state file of the virtual host. Remove it to start with a fresh state.`,
    );
  return found;
}

/** Replaces the content of `path` atomically. Leaves nothing at `aside` on failure. */
export function replaceFile(path: string, aside: string, content: string | Buffer, mode: number): void {
  try {
    writeFileSync(aside, content, { mode });
    // The process's umask restricts the mode of the new file.
    chmodSync(aside, mode);
    renameSync(aside, path);
  } catch (error) {
    discardQuietly(aside);
    throw error;
  }
}

/** Ignores errors, so that the caller's original error is reported. */
function discardQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Converts the error of a file system call: `cannot write /etc/x: permission denied`. */
export function hostError(what: string, error: unknown): HostError {
  if (error instanceof HostError)
    return error.message.startsWith('cannot ') ? error : new HostError(`${what}: ${error.message}`);
  return new HostError(`${what}: ${systemMessage(error)}`, { cause: error });
}

function systemMessage(error: unknown): string {
  // Some errors of Node have a positive errno.
  if (error instanceof Error && 'errno' in error && typeof error.errno === 'number')
    return getSystemErrorMessage(-Math.abs(error.errno));
  return messageOf(error);
}
