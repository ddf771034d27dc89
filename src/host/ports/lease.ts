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
   * not fenced. Does nothing on the holder.
   */
  take(): Promise<void>;

  /** Gives the lease up, so that the other machine may take it. Does nothing on a machine that does not hold it. */
  release(): Promise<void>;

  /** Reports that another machine, or none, holds it now. Returns a function that stops it. */
  watch(changed: () => void): () => void;
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
}

export interface LeaseNode {
  readonly name: string;
  /** `offline` is known to do nothing: it was shut down or fenced. Of `unknown` nothing is known. */
  readonly state: 'online' | 'offline' | 'unknown';
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
