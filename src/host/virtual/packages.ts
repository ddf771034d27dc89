import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Origin, Packages } from '../ports/packages.ts';
import { codeOf, hostError, isText, Memory, mapOf } from './state.ts';
import type { Tree } from './tree.ts';

/**
 * A new virtual machine has no files of packages, so every existing file is local unless `ship` has marked it.
 */
export class VirtualPackages implements Packages {
  readonly #tree: Tree;
  readonly #shipped: Memory<Readonly<Record<string, string>>>;

  constructor(path: string, tree: Tree) {
    this.#tree = tree;
    this.#shipped = new Memory(path, mapOf(isText), Object.freeze({}));
  }

  async origins(paths: readonly string[]): Promise<ReadonlyMap<string, Origin>> {
    return new Map(
      paths.map((path) => {
        const sum = this.#sumOf(path);
        return [path, sum === undefined ? 'absent' : sum === this.#shipped.value[path] ? 'shipped' : 'local'];
      }),
    );
  }

  /** Treats the current content of this path as that of a package. For tests. */
  ship(path: string): void {
    this.#shipped.keep(Object.freeze({ ...this.#shipped.value, [path]: this.#sumOf(path) ?? '' }));
  }

  #sumOf(path: string): string | undefined {
    try {
      return createHash('md5')
        .update(readFileSync(this.#tree.locate(path)))
        .digest('hex');
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
      throw hostError(`cannot read ${path}`, error);
    }
  }
}
