/** The devices of a pool, named by their guid. */
export interface PoolDevices {
  /** Starts the replacement of a device by a disk. With `force`, existing data on the disk is overwritten. */
  replaceDevice(pool: string, device: string, disk: string, options?: { force?: boolean }): Promise<void>;
  offlineDevice(pool: string, device: string): Promise<void>;
  onlineDevice(pool: string, device: string): Promise<void>;
  /** Detaches a device from a mirror, or either side from a replacement. */
  detachDevice(pool: string, device: string): Promise<void>;
  /** Removes a log, cache or spare; a mirrored log is addressed by the name of its group. */
  removeDevice(pool: string, device: string): Promise<void>;
}
