/** Copies of datasets on other machines, kept by `zfs send` here and `zfs receive` there. */
export interface Replication {
  /** The dataset, and with `recursive` all below it, parents first. */
  near(dataset: string, options: { recursive: boolean }): Promise<readonly Replica[]>;

  /** What the other machine has of a dataset and below it; nothing where it has none of that name. */
  far(remote: Remote, dataset: string): Promise<readonly Replica[]>;

  /** Ends what is still receiving into one of these datasets there since a connection broke, which would keep it busy. */
  release(remote: Remote, datasets: readonly string[]): Promise<void>;

  /**
   * Sends one snapshot. What arrived before a failure is kept there, to go on from. Ends with a failure when `signal`
   * fires or nothing moves for the stall time.
   */
  send(transfer: Transfer): Promise<void>;

  /** Throws away what arrived of a snapshot that was not sent to its end. */
  abandon(remote: Remote, dataset: string): Promise<void>;

  /** Destroys snapshots there, by their full names. */
  destroy(remote: Remote, snapshots: readonly string[]): Promise<void>;

  /** Remembers a snapshot under a name of its dataset, in place of what had that name, also when the snapshot goes. */
  mark(snapshot: string, name: string): Promise<void>;

  /** Asks another Holdfast to let this machine's key in, and answers by what key it is known and where its SSH server listens. */
  pair(request: PairRequest): Promise<Paired>;
}

export interface Replica {
  readonly name: string;
  /** Bytes it refers to. */
  readonly referenced: number;
  /** The oldest first. */
  readonly snapshots: readonly ReplicaSnapshot[];
  /** Points in time that outlived their snapshots: what comes after them can be sent. */
  readonly marks: readonly ReplicaSnapshot[];
  /** What part of a snapshot has arrived, as `zfs send -t` takes it. */
  readonly resumeToken: string | undefined;
}

export interface ReplicaSnapshot {
  /** What stands behind the @ or the #. */
  readonly name: string;
  /** The same here and there. */
  readonly guid: string;
}

export interface Remote {
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  /** Whether programs there are started by sudo. */
  readonly sudo: boolean;
  /** Ciphers in the order they are offered; none is ssh's own choice. */
  readonly ciphers: readonly string[];
  /** File of the private key. */
  readonly identity: string;
  /** File of the keys by which other machines are known, and the name of this one in it. */
  readonly knownHosts: string;
  readonly alias: string;
}

export const compressors = ['off', 'lz4', 'pigz', 'plzip'] as const;
export type Compressor = (typeof compressors)[number];

export interface Transfer {
  readonly remote: Remote;
  /** Full name of the snapshot, unless it is a token that says so. */
  readonly what: { readonly snapshot: string; readonly base: string | undefined } | { readonly token: string };
  /** The dataset there. */
  readonly target: string;
  /** Whether an empty dataset there may give way. */
  readonly over: boolean;
  readonly compressor: Compressor;
  /** Bytes in a second, or 0 for as many as there go. */
  readonly limit: number;
  /** Milliseconds. */
  readonly stall: number;
  readonly signal: AbortSignal;
  /** Told every second how many bytes have been sent, of how many. */
  readonly progress: (sent: number, total: number | undefined) => void;
}

export interface PairRequest {
  readonly hostname: string;
  readonly port: number;
  readonly https: boolean;
  readonly token: string;
  readonly publicKey: string;
  /** The account there that lets the key in. */
  readonly user: string;
}

export interface Paired {
  readonly hostKey: string;
  readonly sshPort: number;
}
