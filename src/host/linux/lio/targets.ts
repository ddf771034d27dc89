import { mkdir, readdir, readFile, readlink, rmdir, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { HostError } from '../../ports/index.ts';
import type { Session, TargetModel, TargetService } from '../../ports/targets.ts';
import { exists, mustBeItself } from '../backing.ts';
import { codeOf, hostError, isAbsence } from '../failure.ts';
import type { PoolFiles } from '../zfs/pool-files.ts';
import { type Node, type Piece, type Step, stepsBetween } from './config-tree.ts';
import { lioObjections } from './objections.ts';
import { backends, extentName, type Sizes, targetTree } from './target-tree.ts';

/** The kernel's iSCSI targets (LIO), configured through its tree of files (configfs). */
export class LioTargets {
  readonly #poolFiles: PoolFiles;
  readonly #root: string;

  constructor(options: { poolFiles: PoolFiles; root?: string }) {
    this.#poolFiles = options.poolFiles;
    this.#root = options.root ?? '/sys/kernel/config/target';
  }

  isThere(): Promise<boolean> {
    return exists(this.#root);
  }

  async look(): Promise<TargetService> {
    return { engine: 'lio', serving: await exists(join(this.#root, 'iscsi')), firstLun: 0 };
  }

  objections(model: TargetModel): readonly string[] {
    return lioObjections(model);
  }

  async differences(model: TargetModel): Promise<readonly string[]> {
    const wanted = targetTree(model, await this.#sizes(model));
    const steps = Map.groupBy(stepsBetween(await this.#read(wanted), wanted), ({ piece }) => piece);
    return [...steps].map(([piece, of]) => `bring the iSCSI ${piece} into line (${summary(of)})`);
  }

  async apply(model: TargetModel, known?: TargetModel): Promise<void> {
    const sizes = await this.#sizes(model);
    const wanted = targetTree(model, sizes);
    const there = known === undefined ? await this.#read(wanted) : targetTree(known, sizes);
    const failures = new Map<string, HostError>();
    const unchanged = new Set(known?.extents);
    for (const extent of model.extents)
      if (!unchanged.has(extent))
        await mustBeItself(extent, this.#poolFiles).catch((error) =>
          failures.set(extentName(extent), asHostError(error)),
        );
    await this.#carryOut(stepsBetween(there, wanted), failures);
  }

  async sessions(target: string): Promise<readonly Session[]> {
    const found: string[] = [];
    for (const group of await this.#list(`iscsi/${target}`, /^tpgt_/)) {
      found.push(
        ...((await this.#value(`${group}/dynamic_sessions`)) ?? '').split(/[\n\0]/).filter((name) => name !== ''),
      );
      for (const acl of await this.#list(`${group}/acls`)) {
        const info = (await this.#value(`${acl}/info`)) ?? '';
        if (!info.startsWith('No active')) found.push(acl.slice(acl.lastIndexOf('/') + 1));
      }
    }
    return [...new Set(found)].map((initiator) => ({ initiator }));
  }

  // Doing ------------------------------------------------------------------------------------------------------------

  /**
   * Does as much as possible. When a step of a piece fails, the rest of that piece is skipped; the first failure is
   * thrown at the end.
   */
  async #carryOut(steps: readonly Step[], failures: Map<string, HostError>): Promise<void> {
    for (const step of steps) {
      if (failures.has(step.piece)) continue;
      try {
        await this.#do(step);
      } catch (error) {
        failures.set(step.piece, stepError(step, error));
      }
    }
    for (const failure of failures.values()) throw failure;
  }

  async #do({ do: what, path, text, orders }: Step): Promise<void> {
    const location = join(this.#root, path);
    switch (what) {
      case 'make':
        return this.#make(location, orders);
      case 'remove':
        return removeFolder(location);
      case 'link':
        return symlink(join(this.#root, text), location);
      case 'unlink':
        return unlink(location);
      case 'write':
        for (const order of orders) await writeFile(join(this.#root, order.path), order.text);
        return writeFile(location, text);
    }
  }

  /** Removes the folder again when one of its orders fails, so that folders in the tree are complete. */
  async #make(location: string, orders: Step['orders']): Promise<void> {
    try {
      await mkdir(location);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      // A process that was killed left it incomplete.
      if (orders.length > 0) {
        await rmdir(location);
        await mkdir(location);
      }
    }
    try {
      for (const order of orders) await writeFile(join(this.#root, order.path), order.text);
    } catch (error) {
      await rmdir(location);
      throw error;
    }
  }

  // Looking ----------------------------------------------------------------------------------------------------------

  /** The tree as it is. Of the values, only those of the desired tree are read. */
  async #read(wanted: readonly Piece[]): Promise<readonly Piece[]> {
    const values = new Map(wanted.map(({ name, nodes }) => [name, nodes.filter((node) => node.kind === 'value')]));
    const names = new Map(
      wanted.flatMap(({ name, nodes }) =>
        nodes.flatMap((node) => (node.kind === 'folder' ? [[node.path, name] as const] : [])),
      ),
    );
    const pieces: Piece[] = [];
    const add = async (name: string, nodes: readonly Node[]) => {
      const folders = new Set(nodes.flatMap((node) => (node.kind === 'folder' ? [node.path] : [])));
      const inThere = (values.get(name) ?? []).filter(({ path }) =>
        [...folders].some((folder) => path.startsWith(`${folder}/`)),
      );
      const read = await Promise.all(
        inThere.map(async (one): Promise<Node | undefined> => withText(one, await this.#value(one.path))),
      );
      // Enabled groups are disabled before they are removed.
      const enabled = nodes.flatMap((node): readonly Node[] =>
        node.kind === 'folder' && /\/tpgt_\d+$/.test(node.path) && !names.has(node.path)
          ? [{ kind: 'value', path: `${node.path}/enable`, text: '1', off: '0' }]
          : [],
      );
      pieces.push({ name, nodes: [...nodes, ...enabled, ...read.filter((node) => node !== undefined)] });
    };
    const folders: Node[] = [];
    for (const path of [backends.device, backends.file, 'iscsi'])
      if (await exists(join(this.#root, path))) folders.push({ kind: 'folder', path });
    if (folders.length > 0) await add('iscsi', folders);
    for (const backend of [backends.device, backends.file]) {
      for (const path of await this.#list(backend, /^e\d+-/)) {
        // A backend that is not enabled is incomplete, and is made again.
        const isWhole = (await this.#value(`${path}/enable`)) === '1';
        if (isWhole) await add(names.get(path) ?? `extent ${path}`, [{ kind: 'folder', path }]);
      }
    }
    for (const path of await this.#list('iscsi', /^(iqn|eui|naa)\./)) {
      const nodes = await this.#target(path, names.has(path));
      if (nodes !== undefined) await add(`target ${path.slice('iscsi/'.length)}`, nodes);
    }
    return pieces;
  }

  /** A target as it is, or undefined for one that is not wanted and offers backends of other programs: it is left alone. */
  async #target(path: string, isWanted: boolean): Promise<readonly Node[] | undefined> {
    const nodes: Node[] = [{ kind: 'folder', path }];
    for (const group of await this.#list(path, /^tpgt_\d+$/)) {
      nodes.push({ kind: 'folder', path: group });
      for (const lun of await this.#list(`${group}/lun`, /^lun_\d+$/)) {
        const links = await this.#links(lun);
        if (!isWanted && links.some(isForeign)) return undefined;
        nodes.push({ kind: 'folder', path: lun }, ...links);
      }
      for (const acl of await this.#list(`${group}/acls`)) {
        nodes.push({ kind: 'folder', path: acl });
        for (const lun of await this.#list(acl, /^lun_\d+$/))
          nodes.push({ kind: 'folder', path: lun }, ...(await this.#links(lun)));
      }
      for (const portal of await this.#list(`${group}/np`)) nodes.push({ kind: 'folder', path: portal });
    }
    return nodes;
  }

  /** Paths of the folders in a folder; none when it does not exist. */
  async #list(path: string, pattern = /./): Promise<readonly string[]> {
    try {
      const entries = await readdir(join(this.#root, path), { withFileTypes: true });
      return entries
        .filter((entry) => entry.isDirectory() && pattern.test(entry.name))
        .map(({ name }) => `${path}/${name}`);
    } catch (error) {
      if (isAbsence(error)) return [];
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async #links(path: string): Promise<readonly Node[]> {
    const location = join(this.#root, path);
    const entries = (await readdir(location, { withFileTypes: true })).filter((entry) => entry.isSymbolicLink());
    return Promise.all(
      entries.map(
        async ({ name }): Promise<Node> => ({
          kind: 'link',
          path: `${path}/${name}`,
          to: relative(this.#root, join(location, await readlink(join(location, name)))),
        }),
      ),
    );
  }

  async #value(path: string): Promise<string | undefined> {
    try {
      return (await readFile(join(this.#root, path), 'utf8')).replace(/\n$/, '');
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot read ${path}`, error);
    }
  }

  async #sizes({ extents }: TargetModel): Promise<Sizes> {
    const sizes = new Map<number, number>();
    for (const { id, backing, size } of extents) {
      if (backing.kind !== 'file' || size !== undefined) continue;
      const found = await this.#poolFiles.use(backing.path, () => stat(backing.path)).catch(() => undefined);
      if (found?.isFile()) sizes.set(id, found.size);
    }
    return sizes;
  }
}

/** `make iscsi/iqn.2026-01.com.example:t/tpgt_1/np/0.0.0.0:3260 and 2 more`. Values are left out: some are secret. */
function summary([first, ...rest]: readonly Step[]): string {
  return `${first?.do} ${first?.path}${rest.length === 0 ? '' : ` and ${rest.length} more`}`;
}

/** Whether it is a link to a backend of another program. */
function isForeign(node: Node): boolean {
  return node.kind === 'link' && ![backends.device, backends.file].some((backend) => node.to.startsWith(`${backend}/`));
}

/** A value as it is, in the form of the desired tree. A value that was never set reads as an empty text. */
function withText(wanted: Node, text: string | undefined): Node | undefined {
  if (wanted.kind !== 'value' || text === undefined) return undefined;
  return { ...wanted, text: text === '' && wanted.text === 'NULL' ? 'NULL' : text };
}

function asHostError(error: unknown): HostError {
  return error instanceof HostError ? error : hostError('cannot offer an extent', error);
}

/** Leaves a folder that holds targets of other programs. */
async function removeFolder(location: string): Promise<void> {
  try {
    await rmdir(location);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || (code === 'ENOTEMPTY' && !/\/(iqn|eui|naa)\./.test(location))) return;
    throw error;
  }
}

/** The error of a step. Values are left out: some are secret. */
function stepError({ do: what, path }: Step, error: unknown): HostError {
  const portal = /\/np\/(.+)$/.exec(path)?.[1];
  if (portal !== undefined && what === 'make' && codeOf(error) === 'EINVAL')
    return new HostError(
      `cannot listen at ${portal}: this machine does not have the address, or another program uses the port`,
      { cause: error },
    );
  return hostError(`cannot ${what} ${path}`, error);
}
