import type { Fields } from './fields.ts';
import type { RecordChange } from './kept.ts';
import type { World } from './resource.ts';
import type { Step } from './step.ts';

/** What a request does, as permissions see it. */
export interface Act {
  /** Path of the resource as in the request: `storage/volume/tank/datasets`. Our own operations are below `holdfast/`. */
  readonly resource: string;
  /** Path of the resource as the catalogue has it: `storage/volume/{vol}/datasets`. */
  readonly declared: string;
  /** Id or name of the record in the path; undefined for a request to the resource itself. */
  readonly record: string | undefined;
  /** `read`, `create`, `update`, `remove`, `clear`, or the name of an action or of an operation of our own. */
  readonly verb: string;
  /** Whether it only reads. */
  readonly reads: boolean;
  /** The fields that read the body; undefined if no field does. */
  readonly fields: Fields | undefined;
  /** The record before the request, if the configuration has it. */
  readonly before: Readonly<Record<string, unknown>> | undefined;
}

/** What a principal may do. Principals without one, such as root, may do everything. */
export interface Access {
  /** What it was given, to be shown. */
  readonly rights: { readonly permissions: readonly Permission[]; readonly dataset: string };
  /** Whether secrets and raw lines of the configuration may be read. */
  readonly readsSecrets: boolean;
  /** Why this is not permitted, judged before the body is read; undefined if it is. */
  problem(act: Act): string | undefined;
  /** Why the request is not permitted with this body. */
  problemIn(act: Act, body: unknown): string | undefined;
  /**
   * Why a change is not permitted, judged by what it would do to records and machine. Undefined for an access that is
   * not confined to a dataset. A confined one can only change: it has no jobs and no other steps on the machine.
   */
  readonly confine: ((effect: Effect) => string | undefined) | undefined;
  /** Why a change would expose what amounts to root, such as the home of an account, to who lacks the right to that. */
  exposure(effect: Effect): string | undefined;
  /** Why this access must not give such permissions to another key. */
  problemOfGrant(grant: Grant): string | undefined;
}

/** What a change would do, with the world as it would be after it. */
export interface Effect extends World {
  readonly changes: readonly RecordChange[];
  readonly steps: readonly Step[];
}

/** A request for which the principal lacks the right. */
export class Forbidden extends Error {
  override readonly name = 'Forbidden';
}

/** The permissions of a key that is created or changed. */
export interface Grant {
  readonly permissions: readonly Permission[];
  readonly addresses: readonly string[];
  /** Milliseconds since 1970; undefined for a key that does not expire. */
  readonly expires: number | undefined;
  /** The dataset that its changes are confined to; empty for none. */
  readonly dataset: string;
}

/** A part of what a key may do. */
export interface Permission {
  /** Patterns of resources or records: `sharing/*`, `storage/volume/tank/datasets/**`. */
  readonly resources: readonly string[];
  /** Verbs and names of actions; `*` for all. */
  readonly verbs: readonly string[];
  /** The fields that may be sent; empty for all. */
  readonly fields: readonly string[];
  /** Whether it includes what amounts to root on the machine: raw lines, commands, accounts, keys. */
  readonly raw: boolean;
}
