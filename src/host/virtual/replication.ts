import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isWithin } from '../../lib/path.ts';
import { HostError } from '../ports/index.ts';
import type {
  Paired,
  PairRequest,
  Remote,
  Replica,
  ReplicaSnapshot,
  Replication,
  Transfer,
} from '../ports/replication.ts';
import { codeOf, isText, listOf, Memory, mapOf, optional, shapeOf } from './state.ts';
import type { Tree } from './tree.ts';

/** The stored state of other machines. They exist from their first use on, and never run out of space. */
interface Elsewhere {
  readonly peers: Readonly<Record<string, Peer>>;
  /** Local bookmarks, by dataset. */
  readonly marks: Readonly<Record<string, readonly ReplicaSnapshot[]>>;
}

interface Peer {
  /** The host key at its first use. */
  readonly key: string | undefined;
  readonly datasets: Readonly<Record<string, readonly ReplicaSnapshot[]>>;
}

const isSnapshots = listOf(shapeOf<ReplicaSnapshot>({ name: isText, guid: isText }));

const isElsewhere = shapeOf<Elsewhere>({
  peers: mapOf(shapeOf<Peer>({ key: optional(isText), datasets: mapOf(isSnapshots) })),
  marks: mapOf(isSnapshots),
});

/** Bytes that an empty dataset references. */
const referenced = 98_304;

export class VirtualReplication implements Replication {
  readonly #memory: Memory<Elsewhere>;
  readonly #tree: Tree;
  readonly #near: (dataset: string, recursive: boolean) => readonly Omit<Replica, 'marks' | 'resumeToken'>[];
  readonly #isCutOff: () => boolean;

  constructor(
    path: string,
    options: {
      tree: Tree;
      near: (dataset: string, recursive: boolean) => readonly Omit<Replica, 'marks' | 'resumeToken'>[];
      /** Whether no other machine can be reached. */
      isCutOff: () => boolean;
    },
  ) {
    this.#memory = new Memory(path, isElsewhere, Object.freeze({ peers: {}, marks: {} }));
    this.#tree = options.tree;
    this.#near = options.near;
    this.#isCutOff = options.isCutOff;
  }

  async near(dataset: string, { recursive }: { recursive: boolean }): Promise<readonly Replica[]> {
    return this.#near(dataset, recursive).map((replica) => ({
      ...replica,
      marks: this.#memory.value.marks[replica.name] ?? [],
      resumeToken: undefined,
    }));
  }

  async far(remote: Remote, dataset: string): Promise<readonly Replica[]> {
    return Object.entries(this.#peer(remote).datasets)
      .filter(([name]) => isWithin(name, dataset))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, snapshots]) => ({ name, snapshots, referenced, marks: [], resumeToken: undefined }));
  }

  async release(remote: Remote): Promise<void> {
    this.#peer(remote);
  }

  async send({ remote, what, target, over, signal, progress }: Transfer): Promise<void> {
    const { datasets } = this.#peer(remote);
    if ('token' in what) throw new HostError('cannot resume send: token is corrupt');
    if (signal.aborted) throw new HostError('zfs ended with SIGTERM');
    const [dataset = '', name = ''] = what.snapshot.split('@');
    const [here] = await this.near(dataset, { recursive: false });
    const snapshot = here?.snapshots.find((snapshot) => snapshot.name === name);
    if (here === undefined || snapshot === undefined)
      throw new HostError(`cannot open '${what.snapshot}': dataset does not exist`);
    const there = datasets[target];
    if (what.base === undefined && there !== undefined && !over)
      throw new HostError(`cannot receive new filesystem stream: destination '${target}' exists`);
    const first = there?.[0];
    if (what.base === undefined && first !== undefined)
      throw new HostError(
        `cannot receive new filesystem stream: destination has snapshots (eg. ${target}@${first.name})\nmust destroy them to overwrite it`,
      );
    const base = what.base;
    if (base !== undefined && there === undefined)
      throw new HostError(`cannot receive incremental stream: destination '${target}' does not exist`);
    const known = [
      ...here.snapshots.map((snapshot) => [`${dataset}@${snapshot.name}`, snapshot.guid]),
      ...here.marks.map((mark) => [`${dataset}#${mark.name}`, mark.guid]),
    ];
    if (base !== undefined && there?.at(-1)?.guid !== known.find(([full]) => full === base)?.[1])
      throw new HostError(
        `cannot receive incremental stream: most recent snapshot of ${target} does not\nmatch incremental source`,
      );
    progress(referenced, referenced);
    this.#keepPeer(remote, {
      ...datasets,
      [target]: [...(base === undefined ? [] : (there ?? [])), { name: snapshot.name, guid: snapshot.guid }],
    });
  }

  async abandon(remote: Remote, dataset: string): Promise<void> {
    this.#peer(remote);
    throw new HostError(`'${dataset}' does not have any resumable receive state to abort`);
  }

  async destroy(remote: Remote, snapshots: readonly string[]): Promise<void> {
    const { datasets } = this.#peer(remote);
    const wrong = snapshots.find((snapshot) => !/^[^@]+@[^@,%]+$/.test(snapshot));
    if (wrong !== undefined) throw new HostError(`cannot destroy '${wrong}': it is no snapshot`);
    const gone = new Set(snapshots);
    this.#keepPeer(
      remote,
      Object.fromEntries(
        Object.entries(datasets).map(([name, of]) => [
          name,
          of.filter((snapshot) => !gone.has(`${name}@${snapshot.name}`)),
        ]),
      ),
    );
  }

  async mark(snapshot: string, name: string): Promise<void> {
    const [dataset = '', of = ''] = snapshot.split('@');
    const found = this.#near(dataset, false)[0]?.snapshots.find((snapshot) => snapshot.name === of);
    if (found === undefined)
      throw new HostError(`cannot create bookmark '${dataset}#${name}': snapshot does not exist`);
    const { peers, marks } = this.#memory.value;
    const others = (marks[dataset] ?? []).filter((mark) => mark.name !== name);
    this.#memory.keep({ peers, marks: { ...marks, [dataset]: [...others, { name, guid: found.guid }] } });
  }

  async pair({ hostname, token }: PairRequest): Promise<Paired> {
    this.#mustReach(hostname);
    if (token.startsWith('expired'))
      throw new HostError(`${hostname} did not let this machine's key in: it answered 401`);
    const hostKey = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${hash('sha256', hostname, 'base64').slice(0, 43)}`;
    return { hostKey, sshPort: 22 };
  }

  /** The state of another machine. Throws when its host key has changed. */
  #peer({ hostname, knownHosts, alias, identity }: Remote): Peer {
    this.#mustReach(hostname);
    if (this.#read(identity) === undefined)
      throw new HostError(`Identity file ${identity} not accessible: No such file or directory.`);
    const keys = (this.#read(knownHosts) ?? '')
      .split('\n')
      .flatMap((line) => (line.startsWith(`${alias} `) ? [line.slice(alias.length + 1)] : []));
    const { peers, marks } = this.#memory.value;
    const known = peers[hostname] ?? { key: keys[0], datasets: {} };
    if (known.key === undefined || !keys.includes(known.key)) throw new HostError('Host key verification failed.');
    if (peers[hostname] === undefined) this.#memory.keep({ peers: { ...peers, [hostname]: known }, marks });
    return known;
  }

  #mustReach(hostname: string): void {
    mustResolve(hostname);
    if (this.#isCutOff()) throw new HostError(`ssh: connect to host ${hostname} port 22: No route to host`);
  }

  #keepPeer(remote: Remote, datasets: Peer['datasets']): void {
    const { peers, marks } = this.#memory.value;
    this.#memory.keep({ peers: { ...peers, [remote.hostname]: { ...this.#peer(remote), datasets } }, marks });
  }

  #read(path: string): string | undefined {
    try {
      return readFileSync(this.#tree.locate(path), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }
}

/** Names below `.invalid` never resolve (RFC 2606). */
function mustResolve(hostname: string): void {
  if (hostname.endsWith('.invalid'))
    throw new HostError(`ssh: Could not resolve hostname ${hostname}: Name or service not known`);
}
