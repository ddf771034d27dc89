/**
 * Counters of the machine. A reading starts no program and causes no access to a disk: a disk in standby stays there.
 */
export interface Statistics {
  /** What the machine counts now. A part that cannot be read is missing. */
  read(): Promise<Reading>;
}

/** All counters grow from an unknown start, until the machine is booted again or what they are about is removed. */
export interface Reading {
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: number;
  /** Time of all processors, in a unit of its own. */
  readonly processor: { readonly busy: number; readonly total: number } | undefined;
  /** Bytes. */
  readonly memory: { readonly total: number; readonly available: number } | undefined;
  /** The cache of ZFS (ARC): its size in bytes, and how often it had what was asked for. */
  readonly cache: { readonly size: number; readonly hits: number; readonly misses: number } | undefined;
  /** By the name of the pool: what its datasets and volumes read and wrote. */
  readonly pools: ReadonlyMap<string, PoolTraffic>;
  /** By the name of the disk in the port of disks. There may be more devices than that port has. */
  readonly disks: ReadonlyMap<string, DiskTraffic>;
  /** By the name of the network interface; without the loopback. */
  readonly links: ReadonlyMap<string, LinkTraffic>;
  /** How many TCP connections are established to each local port that has any. */
  readonly connections: ReadonlyMap<number, number>;
}

export interface Traffic {
  /** Operations. */
  readonly reads: number;
  readonly writes: number;
  /** Bytes. */
  readonly read: number;
  readonly written: number;
}

export interface PoolTraffic extends Traffic {
  /** When it was counted, by the same clock as the reading: counting many datasets is spread over time. */
  readonly elapsed: number;
}

export interface DiskTraffic extends Traffic {
  /** Milliseconds that the reads and the writes took together. */
  readonly readTime: number;
  readonly writeTime: number;
  /** Degrees Celsius; undefined while the disk rests, and where it is unknown. */
  readonly temperature: number | undefined;
}

export interface LinkTraffic {
  /** Bytes. */
  readonly received: number;
  readonly sent: number;
}
