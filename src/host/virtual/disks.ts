import type { Disk, Disks } from '../ports/disks.ts';

export interface VirtualDisk {
  readonly name: string;
  readonly serial: string;
  readonly size: number;
}

/** The machine's disks, `ada0` and on: the names that existing clients look for. */
export function disksOf(sizes: readonly number[]): readonly VirtualDisk[] {
  return Object.freeze(sizes.map((size, index) => Object.freeze({ name: `ada${index}`, serial: `VIRT${String(index + 1).padStart(4, '0')}`, size })));
}

export class VirtualDisks implements Disks {
  readonly #disks: readonly VirtualDisk[];
  readonly #usedBy: (disk: string) => string | undefined;

  constructor(disks: readonly VirtualDisk[], usedBy: (disk: string) => string | undefined) {
    this.#disks = disks;
    this.#usedBy = usedBy;
  }

  async list(): Promise<readonly Disk[]> {
    return this.#disks.map((disk) => Object.freeze({ ...disk, lunid: '', model: 'Virtual disk', rotational: false, usedBy: this.#usedBy(disk.name) }));
  }
}
