import type { Host } from '../../host/ports/index.ts';
import type { ServiceState } from '../../host/ports/services.ts';
import { isObject, objectIn } from '../../lib/json.ts';
import type { ReplacedFile } from '../configuration/configuration-store.ts';
import type { Desired } from '../declare/subsystem.ts';

export const backupsFolder = '/var/backups/holdfast';
const manifestFile = `${backupsFolder}/manifest.json`;

/** A path that only Holdfast uses. Packages and people have no files there, so nothing there is anybody's original. */
export function isOwnPath(path: string): boolean {
  return path.includes('holdfast');
}

/** What was at a path when Holdfast first wrote there. */
interface FileEntry {
  /** Where it is kept; null when nothing was there. Missing where it is unknown: a version without originals wrote there. */
  readonly original?: string | null;
}

type ServiceEntry = Pick<ServiceState, 'running' | 'enabled'>;

/** What Holdfast has taken the place of. Each entry is written down before anything is replaced. */
interface Manifest {
  readonly files: Readonly<Record<string, FileEntry>>;
  /** As they were before; null where that is unknown. */
  readonly services: Readonly<Record<string, ServiceEntry | null>>;
  /** Paths of files that are Holdfast's alone, and with `*` at the end beginnings of such paths. */
  readonly own: readonly string[];
  /** Whether everything was given back, as when the package is removed. */
  readonly released: boolean;
}

const nothing: Manifest = { files: {}, services: {}, own: [], released: false };

interface OriginalsLog {
  info(fields: object, message: string): void;
}

/** What a subsystem consists of on the machine, as far as it can be given back. */
type Rendered = Pick<Desired, 'files' | 'owns'> & { readonly services?: readonly { readonly name: string }[] };

/**
 * Keeps what was on the machine before Holdfast, so that it can be given back: files under /var/backups/holdfast, each in
 * a folder named by the time and with the same path below, and the states of services. A list beside them, the manifest,
 * says what belongs where.
 *
 * A path has one original: what was there when Holdfast first wrote to it. Paths that are Holdfast's alone have none.
 */
export class Originals {
  readonly #host: Host;
  readonly #log: OriginalsLog;
  readonly #now: () => number;
  #manifest: Manifest = nothing;
  #isThere = false;
  /** The operation that writes the manifest now. Changes that run beside each other write it one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: { readonly host: Host; readonly log: OriginalsLog; readonly now: () => number }) {
    this.#host = parts.host;
    this.#log = parts.log;
    this.#now = parts.now;
  }

  async load(): Promise<void> {
    const text = await this.#host.files.read(manifestFile);
    const manifest = text === undefined ? undefined : readManifest(text);
    this.#isThere = manifest !== undefined;
    this.#manifest = manifest ?? nothing;
  }

  /** Whether Holdfast has written down here what it replaced, or that it gave everything back. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** Whether Holdfast gave everything back and has replaced nothing since. */
  get isReleased(): boolean {
    return this.#manifest.released;
  }

  /**
   * Keeps what a subsystem is about to replace and has not replaced before. `applied` is what the machine is known to be:
   * where it says that nothing is at a path, somebody may have put a file there since. Returns the files that were kept.
   */
  secure(desired: Rendered, applied?: Rendered): Promise<readonly ReplacedFile[]> {
    return this.#inTurn(() => this.#secure(desired, applied));
  }

  async #secure(desired: Rendered, applied: Rendered | undefined): Promise<readonly ReplacedFile[]> {
    const absent = new Set(applied?.files?.filter(({ content }) => content === undefined).map(({ path }) => path));
    const paths = foreignPaths(desired).filter((path) => {
      if (this.#manifest.files[path] === undefined) return true;
      return (
        absent.has(path) && desired.files?.some((file) => file.path === path && file.content !== undefined) === true
      );
    });
    const names = (desired.services ?? [])
      .map(({ name }) => name)
      .filter((name) => this.#manifest.services[name] === undefined);
    const own = this.#newOwn(desired);
    if (paths.length === 0 && names.length === 0 && own.length === 0) return [];
    if (!this.#isThere) await this.#makeFolder();
    const files: Record<string, FileEntry> = {};
    const replaced: ReplacedFile[] = [];
    const folder = `${backupsFolder}/${stamp(this.#now())}`;
    for (const path of paths) {
      const kept = `${folder}${path}`;
      const isKept = await this.#host.files.copy(path, kept, { isPrivate: true });
      if (isKept) {
        this.#log.info({ path, kept }, 'kept the original of a file');
        replaced.push({ path, kept });
      }
      const known = this.#manifest.files[path];
      if (known === undefined || (isKept && known.original === null)) files[path] = { original: isKept ? kept : null };
    }
    const states = names.length === 0 ? new Map<string, ServiceState>() : await this.#host.services.states(names);
    const services = Object.fromEntries(
      names.map((name) => [
        name,
        { running: states.get(name)?.running ?? false, enabled: states.get(name)?.enabled ?? false },
      ]),
    );
    await this.#note({
      files: { ...this.#manifest.files, ...files },
      services: { ...this.#manifest.services, ...services },
      own: [...this.#manifest.own, ...own],
      released: false,
    });
    return replaced;
  }

  /** Takes what is at these paths for Holdfast's own: an earlier version wrote there, and kept no originals. */
  async assumeOwn(rendered: Rendered): Promise<void> {
    const files = Object.fromEntries(foreignPaths(rendered).map((path) => [path, {}]));
    const services = Object.fromEntries((rendered.services ?? []).map(({ name }) => [name, null]));
    // Also when it cannot be written: nothing of Holdfast's may be kept as an original.
    this.#manifest = { files, services, own: this.#newOwn(rendered), released: false };
    await this.#note(this.#manifest);
  }

  /** Whether something of this subsystem was replaced. */
  holdsFor(desired: Rendered): boolean {
    const { files, services } = this.#manifest;
    return (
      foreignPaths(desired).some((path) => files[path] !== undefined) ||
      (desired.services ?? []).some(({ name }) => services[name] !== undefined)
    );
  }

  /** Puts everything of a subsystem back as it was before Holdfast. */
  giveBack(desired: Rendered): Promise<void> {
    const names = (desired.services ?? []).map(({ name }) => name);
    return this.#inTurn(() => this.#return(ownPaths(desired), foreignPaths(desired), names));
  }

  #inTurn<T>(operation: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(operation);
    this.#turn = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  /** The files on the machine that are Holdfast's alone. */
  async ownFiles(): Promise<readonly string[]> {
    return (await Promise.all(this.#manifest.own.map((path) => this.#filesAt(path)))).flat();
  }

  /** Puts the whole machine back as it was, and removes these files. Answers the paths whose original is unknown. */
  async release(
    own: readonly string[],
    { except = [] }: { readonly except?: readonly string[] } = {},
  ): Promise<readonly string[]> {
    const { files, services } = this.#manifest;
    const unknown = Object.keys(files).filter((path) => files[path]?.original === undefined);
    await this.#return(
      own,
      Object.keys(files),
      Object.keys(services).filter((name) => !except.includes(name)),
    );
    await this.#note({ ...nothing, released: true });
    return unknown;
  }

  async #return(own: readonly string[], paths: readonly string[], names: readonly string[]): Promise<void> {
    const { files } = this.#host;
    for (const path of (await Promise.all(own.map((one) => this.#filesAt(one)))).flat()) await files.remove(path);
    for (const path of paths) {
      const original = this.#manifest.files[path]?.original;
      if (original === null) await files.remove(path);
      else if (original !== undefined && !(await files.copy(original, path, { isPrivate: false })))
        this.#log.info({ path, kept: original }, 'the kept original of a file is gone');
      else if (original !== undefined) this.#log.info({ path, kept: original }, 'gave back the original of a file');
    }
    await this.#host.services.reread();
    const states = await this.#host.services.states(names);
    for (const name of names) {
      const state = this.#manifest.services[name];
      if (state === undefined || state === null || states.get(name)?.installed !== true) continue;
      if (state.running || states.get(name)?.running !== state.running || states.get(name)?.enabled !== state.enabled)
        await this.#host.services.putBack(name, state);
    }
    await this.#note({
      files: without(this.#manifest.files, paths),
      services: without(this.#manifest.services, names),
      own: this.#manifest.own.filter((path) => !own.includes(path)),
      released: this.#manifest.released,
    });
  }

  /** Own paths of a subsystem that are not written down yet. Files below a beginning that is, come and go. */
  #newOwn(desired: Rendered): readonly string[] {
    const known = new Set(this.#manifest.own);
    return ownPaths(desired).filter((path) => !known.has(path));
  }

  async #filesAt(path: string): Promise<readonly string[]> {
    if (path.endsWith('*')) return this.#host.files.beginning(path.slice(0, -1));
    return (await this.#host.files.kind(path)) === undefined ? [] : [path];
  }

  /** For root alone: originals may hold secrets that only their own permissions kept. */
  async #makeFolder(): Promise<void> {
    await this.#host.files.makeFolder(backupsFolder, { within: '/', links: 'followed', mode: 0o700 });
  }

  async #note(manifest: Manifest): Promise<void> {
    if (!this.#isThere) await this.#makeFolder();
    await this.#host.files.write(manifestFile, `${JSON.stringify(manifest, undefined, 1)}\n`, { mode: 0o600 });
    this.#manifest = manifest;
    this.#isThere = true;
  }
}

/** The paths that Holdfast shares with packages and people. */
function foreignPaths({ files = [] }: Rendered): readonly string[] {
  return files.map(({ path }) => path).filter((path) => !isOwnPath(path));
}

/** The paths that are Holdfast's alone, in the notation of the manifest. */
function ownPaths({ files = [], owns = [] }: Rendered): readonly string[] {
  const own = files
    .map(({ path }) => path)
    .filter((path) => isOwnPath(path) && !owns.some((beginning) => path.startsWith(beginning)));
  return [...own, ...owns.map((beginning) => `${beginning}*`)];
}

function without<T>(record: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

/** `2026-01-31T12-00-00Z`: a name of a folder that sorts by time. */
export function stamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}

/** A file that cannot be understood is as if it were not there: nothing is given back by a guess. */
function readManifest(text: string): Manifest | undefined {
  const value = objectIn(text);
  if (value === undefined) return undefined;
  const files = isObject(value['files']) ? value['files'] : {};
  const services = isObject(value['services']) ? value['services'] : {};
  return {
    files: Object.fromEntries(Object.entries(files).map(([path, entry]) => [path, fileEntry(entry)])),
    services: Object.fromEntries(Object.entries(services).map(([name, entry]) => [name, serviceEntry(entry)])),
    own: Array.isArray(value['own']) ? value['own'].filter((path) => typeof path === 'string') : [],
    released: value['released'] === true,
  };
}

function fileEntry(value: unknown): FileEntry {
  const original = isObject(value) ? value['original'] : undefined;
  return typeof original === 'string' || original === null ? { original } : {};
}

function serviceEntry(value: unknown): ServiceEntry | null {
  return isObject(value) ? { running: value['running'] === true, enabled: value['enabled'] === true } : null;
}
