/** Whole disks that may hold data: without the system disk, loop devices and partitions. */
export interface Disks {
  /** Does not wake disks in standby. */
  list(): Promise<readonly Disk[]>;

  /** What the disks report by SMART. Does not wake disks in standby, of which nothing else is known. */
  health(): Promise<readonly DiskHealth[]>;

  /** Overwrites an unused disk with random data, which takes as long as writing the whole disk. */
  scramble(disk: string): Promise<void>;

  /** Changes settings of a disk until it loses power. An unsupported setting throws with the output of the program. */
  tune(disk: string, tuning: Tuning): Promise<void>;
}

/** Settings that a disk may support: a standby timer, advanced power management, acoustic management, SMART. */
export const abilities = ['standby', 'power', 'acoustics', 'smart'] as const;
export type Ability = (typeof abilities)[number];

export interface Tuning {
  /** Minutes without access after which the disk spins down; 0 disables the timer. */
  readonly standby?: number;
  /** From 1, which saves the most power, to 254; 255 disables power management. */
  readonly power?: number;
  /** From 128, the quietest, to 254, the fastest; 0 disables acoustic management. */
  readonly acoustics?: number;
  /** Whether SMART is enabled, and further options for smartctl. */
  readonly smart?: { readonly on: boolean; readonly options: readonly string[] };
}

/** What a disk reports by SMART. Undefined is what it does not report. */
export interface DiskHealth {
  readonly name: string;
  /** Whether it is in standby, so that it was not asked. */
  readonly isResting: boolean;
  /** Whether the disk predicts its own failure. */
  readonly failing: boolean;
  /** In degrees Celsius. */
  readonly temperature: number | undefined;
  /** The highest temperature that the disk was made for. */
  readonly hottest: number | undefined;
  /** Percent of the rated writes that are used up; can exceed 100. */
  readonly wear: number | undefined;
  /** Sectors or blocks that could not be read. */
  readonly badSectors: number;
  /** Hours that it was powered on. */
  readonly hours: number | undefined;
  /** Those hours when a self-test last ended without an error; undefined if its log has none. */
  readonly testedAt: number | undefined;
  /** Self-tests in its log that failed. */
  readonly failedTests: number | undefined;
  /** Entries of its error log. */
  readonly loggedErrors: number | undefined;
  /** Errors of the medium, as NVMe disks count them. */
  readonly mediaErrors: number | undefined;
  /** Percent of the spare blocks that an NVMe disk has left. */
  readonly spare: number | undefined;
}

/** A disk that rests. */
export const restingDisk: Omit<DiskHealth, 'name'> = Object.freeze({
  isResting: true,
  failing: false,
  temperature: undefined,
  hottest: undefined,
  wear: undefined,
  badSectors: 0,
  hours: undefined,
  testedAt: undefined,
  failedTests: undefined,
  loggedErrors: undefined,
  mediaErrors: undefined,
  spare: undefined,
});

export interface Disk {
  /** Device name without `/dev/`: `sda`, `nvme0n1`. */
  readonly name: string;
  /** Empty when the device reports none. */
  readonly serial: string;
  readonly lunid: string;
  readonly model: string;
  /** Bytes. */
  readonly size: number;
  readonly rotational: boolean;
  /** Why it cannot be added to a pool, as a sentence (`it is part of the pool tank`); undefined when it is free. */
  readonly usedBy: string | undefined;
  /** A path that does not depend on where the disk is attached, if there is one. */
  readonly path: string;
  readonly can: readonly Ability[];
}
