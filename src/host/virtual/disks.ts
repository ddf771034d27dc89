import { abilities, type Disk, type DiskHealth, type Disks, restingDisk, type Tuning } from '../ports/disks.ts';
import type { FaultKind } from '../ports/faults.ts';
import { HostError } from '../ports/index.ts';
import type { VirtualFaults } from './faults.ts';
import { type Guard, isFlag, isNumber, isText, listOf, Memory, mapOf, optional, shapeOf } from './state.ts';

export interface VirtualDisk {
  readonly name: string;
  readonly serial: string;
  readonly size: number;
}

/** The machine's disks, named from `ada0` on as existing clients expect. */
export function disksOf(sizes: readonly number[]): readonly VirtualDisk[] {
  return Object.freeze(
    sizes.map((size, index) =>
      Object.freeze({ name: `ada${index}`, serial: `VIRT${String(index + 1).padStart(4, '0')}`, size }),
    ),
  );
}

const isTuning: Guard<Tuning> = shapeOf<Tuning>({
  standby: optional(isNumber),
  power: optional(isNumber),
  acoustics: optional(isNumber),
  smart: optional(shapeOf<{ on: boolean; options: readonly string[] }>({ on: isFlag, options: listOf(isText) })),
});

/** How long each disk was powered on. */
const powerOnHours = 10_000;

/** The default settings of a disk. */
const factory: Tuning = Object.freeze({
  standby: 0,
  power: 255,
  acoustics: 0,
  smart: Object.freeze({ on: true, options: Object.freeze([]) }),
});

export class VirtualDisks implements Disks {
  /** The current settings of each disk, by name. */
  readonly #memory: Memory<Readonly<Record<string, Tuning>>>;
  readonly #failing = new Set<string>();
  readonly #disks: readonly VirtualDisk[];
  readonly #usedBy: (disk: string) => string | undefined;
  readonly #isBroken: (disk: string) => boolean;
  readonly #faults: VirtualFaults;

  constructor(
    path: string,
    options: {
      disks: readonly VirtualDisk[];
      usedBy: (disk: string) => string | undefined;
      isBroken: (disk: string) => boolean;
      faults: VirtualFaults;
    },
  ) {
    this.#memory = new Memory(path, mapOf(isTuning), Object.freeze({}));
    // Opening an unchanged machine must not write, because the disk with its files may be full.
    const fresh = options.disks.filter(({ name }) => this.#memory.value[name] === undefined);
    if (fresh.length > 0)
      this.#memory.keep(
        Object.freeze({ ...Object.fromEntries(fresh.map(({ name }) => [name, factory])), ...this.#memory.value }),
      );
    this.#disks = options.disks;
    this.#usedBy = options.usedBy;
    this.#isBroken = options.isBroken;
    this.#faults = options.faults;
  }

  async list(): Promise<readonly Disk[]> {
    return this.#disks
      .filter(({ name }) => !this.#isBroken(name))
      .map((disk) =>
        Object.freeze({
          ...disk,
          lunid: '',
          model: 'Virtual disk',
          rotational: false,
          usedBy: this.#usedBy(disk.name),
          path: `/dev/${disk.name}`,
          can: abilities,
        }),
      );
  }

  /** Sets whether the SMART status of this disk reports a failure. For tests. */
  ail(disk: string, fails: boolean): void {
    if (fails) this.#failing.add(disk);
    else this.#failing.delete(disk);
  }

  /** A disk at rest, except for what faults change. Its last self-test ended a day before. */
  async health(): Promise<readonly DiskHealth[]> {
    return (await this.list()).map(({ name }) => {
      const fault = (kind: FaultKind) => this.#faults.valueOf(kind, name);
      if (fault('standby') !== undefined) return Object.freeze({ ...restingDisk, name });
      return Object.freeze({
        name,
        isResting: false,
        failing: this.#failing.has(name) || fault('smart-failure') !== undefined,
        temperature: fault('temperature') ?? 34,
        hottest: 60,
        wear: fault('wear') ?? 3,
        badSectors: fault('bad-sectors') ?? 0,
        hours: powerOnHours,
        testedAt: powerOnHours - (fault('self-test-age') ?? 24),
        failedTests: 0,
        loggedErrors: fault('bad-sectors') ?? 0,
        mediaErrors: undefined,
        spare: undefined,
      });
    });
  }

  async scramble(disk: string): Promise<void> {
    const usedBy = this.#usedBy(disk);
    if (usedBy !== undefined || !(await this.list()).some(({ name }) => name === disk))
      throw new HostError(`cannot write to the disk ${disk}: ${usedBy ?? 'there is no such disk'}`);
  }

  async tune(disk: string, tuning: Tuning): Promise<void> {
    if (!this.#disks.some(({ name }) => name === disk)) throw new HostError(`/dev/${disk}: No such file or directory`);
    const { smart } = tuning;
    // The first option that smartctl would not accept.
    const unknown = smart?.on === true ? smart.options.find((option) => !/^-[dTb]$|^[\w,+]+$/.test(option)) : undefined;
    if (unknown !== undefined) throw new HostError(`=======> UNRECOGNIZED OPTION: ${unknown}`);
    this.#memory.keep(
      Object.freeze({ ...this.#memory.value, [disk]: Object.freeze({ ...this.#memory.value[disk], ...tuning }) }),
    );
  }
}
