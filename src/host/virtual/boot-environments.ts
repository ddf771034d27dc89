import type { BootEnvironment, BootEnvironments } from '../ports/boot-environments.ts';
import { HostError } from '../ports/index.ts';
import { initialFigures, type Pool, type PoolDevice, type PoolGroup } from '../ports/zfs.ts';
import { isFlag, isNumber, isText, listOf, Memory, shapeOf } from './state.ts';

const isEnvironment = shapeOf<BootEnvironment>({
  name: isText,
  now: isFlag,
  onReboot: isFlag,
  created: isNumber,
  space: isNumber,
});

/** Bytes that an unchanged clone uses. */
const spaceOfClone = 8192;

const GiB = 1024 ** 3;
const errors = Object.freeze({ read: 0, write: 0, checksum: 0 });
const device: PoolDevice = Object.freeze({
  disk: 'da0',
  label: 'da0p2',
  guid: '4611686018427387905',
  health: 'ONLINE',
  errors,
});
const group: PoolGroup = Object.freeze({
  kind: 'stripe',
  name: 'da0',
  health: 'ONLINE',
  errors,
  devices: Object.freeze([device]),
});
const sizes = { size: 16 * GiB, allocated: 2 * GiB, free: 14 * GiB };
const systemPool: Pool = Object.freeze({
  name: 'system',
  guid: '4611686018427387904',
  health: 'ONLINE',
  ...sizes,
  figures: initialFigures,
  upgraded: true,
  scan: undefined,
  groups: Object.freeze([group]),
});

export class VirtualBootEnvironments implements BootEnvironments {
  readonly #memory: Memory<readonly BootEnvironment[]>;
  readonly #now: () => number;

  constructor(path: string, now: () => number) {
    this.#now = now;
    const first = { name: 'default', now: true, onReboot: true, created: this.#seconds(), space: 1_288_490_188 };
    this.#memory = new Memory(path, listOf(isEnvironment), Object.freeze([Object.freeze(first)]));
  }

  /** Simulates a boot from the selected environment. */
  boot(): void {
    this.#keep(this.#memory.value.map((environment) => ({ ...environment, now: environment.onReboot })));
  }

  async list(): Promise<readonly BootEnvironment[]> {
    return this.#memory.value;
  }

  async pool(): Promise<Pool> {
    return systemPool;
  }

  async create(name: string, source: string): Promise<void> {
    this.#named(source);
    if (this.#memory.value.some((environment) => environment.name === name))
      throw new HostError(`cannot create '${name}': dataset already exists`);
    this.#keep([
      ...this.#memory.value,
      { name, now: false, onReboot: false, created: this.#seconds(), space: spaceOfClone },
    ]);
  }

  async rename(name: string, to: string): Promise<void> {
    const old = this.#named(name);
    if (this.#memory.value.some((environment) => environment.name === to))
      throw new HostError(`cannot rename to '${to}': dataset already exists`);
    this.#keep(
      this.#memory.value.map((environment) => (environment === old ? { ...environment, name: to } : environment)),
    );
  }

  async activate(name: string): Promise<void> {
    const chosen = this.#named(name);
    this.#keep(this.#memory.value.map((environment) => ({ ...environment, onReboot: environment === chosen })));
  }

  async destroy(name: string): Promise<void> {
    const old = this.#named(name);
    if (old.now) throw new HostError(`the machine runs from the boot environment ${name}`);
    if (old.onReboot) throw new HostError(`the machine starts from the boot environment ${name} next time`);
    this.#keep(this.#memory.value.filter((environment) => environment !== old));
  }

  #named(name: string): BootEnvironment {
    const found = this.#memory.value.find((environment) => environment.name === name);
    if (found === undefined) throw new HostError(`cannot open '${name}': dataset does not exist`);
    return found;
  }

  #keep(environments: readonly BootEnvironment[]): void {
    this.#memory.keep(Object.freeze(environments.map((environment) => Object.freeze(environment))));
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }
}
