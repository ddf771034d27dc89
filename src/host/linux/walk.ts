import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, rmdir } from 'node:fs/promises';
import { isWithin, normalPath } from '../../lib/path.ts';
import { HostError } from '../ports/index.ts';
import { codeOf } from './failure.ts';

/** Opens a path without reading it: only to inspect it and to change its owner and permissions. */
export const lookOnly = 0o10000000;

export const openFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const mostLinks = 40;

/** A name in an open folder. A rename of folders meanwhile cannot redirect it. */
export const inFolder = (folder: FileHandle, name: string): string => `/proc/self/fd/${folder.fd}/${name}`;

/** The folder that a walk must not leave. */
export interface Border {
  /** Its path for this process. */
  readonly path: string;
  /** Its paths as the machine sees them: links with an absolute target below one of them stay within the border. */
  readonly names: readonly string[];
}

/** The end of a walk, held open until the walk is closed. */
export interface Walk {
  readonly end: FileHandle;
  readonly stats: Stats;
  /** How many of the last elements of the path were missing and have been made. */
  readonly made: number;
  /** Removes what was made. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Goes from the border along `parts`. Links are refused, or with `followed` those that leave the border. With
 * `make`, missing folders are made with those permission bits. The walk holds each folder on the way open and never resolves a
 * path twice. So an account that can write there cannot lead it outside by replacing a folder with a link meanwhile.
 */
export async function walk(
  border: Border,
  parts: readonly string[],
  options: { make?: number; links?: 'followed' | undefined } = {},
): Promise<Walk> {
  const opened: FileHandle[] = [];
  const made: { folder: FileHandle; name: string }[] = [];
  const undo = async () => {
    for (const { folder, name } of made.toReversed()) await rmdir(inFolder(folder, name));
  };
  const close = async () => {
    for (const handle of opened.toReversed()) await handle.close();
  };
  const enter = async (path: string, flags: number) => {
    const handle = await open(path, flags);
    opened.push(handle);
    return handle;
  };
  try {
    const first = await enter(border.path, constants.O_RDONLY | constants.O_DIRECTORY);
    let stack = [first];
    const top = () => stack.at(-1) ?? first;
    // Only the parts of the path itself may be made; those of a link's target must exist.
    const ahead = parts.map((name) => ({ name, asked: true })).reverse();
    let links = 0;
    for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
      const { name, asked } = part;
      if (name === '' || name === '.') continue;
      if (name === '..') {
        if (stack.length === 1) throw new HostError('a link on the way leads out of it');
        stack.pop();
        continue;
      }
      const here = inFolder(top(), name);
      const found = await lookAt(here);
      if (found === undefined) {
        if (!asked) throw new HostError('a link on the way leads nowhere');
        if (options.make === undefined) throw new HostError(`there is no ${name}`);
        await mkdir(here);
        made.push({ folder: top(), name });
        const folder = await enter(here, openFolder);
        // The process's umask would cut a mode given to mkdir.
        await folder.chmod(options.make);
        stack.push(folder);
      } else if (found.isSymbolicLink()) {
        if (options.links !== 'followed') throw new HostError(`${name} is a link`);
        links += 1;
        if (links > mostLinks) throw new HostError('too many links on the way');
        const target = await readlink(here);
        const rest = target.startsWith('/') ? restWithin(target, border.names) : target;
        if (rest === undefined) throw new HostError('a link on the way leads out of it');
        if (target.startsWith('/')) stack = [first];
        ahead.push(
          ...rest
            .split('/')
            .map((part) => ({ name: part, asked: false }))
            .reverse(),
        );
      } else if (found.isDirectory()) {
        stack.push(await enter(here, openFolder));
      } else {
        if (options.make !== undefined || ahead.some((part) => part.name !== ''))
          throw new HostError(`${name} is not a folder`);
        const end = await enter(here, lookOnly | constants.O_NOFOLLOW);
        return { end, stats: await end.stat(), made: 0, undo, close };
      }
    }
    return { end: top(), stats: await top().stat(), made: made.length, undo, close };
  } catch (error) {
    try {
      await undo();
    } finally {
      await close();
    }
    throw error;
  }
}

/** The rest of a link's target below the border, or undefined when it leads elsewhere. */
function restWithin(target: string, names: readonly string[]): string | undefined {
  const path = normalPath(target);
  const name = names.find((candidate) => isWithin(path, candidate));
  return name === undefined ? undefined : path.slice(name.length);
}

async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The path by which an open file, or a name in an open folder, can be changed, whatever mode it was opened with. */
export const byHandle = (descriptor: number, name?: string): string =>
  `/proc/self/fd/${descriptor}${name === undefined ? '' : `/${name}`}`;
