import { type Fault, type FaultKind, type Faults, faultSpec, isFaultKind, type NewFault } from '../ports/faults.ts';
import { HostError } from '../ports/index.ts';
import { isNumber, isText, listOf, Memory, shapeOf } from './state.ts';

interface Machine {
  readonly disks: () => readonly string[];
  readonly pools: () => readonly string[];
  readonly services: () => readonly string[];
  /** Makes a disk stop responding, or respond again. */
  readonly respond: (disk: string, responds: boolean) => void;
  /** Makes the program of a service end. */
  readonly fail: (service: string) => void;
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

  valueOf(kind: FaultKind, target = ''): number | undefined {
    return this.#memory.value.find((one) => one.kind === kind && one.target === target)?.value;
  }

  async list(): Promise<readonly Fault[]> {
    return this.#memory.value;
  }

  async begin({ kind, target, value }: NewFault): Promise<Fault> {
    const { of } = faultSpec(kind);
    const { disks, pools, services, respond, fail } = this.#machine;
    const known = { disk: disks, pool: pools, service: services, machine: () => [''] }[of]();
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
    if (kind === 'service-fails') fail(target);
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
