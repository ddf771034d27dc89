/** Whole disks that may hold data: not the one the machine runs from, no loops, no partitions. */
export interface Disks {
  /** Wakes no disk that sleeps. */
  list(): Promise<readonly Disk[]>;

  /** Names of the disks that tell of themselves that they fail. Wakes none. */
  failing(): Promise<readonly string[]>;

  /** Fills a disk that nobody uses with random data. It takes as long as writing all of it does. */
  scramble(disk: string): Promise<void>;

  /** Gives a disk other habits, until it is without power. What it has no notion of is a failure, in its own words. */
  tune(disk: string, tuning: Tuning): Promise<void>;
}

/** What a disk lets itself be told: a standby timer, advanced power management, acoustic management, SMART. */
export const abilities = ['standby', 'power', 'acoustics', 'smart'] as const;
export type Ability = (typeof abilities)[number];

export interface Tuning {
  /** Minutes without use after which it stands still; 0 is never. */
  readonly standby?: number;
  /** From 1, which saves most, to 254; 255 is without power management. */
  readonly power?: number;
  /** From 128, the quietest, to 254, the fastest; 0 is without acoustic management. */
  readonly acoustics?: number;
  /** Whether the disk watches itself, and further words for the program that tells it so. */
  readonly smart?: { readonly on: boolean; readonly options: readonly string[] };
}

export interface Disk {
  /** Device name without `/dev/`: `sda`, `nvme0n1`. */
  readonly name: string;
  /** Empty when the device tells none. */
  readonly serial: string;
  readonly lunid: string;
  readonly model: string;
  /** Bytes. */
  readonly size: number;
  readonly rotational: boolean;
  /** What keeps it from being used in a pool, in words (`it is part of the pool tank`), or undefined when it is free. */
  readonly usedBy: string | undefined;
  /** A path that is the same wherever the disk is plugged in, where there is one. */
  readonly path: string;
  readonly can: readonly Ability[];
}
