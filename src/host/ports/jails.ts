/**
 * System containers. What each of them is stands in a unit of the service manager that others wrote; here they are
 * started, looked at and given mounts while they run, and here the file systems come from that they begin with.
 */
export interface Jails {
  /** The jails that run, by name. */
  look(): Promise<ReadonlyMap<string, RunningJail>>;

  /** Starts it now; whether it starts at boot is said elsewhere. A failure carries its own last words. */
  start(name: string): Promise<void>;

  /** Asks it to end, and ends it when it has not within its limit. One that does not run is no fault. */
  stop(name: string): Promise<void>;

  /** Shows a folder of the machine in a jail that runs, and makes the folder that it is shown at. */
  attach(name: string, mount: JailMount): Promise<void>;

  /** Takes a mount from a jail that runs. */
  detach(name: string, destination: string): Promise<void>;

  /**
   * Fills an empty folder with the root file system that `source` names. Nothing is written outside of the folder, and
   * no device is left in it.
   */
  furnish(folder: string, source: RootSource, watch: Watch): Promise<void>;
}

export interface RunningJail {
  /** Folders of the jail at which something is mounted. */
  readonly mounted: readonly string[];
}

export interface JailMount {
  readonly source: string;
  readonly destination: string;
  readonly readonly: boolean;
}

export interface RootSource {
  /** An archive by http, https, ftp or file, or a release of Debian, as `debootstrap:trixie`. */
  readonly url: string;
  readonly arch: 'x64' | 'x86';
}

/** Whoever waits. */
export interface Watch {
  progress(sentence: string): void;
}

/** What the service manager calls a jail. */
export const jailService = (name: string): string => `holdfast-jail-${name}`;

/** The most that a template's archive, and what is unpacked from it, may have, in bytes. */
export const mostArchive = 4 * 1024 ** 3;
export const mostUnpacked = 16 * 1024 ** 3;
