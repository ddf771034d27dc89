import type { LayeredDraft } from '../configuration/draft.ts';
import type { RecordChange } from '../configuration/tables.ts';
import type { Access } from '../declare/access.ts';
import type { Configuration } from '../declare/resource.ts';
import type { JobRun } from '../declare/step.ts';
import type { OpenPlan } from '../plan/journal.ts';
import type { ClientConnection, Provisional } from './confirm.ts';

/** How a request was authenticated. */
export interface Credential {
  readonly kind: 'password' | 'key' | 'session' | 'token' | 'socket';
  /** Id of the key or session. */
  readonly id?: string;
}

/** The authenticated account or key of a request. */
export interface Principal {
  /** The name that revisions and logs show. */
  readonly name: string;
  /** Differs for a key or an account that later has the same name. */
  readonly id: string;
  /** What it may do; undefined for the account that may do everything. */
  readonly access?: Access;
  readonly credential: Credential;
}

/** The origin of a change, for the log and the revisions. */
export interface RequestContext {
  readonly actor: string;
  /** How the request was authenticated; undefined for changes by the daemon itself. */
  readonly credential?: Credential;
  readonly request: string;
  /** The connection of the request; undefined for changes by the daemon itself. */
  readonly connection?: ClientConnection;
  /** Seconds within which the change must be confirmed, or it is reverted; 0 keeps it without confirmation. */
  readonly confirmWithin?: number;
  /** What the client says about the change, for its revision. */
  readonly comment?: string;
  /** What the principal may do; undefined for one that may do everything. */
  readonly access?: Access | undefined;
  /** Whether what the request removes goes to the bin. */
  readonly toBin?: true;
  /** The id of the principal. */
  readonly principal?: string;
  /** The job that the request becomes if its client does not wait for the end. */
  readonly job?: JobRun;
}

/** The change of one request in the queue. */
export interface Change {
  readonly title: string;
  readonly context: RequestContext;
  readonly make: (draft: LayeredDraft) => void;
  /** Whether it is carried out without others in its group. */
  readonly isAlone?: boolean;
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
