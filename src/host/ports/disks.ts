/** Whole disks that may hold data: not the one the machine runs from, no loops, no partitions. */
export interface Disks {
  list(): Promise<readonly Disk[]>;
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
}
