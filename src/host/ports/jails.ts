/**
 * System containers. Each jail is defined by a systemd unit that a subsystem renders. This port starts and stops jails,
 * reports their state, mounts folders in running jails, and creates their initial root file systems.
 */
export interface Jails {
  /** The running jails, by name. */
  look(): Promise<ReadonlyMap<string, RunningJail>>;

  /** Starts the jail now; its unit defines whether it starts at boot. An error has the last output of the jail. */
  start(name: string): Promise<void>;

  /** Shuts the jail down, and kills it after its time limit. Does nothing when it is not running. */
  stop(name: string): Promise<void>;

  /** Bind-mounts a folder of the machine in a running jail, and creates the mount point. */
  attach(name: string, mount: JailMount): Promise<void>;

  /** Unmounts a folder in a running jail. */
  detach(name: string, destination: string): Promise<void>;

  /**
   * Fills an empty folder with the root file system from `source`. Writes nothing outside of the folder, and removes
   * device files from it.
   */
  furnish(folder: string, source: RootSource, watch: Watch): Promise<void>;
}

export interface RunningJail {
  /** Mount points in the jail. */
  readonly mounted: readonly string[];
}

export interface JailMount {
  readonly source: string;
  readonly destination: string;
  readonly readonly: boolean;
}

export interface RootSource {
  /** The URL of an archive (http, https, ftp or file), or a release of Debian: `debootstrap:trixie`. */
  readonly url: string;
  readonly arch: 'x64' | 'x86';
}

/** Receives the progress of a long operation. */
export interface Watch {
  progress(sentence: string): void;
}

/** The name of a jail's systemd unit. */
export const jailService = (name: string): string => `holdfast-jail-${name}`;

/** Maximum size of a template's archive and of its unpacked content, in bytes. */
export const mostArchive = 4 * 1024 ** 3;
export const mostUnpacked = 16 * 1024 ** 3;
