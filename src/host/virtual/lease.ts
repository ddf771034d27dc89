import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { HostError } from '../ports/index.ts';
import {
  type AboutNode,
  type Fencing,
  type Lease,
  type LeaseNode,
  type LeaseState,
  leaseProblem,
  type Vote,
} from '../ports/lease.ts';
import {
  codeOf,
  type Guard,
  hostError,
  isNumber,
  isText,
  listOf,
  oneOf,
  optional,
  replaceFile,
  shapeOf,
} from './state.ts';

/** A shelf of disks that several virtual machines reach. */
export interface Shelf {
  readonly folder: string;
  /** The name of this machine among those of the shelf. */
  readonly node: string;
}

/** What a machine left on the shelf when it was opened. */
interface Plug {
  /** The folder of its files. */
  readonly root: string;
  /** Its process. */
  readonly pid: number;
  /** Set by a test: it was switched off by the fence, or its cable was cut. */
  readonly state?: 'offline' | 'unknown' | undefined;
  /** When another machine ended it, in milliseconds since 1970. */
  readonly ended?: number | undefined;
  readonly about?: AboutNode | undefined;
}

const isAbout: Guard<AboutNode> = shapeOf<AboutNode>({
  version: isText,
  hostId: isText,
  missingDisks: listOf(isText),
  shared: optional(isText),
});

const isPlug: Guard<Plug> = shapeOf<Plug>({
  root: isText,
  pid: isNumber,
  state: optional(oneOf(['offline', 'unknown'])),
  ended: optional(isNumber),
  about: optional(isAbout),
});

/**
 * The lease in the folder of a shelf. A virtual machine whose process has ended is switched off, and its fence ends that
 * process. Without a shelf the machine is in no pair.
 */
export class VirtualLease implements Lease {
  readonly #shelf: Shelf | undefined;
  readonly #nodes: string;
  readonly #file: string;
  readonly #maintained: string;
  readonly #unseen: string;
  readonly #conf: string;
  readonly #now: () => number;

  constructor(shelf: Shelf | undefined, root: string, now: () => number) {
    this.#shelf = shelf;
    this.#now = now;
    this.#maintained = join(shelf?.folder ?? '', 'maintained');
    this.#unseen = join(shelf?.folder ?? '', 'vote-unseen');
    this.#conf = join(root, 'etc', 'corosync', 'corosync.conf');
    this.#nodes = join(shelf?.folder ?? '', 'nodes');
    this.#file = join(shelf?.folder ?? '', 'holder');
    if (shelf === undefined) return;
    mkdirSync(this.#nodes, { recursive: true });
    this.#plug(shelf.node, { ...this.#read(shelf.node), root, pid: process.pid, state: undefined });
  }

  async look(): Promise<LeaseState | undefined> {
    if (this.#shelf === undefined) return undefined;
    const nodes = this.#names().map((name): LeaseNode => Object.freeze({ name, state: this.#stateOf(name) }));
    return Object.freeze({
      self: this.#shelf.node,
      nodes,
      holder: this.#holder(),
      hasQuorum: true,
      isMaintained: existsSync(this.#maintained),
    });
  }

  async take({ founding = false }: { readonly founding?: boolean } = {}): Promise<void> {
    const { node } = this.#plugged();
    const state = await this.look();
    const problem = founding ? undefined : state && leaseProblem(state);
    if (problem !== undefined) throw new HostError(problem);
    if (state?.holder === node) return;
    // The other machine is off, so only this one can remove its file. The name of a new one is given only once.
    if (state?.holder !== undefined) rmSync(this.#file, { force: true });
    try {
      writeFileSync(this.#file, node, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      throw codeOf(error) === 'EEXIST'
        ? new HostError(`${this.#holder() ?? 'another machine'} holds the pool. Release it there first.`)
        : hostError('cannot take the lease', error);
    }
  }

  async release(): Promise<void> {
    const { node } = this.#plugged();
    if (this.#holder() === node) rmSync(this.#file, { force: true });
  }

  watch(changed: () => void): () => void {
    if (this.#shelf === undefined) return () => {};
    let last = this.#holder();
    const watcher = watch(this.#shelf.folder, () => {
      const now = this.#holder();
      if (now === last) return;
      last = now;
      changed();
    });
    watcher.unref();
    return () => watcher.close();
  }

  watchOthers(changed: (isMissing: boolean) => void): () => void {
    if (this.#shelf === undefined) return () => {};
    const isMissing = () => this.#names().some((name) => this.#stateOf(name) !== 'online');
    let last = isMissing();
    const watcher = watch(this.#nodes, () => {
      const now = isMissing();
      if (now === last) return;
      last = now;
      changed(now);
    });
    watcher.unref();
    return () => watcher.close();
  }

  /** What a cluster does: asks the daemons of the machines to release and to take the pool, by their sockets. */
  async move(node: string): Promise<void> {
    const { node: self } = this.#plugged();
    const from = this.#holder();
    if (from === node) return;
    if (this.#read(node) === undefined) throw new HostError(`there is no machine ${node}`);
    void (async () => {
      if (from !== undefined) await this.#order(from, 'release');
      await this.#order(node, 'take').catch(() => this.#order(from ?? self, 'take'));
    })().catch(() => {});
  }

  async maintain(isMaintained: boolean): Promise<void> {
    this.#plugged();
    if (isMaintained) writeFileSync(this.#maintained, '', { mode: 0o600 });
    else rmSync(this.#maintained, { force: true });
  }

  async fencing(): Promise<readonly Fencing[]> {
    const state = await this.look();
    return (state?.nodes ?? []).map(({ name }) => {
      const plug = this.#read(name);
      return Object.freeze({
        node: name,
        devices: ['process'],
        lastEnded: plug?.ended,
        hasFailed: false,
        about: plug?.about,
      });
    });
  }

  async fence(node: string): Promise<void> {
    const { node: self } = this.#plugged();
    const plug = this.#read(node);
    if (plug === undefined || node === self) throw new HostError(`there is no other machine ${node}`);
    if (plug.pid !== process.pid && isRunning(plug.pid)) process.kill(plug.pid, 'SIGKILL');
    this.#plug(node, { ...plug, ended: this.#now() });
  }

  /** Of the configuration of Corosync, which no program reads on a virtual machine, only this is looked at. */
  async vote(): Promise<Vote | undefined> {
    this.#plugged();
    const host = existsSync(this.#conf) ? /^ *host: (\S+)$/m.exec(readFileSync(this.#conf, 'utf8'))?.[1] : undefined;
    if (host === undefined) return undefined;
    const nodes = existsSync(this.#unseen) ? [] : ((await this.look())?.nodes ?? []);
    return Object.freeze({ host, givenTo: nodes.flatMap(({ name, state }) => (state === 'online' ? name : [])) });
  }

  async reread(): Promise<void> {
    this.#plugged();
  }

  /** Whether the machines see the one with the third vote. For tests. */
  seeVote(isSeen: boolean): void {
    if (isSeen) rmSync(this.#unseen, { force: true });
    else writeFileSync(this.#unseen, '', { mode: 0o600 });
  }

  async publish(about: AboutNode): Promise<void> {
    const { node } = this.#plugged();
    const plug = this.#read(node);
    if (plug !== undefined) this.#plug(node, { ...plug, about });
  }

  #order(node: string, order: 'take' | 'release'): Promise<void> {
    const socketPath = join(this.#read(node)?.root ?? '', '..', '..', 'pair.socket');
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, method: 'POST', path: `/${order}` }, (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new HostError(`${node} could not ${order} the pool`)),
        );
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  /** The folder of the files of a machine; undefined if it was never plugged in. */
  rootOf(node: string): string | undefined {
    return this.#read(node)?.root;
  }

  /** What the others see of a machine: switched off, its cable cut (`unknown`), or as it is. For tests. */
  see(node: string, state: 'offline' | 'unknown' | undefined): void {
    const plug = this.#read(node);
    if (plug === undefined) throw new HostError(`there is no machine ${node}`);
    this.#plug(node, { ...plug, state });
  }

  /** A machine that was fenced does nothing any more. */
  #plugged(): Shelf {
    if (this.#shelf === undefined) throw new HostError('this machine is not part of a pair');
    if (this.#read(this.#shelf.node)?.state === 'offline') throw new HostError('this machine is switched off');
    return this.#shelf;
  }

  #holder(): string | undefined {
    try {
      return readFileSync(this.#file, 'utf8') || undefined;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw hostError('cannot read the lease', error);
    }
  }

  #names(): readonly string[] {
    return readdirSync(this.#nodes)
      .flatMap((file) => /^(.+)\.json$/.exec(file)?.[1] ?? [])
      .sort();
  }

  #stateOf(node: string): LeaseNode['state'] {
    const plug = this.#read(node);
    if (plug?.state !== undefined) return plug.state;
    return plug !== undefined && isRunning(plug.pid) ? 'online' : 'offline';
  }

  #read(node: string): Plug | undefined {
    try {
      const value: unknown = JSON.parse(readFileSync(this.#plugFile(node), 'utf8'));
      return isPlug(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  #plug(node: string, plug: Plug): void {
    const file = this.#plugFile(node);
    replaceFile(file, `${file}.new`, JSON.stringify(plug), 0o600);
  }

  #plugFile(node: string): string {
    return join(this.#nodes, `${node}.json`);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user.
    return codeOf(error) === 'EPERM';
  }
}
