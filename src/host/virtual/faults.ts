import { type Fault, type FaultKind, type Faults, faultSpec, isFaultKind, type NewFault } from '../ports/faults.ts';
import { HostError } from '../ports/index.ts';
import { isNumber, isText, listOf, Memory, shapeOf } from './state.ts';

interface Machine {
  readonly disks: () => readonly string[];
  readonly pools: () => readonly string[];
  /** Makes a disk stop responding, or respond again. */
  readonly respond: (disk: string, responds: boolean) => void;
}

const isFault = shapeOf<Fault>({
  id: isNumber,
  kind: (value): value is FaultKind => isText(value) && isFaultKind(value),
  target: isText,
  value: isNumber,
});

/** The faults of the virtual machine. Its other parts read what they must simulate. They last over a restart. */
export class VirtualFaults implements Faults {
  readonly #memory: Memory<readonly Fault[]>;
  readonly #machine: Machine;

  constructor(path: string, machine: Machine) {
    this.#memory = new Memory(path, listOf(isFault), Object.freeze([]));
    this.#machine = machine;
  }

  /** The value of a fault; undefined while there is none. */
  valueOf(kind: FaultKind, target = ''): number | undefined {
    return this.#memory.value.find((one) => one.kind === kind && one.target === target)?.value;
  }

  async list(): Promise<readonly Fault[]> {
    return this.#memory.value;
  }

  async begin({ kind, target, value }: NewFault): Promise<Fault> {
    const { of } = faultSpec(kind);
    const { disks, pools, respond } = this.#machine;
    const known = of === 'disk' ? disks() : of === 'pool' ? pools() : [''];
    if (!known.includes(target))
      throw new HostError(
        of === 'machine'
          ? `the fault ${kind} is about the whole machine, not ${target}`
          : `there is no ${of} ${target || 'without a name'}`,
      );
    const before = this.#memory.value;
    const same = before.find((one) => one.kind === kind && one.target === target);
    const id = same?.id ?? Math.max(0, ...before.map((one) => one.id)) + 1;
    const fault = Object.freeze({ id, kind, target, value });
    if (kind === 'disk-fails') respond(target, false);
    this.#memory.keep(Object.freeze([...before.filter((one) => one.id !== id), fault].sort((a, b) => a.id - b.id)));
    return fault;
  }

  async end(id: number): Promise<boolean> {
    const before = this.#memory.value;
    const fault = before.find((one) => one.id === id);
    if (fault === undefined) return false;
    if (fault.kind === 'disk-fails') this.#machine.respond(fault.target, true);
    this.#memory.keep(Object.freeze(before.filter((one) => one !== fault)));
    return true;
  }
}
