/** The machine as a whole: its clock, its kernel, its packages, its power. */
export interface Machine {
  /** Sets the time zone, by its name in the system's zone data. An unknown name throws. */
  setZone(zone: string): Promise<void>;
  /** The name of the time zone. */
  zone(): Promise<string>;

  /**
   * The current value of a kernel parameter, by its name with dots; undefined when the kernel has no such parameter.
   */
  parameter(name: string): Promise<string | undefined>;
  /** Sets a kernel parameter until the next boot. A value that the kernel rejects throws. */
  setParameter(name: string, value: string): Promise<void>;
  /**
   * Updates the boot loader from its settings, for the next boot. With `needed`, throws when there is no boot loader to
   * update.
   */
  renewBootLoader(options: { readonly needed: boolean }): Promise<void>;

  /** Whether this host answers as a time server. */
  answersTime(host: string): Promise<boolean>;

  /** Offset of the clock in seconds from the configured time servers; undefined while none has answered. */
  clockOffset(): Promise<number | undefined>;

  /** The memory in bytes; what is available includes caches that the kernel gives back. */
  memory(): Promise<MemorySize>;

  /** Downloads the package lists. */
  renewSources(): Promise<void>;
  /** The available updates, by the package lists as they were last downloaded. */
  updates(): Promise<readonly Update[]>;
  /** Installs the updates, after a simulated run. `heard` receives each line of output. */
  update(options: { readonly signal: AbortSignal; readonly heard: (line: string) => void }): Promise<void>;

  /** The processes that use these paths or something below them, as far as the machine knows; at most 20. */
  processesUsing(paths: readonly string[]): Promise<readonly Process[]>;

  /** Shuts the machine down and restarts it or switches it off. */
  end(how: 'reboot' | 'poweroff'): Promise<void>;
}

export interface MemorySize {
  readonly total: number;
  readonly available: number;
}

export interface Process {
  readonly id: number;
  readonly name: string;
}

export interface Update {
  readonly name: string;
  /** Undefined for a package that is not installed yet. */
  readonly from: string | undefined;
  readonly to: string;
}
