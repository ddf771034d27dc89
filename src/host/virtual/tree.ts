import { lstatSync, mkdirSync, readFileSync, readlinkSync, rmdirSync, type Stats } from 'node:fs';
import { dirname, relative } from 'node:path';
import { HostError } from '../ports/index.ts';
import { codeOf } from './state.ts';

const mostLinks = 40;

/**
 * The virtual machine's file tree: a private folder that is the machine's `/`. Links are resolved relative to this
 * root, so that neither links nor `..` lead out of it.
 */
export class Tree {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    mkdirSync(root, { recursive: true });
  }

  /** The real path for a path of the machine. Links are followed; a link at the last element only with `follow`. */
  locate(path: string, options: { follow: boolean } = { follow: true }): string {
    if (!path.startsWith('/') || path.includes('\0'))
      throw new HostError(`${JSON.stringify(path)} is not an absolute path`);
    const ahead = path.split('/').reverse();
    let at: string[] = [];
    let links = 0;
    for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        at.pop();
        continue;
      }
      const last = ahead.every((element) => element === '');
      const here = this.#below([...at, part]);
      if ((!last || options.follow) && lookAt(here)?.isSymbolicLink()) {
        links += 1;
        if (links > mostLinks) throw new HostError(`${path}: too many symbolic links encountered`);
        const target = readlinkSync(here);
        if (target.startsWith('/')) at = [];
        ahead.push(...target.split('/').reverse());
      } else {
        at.push(part);
      }
    }
    return this.#below(at);
  }

  /** The parts are neither empty nor dots. Of thousands of paths, joining them takes longer than looking at them. */
  #below(parts: readonly string[]): string {
    return parts.length === 0 ? this.root : `${this.root}/${parts.join('/')}`;
  }

  /** The machine's path for a real path. */
  nameOf(location: string): string {
    return `/${relative(this.root, location)}`;
  }
}

/** The content of a file of the machine, or undefined where it has none or a folder is there. */
export function textAt(tree: Tree, path: string): string | undefined {
  return textOf(() => tree.locate(path));
}

/** The content of a file by its real path, or undefined when none can be read. */
export function textOf(location: () => string): string | undefined {
  try {
    return readFileSync(location(), 'utf8');
  } catch (error) {
    if (codeOf(error) !== undefined || error instanceof HostError) return undefined;
    throw error;
  }
}

/** The status of a path without following links, or undefined when nothing is there. */
export function lookAt(location: string): Stats | undefined {
  try {
    return lstatSync(location, { throwIfNoEntry: false });
  } catch (error) {
    // A parent is not a folder, so nothing can be at the path.
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Creates the missing folders above a path and runs `work`. Removes the new folders again if that fails. */
export function withParents(location: string, work: () => void): void {
  const made: string[] = [];
  try {
    makeFolders(dirname(location), made);
    work();
  } catch (error) {
    for (const folder of made.reverse()) rmdirSync(folder);
    throw error;
  }
}

function makeFolders(folder: string, made: string[]): void {
  try {
    mkdirSync(folder);
    made.push(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT') throw error;
    makeFolders(dirname(folder), made);
    mkdirSync(folder);
    made.push(folder);
  }
}
