/** The machine's long-running programs, by the name its service manager gives them (`smbd`, `proftpd`). */
export interface Services {
  states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>>;

  /** Starts it now and at every boot. A failure carries the program's own last words. */
  start(name: string): Promise<void>;

  /** Stops it now and keeps it from starting at boot. */
  stop(name: string): Promise<void>;

  /** Lets these read their files again without ending what they serve. They must be running. */
  reload(names: readonly string[]): Promise<void>;

  restart(name: string): Promise<void>;

  /** Puts it back into a state that it was in, now and at boot. One that is to run starts again, so that it reads its files. */
  putBack(name: string, state: Pick<ServiceState, 'running' | 'enabled'>): Promise<void>;

  /** Lets the service manager read the files anew that say what there is to start. What runs goes on running. */
  reread(): Promise<void>;
}

export interface ServiceState {
  readonly running: boolean;
  /** Whether it starts at boot. */
  readonly enabled: boolean;
  /** Whether the machine has such a program at all. */
  readonly installed: boolean;
}
