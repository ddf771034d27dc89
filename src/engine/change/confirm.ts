import type { Kept, RecordChange } from '../configuration/tables.ts';
import type { View } from '../declare/resource.ts';
import type { Facts } from '../upkeep/facts.ts';

/** The two ends of the connection that a request came by: both addresses, and the port that was reached. */
export interface ClientConnection {
  readonly local: string;
  readonly port: number;
  readonly remote: string;
}

/** One part of the machine that a caller's way in depends on, as a function of the configuration. Pure. */
export interface Access {
  readonly name: string;
  /** The resources whose records can change it. */
  readonly reads: readonly Kept[];
  /** What carries this way: two configurations that give the same text leave whoever came by it connected. */
  of(view: View, facts: Facts, connection: ClientConnection): string;
}

/** Seconds in which a change that could cut its caller off is to be confirmed, where the request does not say. */
export const confirmWithin = 120;
export const longestConfirm = 3600;

/** A kept change that goes back by itself unless it is confirmed. */
export interface Provisional {
  readonly title: string;
  readonly request: string;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** Whether its own caller may be cut off by it. Otherwise any request confirms it. */
  readonly cuts: boolean;
  /** What it changed: what was before is the way back. */
  readonly changes: readonly RecordChange[];
}

/** Whether the change could cut off who comes this way. A way within the machine holds whatever becomes of the network. */
export function cutsOff(
  accesses: readonly Access[],
  changed: readonly RecordChange[],
  connection: ClientConnection,
  before: View,
  after: View,
  facts: Facts,
): boolean {
  if (isWithinMachine(connection)) return false;
  const paths = new Set(changed.map(({ resource }) => resource.path));
  return accesses
    .filter(({ reads }) => reads.some(({ path }) => paths.has(path)))
    .some((access) => access.of(before, facts, connection) !== access.of(after, facts, connection));
}

function isWithinMachine({ local, remote }: ClientConnection): boolean {
  return local === remote || /^(127\.|::1$)/.test(local);
}
