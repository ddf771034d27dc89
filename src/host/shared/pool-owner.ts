import { HostError } from '../ports/index.ts';
import type { ImportablePool } from '../ports/zfs.ts';

/** Refuses a pool that two machines would otherwise write to. */
export function usedElsewhere(pool: string, machine: string): HostError {
  return new HostError(
    `The pool ${pool} was not imported: the machine ${machine} used it last and has not exported it. Shut that machine down or take the disks from it, and then import the volume by name.`,
  );
}

/** The devices of a pool on attached disks that are not there. */
export function missingFrom({ groups }: Pick<ImportablePool, 'groups'>): readonly string[] {
  return groups.flatMap(({ devices }) => devices.filter(({ health }) => health !== 'ONLINE').map(({ name }) => name));
}
