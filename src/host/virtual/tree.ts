import { lstatSync, mkdirSync, readlinkSync, rmdirSync, type Stats } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { HostError } from '../ports/index.ts';
import { codeOf } from './state.ts';

const mostLinks = 40;

/**
 * The virtual machine's files: a folder of ours that is the machine's `/`. Links are followed as the machine would,
 * so neither they nor `..` lead out of it.
 */
export class Tree {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    mkdirSync(root, { recursive: true });
  }

  /** Where the machine's `path` lies for us. Links on the way are followed, the last element's only when told. */
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
      const last = ahead.every((one) => one === '');
      const here = join(this.root, ...at, part);
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
    return join(this.root, ...at);
  }

  /** The machine's name for a place of ours. */
  nameOf(place: string): string {
    return `/${relative(this.root, place)}`;
  }
}

/** What is at a place itself, or undefined. */
export function lookAt(place: string): Stats | undefined {
  try {
    return lstatSync(place, { throwIfNoEntry: false });
  } catch (error) {
    // A file where the path wants a folder: nothing can be below it.
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Makes the missing folders above a place, hands them to `work`, and takes them away again if that fails. */
export function withParents(place: string, work: () => void): void {
  const made: string[] = [];
  try {
    makeFolders(dirname(place), made);
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
