import type { Provisional } from '../configuration/configuration-store.ts';
import type { Kept, RecordChange } from '../configuration/tables.ts';
import type { View } from '../declare/resource.ts';
import type { Facts } from '../facts/facts.ts';

/** The connection of a request: both addresses, and the local port. */
export interface ClientConnection {
  readonly local: string;
  readonly port: number;
  readonly remote: string;
  /** Whether it is encrypted by TLS. */
  readonly isSecure?: boolean;
}

/** One part of the machine that the connections of clients depend on, as a pure function of the configuration. */
export interface Access {
  readonly name: string;
  /** The resources whose records can change it. */
  readonly reads: readonly Kept[];
  /**
   * Describes what the connection depends on. If the text is the same for two configurations, the connection survives.
   */
  of(view: View, facts: Facts, connection: ClientConnection): string;
}

/** Seconds within which a change that could disconnect its client must be confirmed, by default and at most. */
export const confirmWithin = 120;
export const longestConfirm = 3600;

export type { Provisional };

/** Whether the change could break the connection. Connections within the machine do not depend on the network. */
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
