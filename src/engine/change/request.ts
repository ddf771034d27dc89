import type { LayeredDraft } from '../configuration/draft.ts';
import type { RecordChange } from '../configuration/tables.ts';
import type { Access } from '../declare/access.ts';
import type { Configuration } from '../declare/resource.ts';
import type { OpenPlan } from '../plan/journal.ts';
import type { ClientConnection, Provisional } from './confirm.ts';

/** The origin of a change, for the log and the revisions. */
export interface RequestContext {
  readonly actor: string;
  readonly request: string;
  /** The connection of the request; undefined for changes by the daemon itself. */
  readonly connection?: ClientConnection;
  /** Seconds within which the change must be confirmed, or it is reverted; 0 keeps it without confirmation. */
  readonly confirmWithin?: number;
  /** What the principal may do; undefined for one that may do everything. */
  readonly access?: Access | undefined;
}

/** The change of one request in the queue. */
export interface Change {
  readonly title: string;
  readonly context: RequestContext;
  readonly make: (draft: LayeredDraft) => void;
  /** The records that it changed, without those of other changes in the same group. */
  changes: readonly RecordChange[];
  /** The configuration before it, if it replaces the whole configuration. */
  backup?: Configuration;
  /** The plan of the work that it belongs to, which ends when it is kept. */
  readonly settles?: OpenPlan;
  /** Set if the change must be confirmed; `none` if it reverts a change that was not. */
  provisional?: Provisional | 'none' | undefined;
}

/** The origin of what the daemon does by itself. */
export const byDaemon: RequestContext = Object.freeze({ actor: 'holdfast', request: '' });
export const atStart: RequestContext = Object.freeze({ actor: 'holdfast', request: 'start' });
