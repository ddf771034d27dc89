import { spawn } from 'node:child_process';
import { type FileHandle, lstat, mkdir, open, rename, rmdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { isObject } from '../../lib/json.ts';
import { isAbsence } from './failure.ts';
import { type Border, inFolder, openFolder, walk } from './walk.ts';

/** The argument that makes the helper copy from a snapshot instead of serving the daemon. */
export const restoreWord = 'restore';

export interface RestoreOrder {
  readonly border: Border;
  /** The elements of both paths below the border. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly replaces: boolean;
  /** Whether only what an ended copy has left is removed. */
  readonly clears: boolean;
}

export function isRestoreOrder(value: unknown): value is RestoreOrder {
  if (!isObject(value)) return false;
  const { border, from, to, replaces, clears } = value;
  const isPath = (parts: unknown) => Array.isArray(parts) && parts.every((part) => typeof part === 'string');
  return (
    isObject(border) &&
    typeof border['path'] === 'string' &&
    Array.isArray(border['names']) &&
    isPath(from) &&
    isPath(to) &&
    typeof replaces === 'boolean' &&
    typeof clears === 'boolean'
  );
}

/** The folder beside the target in which the copy is made. Only root may enter it, so that nobody can lead it astray. */
const asideName = '.holdfast-restore';
const former = 'former';
const copied = 'copied';

/** Milliseconds between two reports. */
const reportInterval = 1000;

/** Copies from one path to another. The copy has its place only once it is complete. */
export async function restoreBelow(
  { border, from, to, replaces, clears }: RestoreOrder,
  report: (copied: number) => void,
): Promise<void> {
  const name = nameIn(to);
  const target = await walk(border, to.slice(0, -1));
  try {
    await clear(target.end);
    if (clears) return;
    const source = await walk(border, from.slice(0, -1));
    try {
      if (!(await isThere(inFolder(source.end, nameIn(from))))) throw new Error(`there is no ${nameIn(from)}`);
      if (!replaces && (await isThere(inFolder(target.end, name)))) throw new Error(`${name} exists`);
      const aside = await makeAside(target.end);
      try {
        await copy(source.end, nameIn(from), aside, report);
        await place(aside, target.end, name, replaces);
      } finally {
        await aside.close();
        await clear(target.end);
      }
    } finally {
      await source.close();
    }
  } finally {
    await target.close();
  }
}

function nameIn(parts: readonly string[]): string {
  const name = parts.at(-1);
  if (name === undefined || name === '' || name === '.' || name === '..')
    throw new Error('expected the path of a file');
  return name;
}

async function isThere(location: string): Promise<boolean> {
  try {
    await lstat(location);
    return true;
  } catch (error) {
    if (isAbsence(error)) return false;
    throw error;
  }
}

/** Opens the folder that was just made, unless an account that may write there has exchanged it meanwhile. */
async function makeAside(folder: FileHandle): Promise<FileHandle> {
  await mkdir(inFolder(folder, asideName), 0o700);
  return openAside(folder);
}

async function openAside(folder: FileHandle): Promise<FileHandle> {
  const aside = await open(inFolder(folder, asideName), openFolder);
  const { uid, mode } = await aside.stat();
  if (uid === process.getuid?.() && (mode & 0o077) === 0) return aside;
  await aside.close();
  throw new Error(`${asideName} is in the way: it is not of Holdfast`);
}

/** Removes what a copy that did not come to its end has left. */
async function clear(folder: FileHandle): Promise<void> {
  if (!(await isThere(inFolder(folder, asideName)))) return;
  const aside = await openAside(folder);
  try {
    const names = [copied, former].map((one) => `/proc/self/fd/3/${one}`);
    await run(['rm', '-rf', '--one-file-system', '--', ...names], [aside]);
  } finally {
    await aside.close();
  }
  await rmdir(inFolder(folder, asideName));
}

async function copy(
  source: FileHandle,
  name: string,
  aside: FileHandle,
  report: (copied: number) => void,
): Promise<void> {
  let count = 0;
  let reportedAt = performance.now();
  const argv = [
    'cp',
    '-aT',
    '--verbose',
    '--one-file-system',
    '--',
    `/proc/self/fd/3/${name}`,
    `/proc/self/fd/4/${copied}`,
  ];
  await run(argv, [source, aside], () => {
    count += 1;
    if (performance.now() - reportedAt < reportInterval) return;
    reportedAt = performance.now();
    report(count);
  });
}

/** Moves the copy to its place. Of two files, one takes the place of the other at once. */
async function place(aside: FileHandle, target: FileHandle, name: string, replaces: boolean): Promise<void> {
  const [made, end] = [inFolder(aside, copied), inFolder(target, name)];
  if (!replaces) {
    // Node has no rename that refuses what is there. `mv` has, and leaves the copy where it is.
    await run(['mv', '-nT', '--', `/proc/self/fd/3/${copied}`, `/proc/self/fd/4/${name}`], [aside, target]).catch(
      () => {},
    );
    if (await isThere(made)) throw new Error(`${name} exists`);
    return;
  }
  const isFolder = async (location: string) => (await isThere(location)) && (await lstat(location)).isDirectory();
  if (!(await isFolder(made)) && !(await isFolder(end))) {
    await rename(made, end);
    return;
  }
  const wasThere = await isThere(end);
  if (wasThere) await rename(end, inFolder(aside, former));
  try {
    await rename(made, end);
  } catch (error) {
    if (wasThere) await rename(inFolder(aside, former), end);
    throw error;
  }
}

/** Runs a program that has these folders open as 3, 4 and so on. */
function run(argv: readonly string[], folders: readonly FileHandle[], line?: () => void): Promise<void> {
  const [program = '', ...rest] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, {
      stdio: ['ignore', line === undefined ? 'ignore' : 'pipe', 'pipe', ...folders.map(({ fd }) => fd)],
    });
    let said = '';
    child.stderr?.on('data', (piece: Buffer) => {
      said = `${said}${piece.toString()}`.slice(-4000);
    });
    if (line !== undefined && child.stdout !== null) createInterface({ input: child.stdout }).on('line', line);
    child.on('error', () => reject(new Error(`this machine has no ${program}`)));
    child.on('close', (status) => {
      if (status === 0) resolve();
      else reject(new Error(said.trim() || `${program} ended with status ${status}`));
    });
  });
}
