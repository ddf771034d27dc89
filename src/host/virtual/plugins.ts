import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { isWithin } from '../../lib/path.ts';
import { type TarEntry, untar } from '../../lib/tar.ts';
import { HostError } from '../ports/index.ts';
import type { Watch } from '../ports/jails.ts';
import {
  descriptionOf,
  mostBundle,
  mostBundleFiles,
  type PluginDescription,
  type PluginStatus,
  type Plugins,
  pluginsFolder,
  readDescription,
  shippedBundles,
} from '../ports/plugins.ts';
import type { VirtualJails } from './jails.ts';
import { hostError } from './state.ts';
import { lookAt, type Tree } from './tree.ts';

/** The file that lists the packages of a virtual jail. */
const packagesFile = 'var/lib/dpkg/virtual';

/** Plugins are not run: only their status is stored. Bundles are unpacked almost as on a real machine. */
export class VirtualPlugins implements Plugins {
  readonly #tree: Tree;
  readonly #jails: VirtualJails;

  constructor(tree: Tree, jails: VirtualJails) {
    this.#tree = tree;
    this.#jails = jails;
  }

  async look(): Promise<ReadonlyMap<number, PluginStatus>> {
    const folder = this.#tree.locate(pluginsFolder);
    const numbers = (existsSync(folder) ? readdirSync(folder) : [])
      .flatMap((name) => /^(\d+)\.json$/.exec(name)?.[1] ?? [])
      .map(Number);
    return new Map(numbers.map((id) => [id, this.#goes(id) ? 'RUNNING' : 'STOPPED'] as const));
  }

  async start(id: number): Promise<void> {
    const { jail, folder } = this.#mustBeKnown(id);
    if (!this.#jails.runs(jail)) throw new HostError(`the jail ${jail} does not run`);
    if (!(await this.#jails.look()).get(jail)?.mounted.includes(folder))
      throw new HostError(`its start command failed: nsenter: cannot open ${folder}: No such file or directory`);
    this.#jails.switchPlugin(jail, id, true);
  }

  async stop(id: number): Promise<void> {
    const description = this.#description(id);
    if (description !== undefined && this.#jails.runs(description.jail))
      this.#jails.switchPlugin(description.jail, id, false);
  }

  async unpack(source: string, folder: string, watch: Watch): Promise<void> {
    if (!source.startsWith('/')) throw new HostError(`cannot fetch ${source}: the virtual host has no network access`);
    watch.progress(`unpacking ${source}`);
    const entries = this.#entriesOf(source);
    if (entries.length > mostBundleFiles)
      throw new HostError(`the bundle has ${entries.length} files; at most ${mostBundleFiles} are accepted`);
    const outside = entries.find(({ name }) => name.startsWith('/') || name.split('/').includes('..'));
    if (outside !== undefined)
      throw new HostError(`the bundle has the file ${outside.name}, which would lie outside of it`);
    const strange = entries.find(({ kind }) => kind === 'other');
    if (strange !== undefined)
      throw new HostError(`the bundle has ${strange.name}, which is neither a file nor a folder nor a link`);
    try {
      // Links are created last, so that no file is written through a link.
      for (const entry of entries.toSorted((a, b) => Number(a.kind === 'link') - Number(b.kind === 'link')))
        this.#put(entry, this.#tree.locate(folder));
    } catch (error) {
      throw hostError(`cannot unpack ${source}`, error);
    }
  }

  async lacking(jail: string, packages: readonly string[]): Promise<readonly string[]> {
    if (packages.length === 0) return [];
    const there = this.#packagesOf(jail);
    return packages.filter((name) => !there.includes(name));
  }

  async addPackages(jail: string, packages: readonly string[], watch: Watch): Promise<void> {
    if (packages.length === 0) return;
    watch.progress(`looking for packages of the jail ${jail}`);
    const unknown = packages.find((name) => name.startsWith('missing'));
    if (unknown !== undefined)
      throw new HostError(`apt-get install in the jail ${jail} failed: E: Unable to locate package ${unknown}`);
    this.#keepPackages(jail, [...new Set([...this.#packagesOf(jail), ...packages])]);
  }

  async removePackages(jail: string, packages: readonly string[]): Promise<void> {
    if (packages.length > 0)
      this.#keepPackages(
        jail,
        this.#packagesOf(jail).filter((name) => !packages.includes(name)),
      );
  }

  #goes(id: number): boolean {
    const jail = this.#description(id)?.jail;
    return jail !== undefined && this.#jails.runs(jail) && this.#jails.pluginsOf(jail).includes(id);
  }

  #description(id: number): PluginDescription | undefined {
    const location = this.#tree.locate(descriptionOf(id));
    return lookAt(location)?.isFile() === true ? readDescription(readFileSync(location, 'utf8')) : undefined;
  }

  #mustBeKnown(id: number): PluginDescription {
    const description = this.#description(id);
    if (description === undefined) throw new HostError(`there is no description of the plugin ${id}`);
    return description;
  }

  #entriesOf(source: string): readonly TarEntry[] {
    const location = this.#bundlePath(source);
    try {
      const found = statSync(location);
      if (found.isDirectory()) return entriesBelow(location, location);
      if (found.size > mostBundle)
        throw new HostError(`it has ${found.size} bytes; at most ${mostBundle} are accepted`);
    } catch (error) {
      throw hostError(`cannot read the bundle ${source}`, error);
    }
    const bytes = readFileSync(location);
    const entries = untar(
      bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes, { maxOutputLength: mostBundle }) : bytes,
    );
    if (entries === undefined) throw new HostError(`tar: This does not look like a tar archive`);
    return entries;
  }

  /** Bundles that are part of Holdfast are found on the virtual machine unless its own files hide them. */
  #bundlePath(source: string): string {
    const location = this.#tree.locate(source);
    if (existsSync(location) || !isWithin(source, shippedBundles)) return location;
    return join(shippedFolder(), source.slice(shippedBundles.length));
  }

  #put({ name, kind, mode, content, target }: TarEntry, folder: string): void {
    const location = join(folder, name);
    mkdirSync(kind === 'folder' ? location : dirname(location), { recursive: true });
    if (kind === 'file') writeFileSync(location, content, { mode: mode | 0o600 });
    if (kind === 'link') symlinkSync(target, location);
  }

  #packagesOf(jail: string): readonly string[] {
    const location = this.#tree.locate(`${this.#rootOfRunning(jail)}/${packagesFile}`);
    return lookAt(location)?.isFile() === true
      ? readFileSync(location, 'utf8')
          .split('\n')
          .filter((name) => name !== '')
      : [];
  }

  #keepPackages(jail: string, names: readonly string[]): void {
    const location = this.#tree.locate(`${this.#rootOfRunning(jail)}/${packagesFile}`);
    mkdirSync(dirname(location), { recursive: true });
    writeFileSync(location, names.map((name) => `${name}\n`).join(''));
  }

  #rootOfRunning(jail: string): string {
    if (!this.#jails.runs(jail)) throw new HostError(`the jail ${jail} does not run`);
    return this.#jails.rootOf(jail);
  }
}

/** The folder in the source tree, or beside the bundled daemon. */
function shippedFolder(): string {
  const source = fileURLToPath(new URL('../../../plugins', import.meta.url));
  return import.meta.url.endsWith('.ts') ? source : fileURLToPath(new URL('./plugins', import.meta.url));
}

function entriesBelow(folder: string, top: string): readonly TarEntry[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): readonly TarEntry[] => {
    const location = join(folder, entry.name);
    const common = { name: relative(top, location), mode: 0o755, content: Buffer.alloc(0), target: '' };
    if (entry.isDirectory()) return [{ ...common, kind: 'folder' }, ...entriesBelow(location, top)];
    if (entry.isSymbolicLink()) return [{ ...common, kind: 'link', target: readlinkSync(location) }];
    return [
      entry.isFile()
        ? { ...common, kind: 'file', mode: statSync(location).mode & 0o777, content: readFileSync(location) }
        : { ...common, kind: 'other' },
    ];
  });
}
