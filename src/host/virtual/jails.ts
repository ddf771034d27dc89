import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HostError } from '../ports/index.ts';
import {
  type JailMount,
  type Jails,
  jailService,
  type RootSource,
  type RunningJail,
  type Watch,
} from '../ports/jails.ts';
import { hostError, isNumber, isText, listOf, Memory, mapOf, optional, shapeOf } from './state.ts';
import { lookAt, type Tree } from './tree.ts';

/** The options of a jail's unit for its root file system and its bind mounts. */
const rootOption = /"--directory=([^"]*)"/;
/** A colon in a path is escaped by a backslash, which is doubled in the unit. */
const bindOption = /"--bind(?:-ro)?=((?:\\\\.|[^:"\\])*):((?:\\\\.|[^:"\\])*)[":]/g;

/** The plugins that start with the jail. */
const startedPlugin = /\bholdfast-plugin-(\d+)\.service/g;

/** The stored state of a running jail: its mounts, and the plugins that were started in it. */
interface Remembered extends RunningJail {
  readonly plugins?: readonly number[] | undefined;
}

/** Removes the escapes from an argument in a unit. */
const plain = (argument: string): string => argument.replaceAll('\\\\', '').replaceAll('%%', '%').replaceAll('$$', '$');

export class VirtualJails implements Jails {
  readonly #memory: Memory<Readonly<Record<string, Remembered>>>;
  readonly #tree: Tree;

  constructor(path: string, tree: Tree) {
    this.#tree = tree;
    this.#memory = new Memory(
      path,
      mapOf(shapeOf<Remembered>({ mounted: listOf(isText), plugins: optional(listOf(isNumber)) })),
      Object.freeze({}),
    );
  }

  async look(): Promise<ReadonlyMap<string, RunningJail>> {
    return new Map(Object.entries(this.#memory.value));
  }

  async start(name: string): Promise<void> {
    if (this.#running(name) !== undefined) return;
    const unit = this.#unitOf(name);
    if (unit === undefined)
      throw new HostError(`Failed to start ${jailService(name)}.service: Unit ${jailService(name)}.service not found.`);
    const root = rootIn(unit);
    if (!this.#isFolder(root))
      throw new HostError(
        `Directory ${root} doesn't look like it has an OS tree (/usr/ directory is missing). Refusing.`,
      );
    const mounted: string[] = [];
    for (const [source = '', destination = ''] of [...unit.matchAll(bindOption)].map(([, ...ends]) =>
      ends.map(plain),
    )) {
      if (!this.#isFolder(source)) throw new HostError(`Failed to stat ${source}: No such file or directory`);
      mounted.push(destination);
    }
    this.#keep(name, { mounted, plugins: [...unit.matchAll(startedPlugin)].map(([, id]) => Number(id)) });
  }

  async stop(name: string): Promise<void> {
    if (this.#running(name) !== undefined) this.#keep(name, undefined);
  }

  async attach(name: string, { source, destination }: JailMount): Promise<void> {
    const jail = this.#mustRun(name);
    if (!this.#isFolder(source)) throw new HostError(`Failed to bind mount: ${source}: No such file or directory`);
    this.#keep(name, { ...jail, mounted: [...jail.mounted, destination] });
  }

  async detach(name: string, destination: string): Promise<void> {
    const jail = this.#mustRun(name);
    if (!jail.mounted.includes(destination)) throw new HostError(`umount: ${destination}: not mounted.`);
    this.#keep(name, { ...jail, mounted: jail.mounted.filter((path) => path !== destination) });
  }

  async furnish(folder: string, { url }: RootSource, { progress }: Watch): Promise<void> {
    progress(`fetching ${url}`);
    // There is no network access, so every valid URL exists, except those that contain /missing.
    if (/\/missing\b/.test(url)) throw new HostError(`cannot fetch ${url}: The requested URL returned error: 404`);
    try {
      mkdirSync(join(this.#tree.locate(folder), 'usr'), { recursive: true });
      mkdirSync(join(this.#tree.locate(folder), 'etc'), { recursive: true });
      writeFileSync(join(this.#tree.locate(folder), 'etc', 'os-release'), 'ID=virtual\n');
    } catch (error) {
      throw hostError(`cannot unpack into ${folder}`, error);
    }
  }

  /** The plugins that run in a jail, which must be running. */
  pluginsOf(name: string): readonly number[] {
    return this.#mustRun(name).plugins ?? [];
  }

  switchPlugin(name: string, id: number, on: boolean): void {
    const jail = this.#mustRun(name);
    const others = (jail.plugins ?? []).filter((other) => other !== id);
    this.#keep(name, { ...jail, plugins: on ? [...others, id] : others });
  }

  runs(name: string): boolean {
    return this.#running(name) !== undefined;
  }

  /** The path of a jail's root file system. */
  rootOf(name: string): string {
    return rootIn(this.#unitOf(name) ?? '');
  }

  #unitOf(name: string): string | undefined {
    const location = this.#tree.locate(`/etc/systemd/system/${jailService(name)}.service`);
    return lookAt(location)?.isFile() === true ? readFileSync(location, 'utf8') : undefined;
  }

  #isFolder(path: string): boolean {
    return lookAt(this.#tree.locate(path))?.isDirectory() === true;
  }

  #running(name: string): Remembered | undefined {
    return Object.hasOwn(this.#memory.value, name) ? this.#memory.value[name] : undefined;
  }

  #mustRun(name: string): Remembered {
    const jail = this.#running(name);
    if (jail === undefined) throw new HostError(`No machine '${name}' known`);
    return jail;
  }

  #keep(name: string, jail: Remembered | undefined): void {
    const { [name]: _, ...others } = this.#memory.value;
    this.#memory.keep(
      Object.freeze(
        jail === undefined
          ? others
          : {
              ...others,
              [name]: Object.freeze({
                mounted: Object.freeze(jail.mounted),
                plugins: Object.freeze(jail.plugins ?? []),
              }),
            },
      ),
    );
  }
}

function rootIn(unit: string): string {
  return plain(rootOption.exec(unit)?.[1] ?? '');
}
