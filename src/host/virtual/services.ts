import { HostError } from '../ports/index.ts';
import type { PortHolder, ServedPort, ServiceState, Services } from '../ports/services.ts';
import { isFlag, Memory, mapOf, shapeOf } from './state.ts';
import { lookAt, type Tree } from './tree.ts';

/** What every Debian runs. */
const ofEveryMachine: readonly string[] = ['cron', 'ssh', 'systemd-networkd', 'systemd-resolved'];

const runningAtFirst = { running: true, enabled: true };
const stopped = { running: false, enabled: false };

interface Kept {
  readonly running: boolean;
  readonly enabled: boolean;
}

export class VirtualServices implements Services {
  readonly #memory: Memory<Readonly<Record<string, Kept>>>;
  readonly #tree: Tree;
  readonly #installed: ReadonlySet<string>;
  readonly #fails: (name: string) => boolean;
  readonly #skips: (name: string) => boolean;
  #rereads = 0;
  readonly #starts = new Map<string, number>();
  readonly #reloads = new Map<string, number>();
  readonly #failed = new Set<string>();
  readonly #occupied = new Map<string, PortHolder>();
  readonly #silent = new Set<string>();
  readonly #watchers = new Set<(names: readonly string[]) => void>();

  /**
   * `programs` are the units of installed packages. The program of a service that `fails` cannot be started; a service
   * that is skipped has a unit whose condition is not met.
   */
  constructor(
    path: string,
    tree: Tree,
    options: {
      readonly programs: readonly string[];
      readonly fails: (name: string) => boolean;
      readonly skips: (name: string) => boolean;
    },
  ) {
    this.#tree = tree;
    this.#fails = options.fails;
    this.#skips = options.skips;
    this.#memory = new Memory(
      path,
      mapOf(shapeOf<Kept>({ running: isFlag, enabled: isFlag })),
      Object.freeze(Object.fromEntries(ofEveryMachine.map((name) => [name, runningAtFirst]))),
    );
    this.#installed = new Set([...ofEveryMachine, ...options.programs]);
  }

  /** How often each service was started or restarted since this object was created. For tests. */
  get starts(): ReadonlyMap<string, number> {
    return this.#starts;
  }

  /** How often each service was reloaded since this object was created. For tests. */
  get reloads(): ReadonlyMap<string, number> {
    return this.#reloads;
  }

  /** How often the unit files were reloaded since this object was created. For tests. */
  get rereads(): number {
    return this.#rereads;
  }

  /** The units of installed packages. */
  get installed(): readonly string[] {
    return [...this.#installed];
  }

  isRunning(name: string): boolean {
    return this.#stateOf(name).running;
  }

  async states(names: readonly string[]): Promise<ReadonlyMap<string, ServiceState>> {
    return new Map(
      names.map((name) => [
        name,
        Object.freeze({
          ...this.#stateOf(name),
          installed: this.#isInstalled(name),
          ...(this.#failed.has(name) && { phase: 'failed' as const }),
        }),
      ]),
    );
  }

  async start(name: string): Promise<void> {
    this.#mustBeInstalled(name, 'start');
    this.#mustStart(name);
    const before = this.#stateOf(name);
    this.#keep(name, { running: true, enabled: true });
    if (!before.running) count(this.#starts, name);
  }

  async stop(name: string): Promise<void> {
    this.#mustBeInstalled(name, 'stop');
    this.#keep(name, stopped);
  }

  async reload(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#reload(name);
  }

  async #reload(name: string): Promise<void> {
    this.#mustBeInstalled(name, 'reload');
    if (!this.#stateOf(name).running) throw new HostError(`${name}.service is not active, cannot reload.`);
    count(this.#reloads, name);
  }

  async restart(name: string): Promise<void> {
    this.#mustBeInstalled(name, 'restart');
    this.#silent.delete(name);
    this.#mustStart(name);
    this.#keep(name, { ...this.#stateOf(name), running: true });
    count(this.#starts, name);
  }

  async putBack(
    name: string,
    { running, enabled }: { readonly running: boolean; readonly enabled: boolean },
  ): Promise<void> {
    this.#mustBeInstalled(name, 'restart');
    if (running) this.#mustStart(name);
    this.#keep(name, { running, enabled });
    if (running) count(this.#starts, name);
  }

  async reread(): Promise<void> {
    this.#rereads += 1;
  }

  /** The services of this machine open no ports. One that runs counts as listening on those that it should listen on. */
  async listeners(ports: readonly ServedPort[]): Promise<readonly (readonly PortHolder[])[]> {
    return ports.map(({ protocol, port, units }) => {
      const other = this.#occupied.get(`${protocol} ${port}`);
      if (other !== undefined) return [other];
      // What no installed service serves, the kernel does.
      if (!units.some((unit) => this.#isInstalled(unit)))
        return [{ program: undefined, pid: undefined, unit: undefined }];
      return units
        .filter((unit) => this.isRunning(unit) && !this.#silent.has(unit))
        .map((unit) => ({ program: unit, pid: undefined, unit }));
    });
  }

  /** Another program has a port from now on; undefined: none has it any more. For tests. */
  occupy(protocol: ServedPort['protocol'], port: number, holder: PortHolder | undefined): void {
    if (holder === undefined) this.#occupied.delete(`${protocol} ${port}`);
    else this.#occupied.set(`${protocol} ${port}`, holder);
  }

  /** A service that runs stops listening, until it is restarted. For tests. */
  silence(name: string): void {
    this.#silent.add(name);
  }

  watch(changed: (names: readonly string[]) => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** The program of the service ends without Holdfast, by itself or by another program. */
  end(name: string, how: 'ended' | 'failed' = 'ended'): void {
    this.#mustBeInstalled(name, 'stop');
    this.#keep(name, { ...this.#stateOf(name), running: false });
    if (how === 'failed') this.#failed.add(name);
    for (const changed of this.#watchers) changed([name]);
  }

  /** Whether a package of Debian or a local unit file defines the service. */
  #isInstalled(name: string): boolean {
    return (
      this.#installed.has(name) ||
      (/^[\w.@-]+$/.test(name) && lookAt(this.#tree.locate(`/etc/systemd/system/${name}.service`))?.isFile() === true)
    );
  }

  #stateOf(name: string): Kept {
    return Object.hasOwn(this.#memory.value, name) ? (this.#memory.value[name] ?? stopped) : stopped;
  }

  #mustBeInstalled(name: string, verb: string): void {
    if (!this.#isInstalled(name))
      throw new HostError(`Failed to ${verb} ${name}.service: Unit ${name}.service not found.`);
  }

  #mustStart(name: string): void {
    if (this.#skips(name)) {
      this.#keep(name, { ...this.#stateOf(name), running: false });
      throw new HostError(`${name} was not started, because a condition of its unit is not met.`);
    }
    if (!this.#fails(name)) return;
    this.#keep(name, { ...this.#stateOf(name), running: false });
    this.#failed.add(name);
    throw new HostError(`Job for ${name}.service failed because the control process exited with error code.`);
  }

  #keep(name: string, state: Kept): void {
    const before = this.#stateOf(name);
    this.#failed.delete(name);
    if (before.running === state.running && before.enabled === state.enabled) return;
    this.#memory.keep(Object.freeze({ ...this.#memory.value, [name]: Object.freeze(state) }));
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
