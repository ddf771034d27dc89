import { HostError } from '../ports/index.ts';

/** Refuses a pool that two machines would otherwise write to. */
export function usedElsewhere(pool: string, machine: string): HostError {
  return new HostError(
    `The pool ${pool} was not imported: the machine ${machine} used it last and has not exported it. Shut that machine down or take the disks from it, and then import the volume by name.`,
  );
}
