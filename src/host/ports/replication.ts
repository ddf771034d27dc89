/** Replicas of datasets on other machines, made by `zfs send` here and `zfs receive` there. */
export interface Replication {
  /** The local dataset, with `recursive` also all datasets below it, parents first. */
  near(dataset: string, options: { recursive: boolean }): Promise<readonly Replica[]>;

  /** A dataset of the other machine and all datasets below it; an empty list when it does not exist. */
  far(remote: Remote, dataset: string): Promise<readonly Replica[]>;

  /** Ends receiving processes of broken connections on the other machine, which would keep these datasets busy. */
  release(remote: Remote, datasets: readonly string[]): Promise<void>;

  /**
   * Sends one snapshot. After a failure, the receiver keeps the partial state, from which a later call can resume.
   * Throws when `signal` is aborted, and when no data moves for the stall time.
   */
  send(transfer: Transfer): Promise<void>;

  /** Discards the partial state of an interrupted transfer. */
  abandon(remote: Remote, dataset: string): Promise<void>;

  /** Destroys snapshots of the other machine, by their full names. */
  destroy(remote: Remote, snapshots: readonly string[]): Promise<void>;

  /** Creates a bookmark of a snapshot, and replaces a bookmark of the same name. It outlives the snapshot. */
  mark(snapshot: string, name: string): Promise<void>;

  /** Asks another Holdfast to authorize this machine's key. Returns the host key and the port of its SSH server. */
  pair(request: PairRequest): Promise<Paired>;
}

export interface Replica {
  readonly name: string;
  /** Referenced bytes. */
  readonly referenced: number;
  /** The oldest first. */
  readonly snapshots: readonly ReplicaSnapshot[];
  /** Bookmarks: snapshots may be gone, but incremental streams can still begin at them. */
  readonly marks: readonly ReplicaSnapshot[];
  /** The token by which `zfs send -t` resumes an interrupted transfer. */
  readonly resumeToken: string | undefined;
}

export interface ReplicaSnapshot {
  /** The part of the full name after the @ or #. */
  readonly name: string;
  /** Equal on both machines. */
  readonly guid: string;
}

export interface Remote {
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  /** Whether remote programs are run by sudo. */
  readonly sudo: boolean;
  /** Ciphers in order of preference; empty for the default of ssh. */
  readonly ciphers: readonly string[];
  /** Path of the private key. */
  readonly identity: string;
  /** Path of the known_hosts file, and the name of this machine in it. */
  readonly knownHosts: string;
  readonly alias: string;
}

export const compressors = ['off', 'lz4', 'pigz', 'plzip'] as const;
export type Compressor = (typeof compressors)[number];

export interface Transfer {
  readonly remote: Remote;
  /** The full names of the snapshot and its base, or a resume token. */
  readonly what: { readonly snapshot: string; readonly base: string | undefined } | { readonly token: string };
  /** The dataset on the other machine. */
  readonly target: string;
  /** Whether an existing empty dataset may be overwritten. */
  readonly over: boolean;
  readonly compressor: Compressor;
  /** Bytes per second; 0 for no limit. */
  readonly limit: number;
  /** Milliseconds. */
  readonly stall: number;
  readonly signal: AbortSignal;
  /** Called every second with the bytes that were sent, and the estimated total. */
  readonly progress: (sent: number, total: number | undefined) => void;
}

export interface PairRequest {
  readonly hostname: string;
  readonly port: number;
  readonly https: boolean;
  readonly token: string;
  readonly publicKey: string;
  /** The account that must authorize the key. */
  readonly user: string;
}

export interface Paired {
  readonly hostKey: string;
  readonly sshPort: number;
}
