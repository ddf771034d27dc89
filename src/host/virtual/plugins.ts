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

/** Where the packages of a virtual jail are written down. */
const packagesFile = 'var/lib/dpkg/virtual';

/** Plugins that only remember whether they go. Bundles are unpacked for the most part as they are on a real machine. */
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
    if (!source.startsWith('/')) throw new HostError(`cannot fetch ${source}: no network reaches the virtual host`);
    watch.progress(`unpacking ${source}`);
    const entries = this.#entriesOf(source);
    if (entries.length > mostBundleFiles)
      throw new HostError(`the bundle has ${entries.length} files; at most ${mostBundleFiles} are taken`);
    const outside = entries.find(({ name }) => name.startsWith('/') || name.split('/').includes('..'));
    if (outside !== undefined)
      throw new HostError(`the bundle has the file ${outside.name}, which would lie outside of it`);
    const strange = entries.find(({ kind }) => kind === 'other');
    if (strange !== undefined)
      throw new HostError(`the bundle has ${strange.name}, which is neither a file nor a folder nor a link`);
    try {
      // Links come last, so that nothing is written by way of one.
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
    const place = this.#tree.locate(descriptionOf(id));
    return lookAt(place)?.isFile() === true ? readDescription(readFileSync(place, 'utf8')) : undefined;
  }

  #mustBeKnown(id: number): PluginDescription {
    const description = this.#description(id);
    if (description === undefined) throw new HostError(`there is no description of the plugin ${id}`);
    return description;
  }

  #entriesOf(source: string): readonly TarEntry[] {
    const place = this.#placeOf(source);
    try {
      const found = statSync(place);
      if (found.isDirectory()) return entriesBelow(place, place);
      if (found.size > mostBundle) throw new HostError(`it has ${found.size} bytes; at most ${mostBundle} are taken`);
    } catch (error) {
      throw hostError(`cannot read the bundle ${source}`, error);
    }
    const bytes = readFileSync(place);
    const entries = untar(
      bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes, { maxOutputLength: mostBundle }) : bytes,
    );
    if (entries === undefined) throw new HostError(`tar: This does not look like a tar archive`);
    return entries;
  }

  /** What comes with Holdfast is on the virtual machine too, unless something else is there. */
  #placeOf(source: string): string {
    const place = this.#tree.locate(source);
    if (existsSync(place) || !isWithin(source, shippedBundles)) return place;
    return join(shippedPlace(), source.slice(shippedBundles.length));
  }

  #put({ name, kind, mode, content, target }: TarEntry, folder: string): void {
    const place = join(folder, name);
    mkdirSync(kind === 'folder' ? place : dirname(place), { recursive: true });
    if (kind === 'file') writeFileSync(place, content, { mode: mode | 0o600 });
    if (kind === 'link') symlinkSync(target, place);
  }

  #packagesOf(jail: string): readonly string[] {
    const place = this.#tree.locate(`${this.#rootOfRunning(jail)}/${packagesFile}`);
    return lookAt(place)?.isFile() === true
      ? readFileSync(place, 'utf8')
          .split('\n')
          .filter((name) => name !== '')
      : [];
  }

  #keepPackages(jail: string, names: readonly string[]): void {
    const place = this.#tree.locate(`${this.#rootOfRunning(jail)}/${packagesFile}`);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, names.map((name) => `${name}\n`).join(''));
  }

  #rootOfRunning(jail: string): string {
    if (!this.#jails.runs(jail)) throw new HostError(`the jail ${jail} does not run`);
    return this.#jails.rootOf(jail);
  }
}

/** In the project, or beside the bundled program. */
function shippedPlace(): string {
  const source = fileURLToPath(new URL('../../../plugins', import.meta.url));
  return import.meta.url.endsWith('.ts') ? source : fileURLToPath(new URL('./plugins', import.meta.url));
}

function entriesBelow(folder: string, top: string): readonly TarEntry[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): readonly TarEntry[] => {
    const place = join(folder, entry.name);
    const told = { name: relative(top, place), mode: 0o755, content: Buffer.alloc(0), target: '' };
    if (entry.isDirectory()) return [{ ...told, kind: 'folder' }, ...entriesBelow(place, top)];
    if (entry.isSymbolicLink()) return [{ ...told, kind: 'link', target: readlinkSync(place) }];
    return [
      entry.isFile()
        ? { ...told, kind: 'file', mode: statSync(place).mode & 0o777, content: readFileSync(place) }
        : { ...told, kind: 'other' },
    ];
  });
}
