/** The machine's services, by the names of their systemd units (`smbd`, `proftpd`). */
export interface Services {
  states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>>;

  /** Starts the service now and at every boot. An error has the last log lines of the service. */
  start(name: string): Promise<void>;

  /** Stops the service now and disables it at boot. */
  stop(name: string): Promise<void>;

  /** Makes running services reload their configuration without interrupting clients. Throws when one is not running. */
  reload(names: readonly string[]): Promise<void>;

  restart(name: string): Promise<void>;

  /**
   * Restores an earlier state, now and at boot. A service that must run is restarted, so that it reads its files again.
   */
  putBack(name: string, state: Pick<ServiceState, 'running' | 'enabled'>): Promise<void>;

  /** Makes the service manager reload its unit files. Running services are not affected. */
  reread(): Promise<void>;

  /** Who listens on ports, in their order: empty for a port on which no program listens. */
  listeners(ports: readonly ServedPort[]): Promise<readonly (readonly PortHolder[])[]>;

  /** Calls back when services have started or ended, whatever the cause. Returns a function that ends the watch. */
  watch(changed: (names: readonly string[]) => void): () => void;
}

/** A port, and the services that should listen on it. */
export interface ServedPort {
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
  /** Undefined for all addresses. */
  readonly address?: string | undefined;
  readonly units: readonly string[];
}

/** What has a port open. */
export interface PortHolder {
  /** Name of the program; undefined for the kernel. */
  readonly program: string | undefined;
  readonly pid: number | undefined;
  /** The service that the program belongs to, if it is one of a service. */
  readonly unit: string | undefined;
}

export interface ServiceState {
  readonly running: boolean;
  /**
   * Why it does not run, unless it was stopped or its program ended by itself without an error: the service manager is
   * starting or stopping it, or its program failed.
   */
  readonly phase?: 'changing' | 'failed';
  /** Whether it is started at boot. */
  readonly enabled: boolean;
  /** Whether the machine has such a unit. */
  readonly installed: boolean;
}
