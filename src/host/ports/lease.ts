/**
 * Which machine of a pair holds what both of them reach: the pool on their shared disks. A machine imports the pool only
 * while it holds the lease, and gives the lease up only after it has exported the pool. Others decide who is alive and
 * end machines that do not answer; this port asks them.
 */
export interface Lease {
  /** Undefined on a machine that is in no pair. */
  look(): Promise<LeaseState | undefined>;

  /**
   * Makes this machine the holder. Throws while another machine holds it, or might hold it: one that is not seen and was
   * not fenced. Does nothing on the holder. With `founding`, the other machine has never been in the pair, so that it
   * does not matter what is known of it.
   */
  take(options?: { readonly founding?: boolean }): Promise<void>;

  /** Gives the lease up, so that the other machine may take it. Does nothing on a machine that does not hold it. */
  release(): Promise<void>;

  /** Reports that another machine, or none, holds it now. Returns a function that stops it. */
  watch(changed: () => void): () => void;

  /**
   * Reports that another machine is no longer seen, which does not say that it is off, and that all are seen again. Returns
   * a function that stops it.
   */
  watchOthers(changed: (isMissing: boolean) => void): () => void;

  /**
   * Has the cluster move the pool to this machine. Resolves when the cluster has the order: it then has the machines
   * release and take the pool.
   */
  move(node: string): Promise<void>;

  /** Has the cluster leave everything as it is, whatever happens, or care for it again. */
  maintain(isMaintained: boolean): Promise<void>;

  /** What can end each machine of the pair, and when it last did. */
  fencing(): Promise<readonly Fencing[]>;

  /** Ends another machine by its fence device, which starts it again. Throws if the device could not. */
  fence(node: string): Promise<void>;

  /** The third vote of the pair; undefined without one. */
  vote(): Promise<Vote | undefined>;

  /** Has the cluster read `corosync.conf` again, on each of its machines. */
  reread(): Promise<void>;

  /** Tells the other machines of the pair about this one: see `LeaseNode.about`. */
  publish(about: AboutNode): Promise<void>;
}

export interface LeaseState {
  /** The name of this machine in the pair. */
  readonly self: string;
  /** All machines of the pair, this one too. */
  readonly nodes: readonly LeaseNode[];
  /** The machine that took the lease last and has not released it, whatever became of it. */
  readonly holder: string | undefined;
  /** Whether the machines that see each other may decide. */
  readonly hasQuorum: boolean;
  /** Whether the cluster leaves everything as it is. */
  readonly isMaintained: boolean;
}

/** A machine outside the cluster that gives a vote to the machines that see it. */
export interface Vote {
  /** Its address or host name. */
  readonly host: string;
  /** The names of the machines that have its vote now, among those that this machine sees. */
  readonly givenTo: readonly string[];
}

/** Those of the machines that do not have the third vote; none if there is no such vote. */
export const withoutVote = (machines: readonly string[], vote: Vote | undefined): readonly string[] =>
  vote === undefined ? [] : machines.filter((name) => !vote.givenTo.includes(name));

export interface LeaseNode {
  readonly name: string;
  /** `offline` is known to do nothing: it was shut down or fenced. Of `unknown` nothing is known. */
  readonly state: 'online' | 'offline' | 'unknown';
}

/** What the machines of a pair have to know of each other. */
export interface AboutNode {
  /** The version of Holdfast. */
  readonly version: string;
  /** The host id, by which ZFS tells machines apart, in hexadecimal digits; empty without one. */
  readonly hostId: string;
  /** The disks of the pool that it does not reach. */
  readonly missingDisks: readonly string[];
  /** What it knows of the configuration on the pool, encrypted: see `engine/pair/shared`. */
  readonly shared?: string | undefined;
}

export interface Fencing {
  readonly node: string;
  /** The devices that can end it. */
  readonly devices: readonly string[];
  /** When one of them last did, in milliseconds since 1970; undefined if that is not known. */
  readonly lastEnded: number | undefined;
  /** Whether the last attempt failed, or a device cannot be reached. */
  readonly hasFailed: boolean;
  /** What the machine has said of itself; undefined if it has not. */
  readonly about: AboutNode | undefined;
}

/** Why this machine may not become the holder, as a sentence; undefined if it may. The same for every implementation. */
export function leaseProblem({ self, nodes, holder, hasQuorum }: LeaseState): string | undefined {
  if (!hasQuorum) return 'The machines that see each other have no majority, so none of them may take the pool.';
  const unknown = nodes.find(({ name, state }) => name !== self && state === 'unknown');
  if (unknown !== undefined)
    return `${unknown.name} is not seen and was not fenced, so it may still use the pool. Switch it off, and confirm that to the cluster.`;
  const held = nodes.find(({ name, state }) => name === holder && name !== self && state === 'online');
  return held && `${held.name} holds the pool. Release it there first.`;
}
