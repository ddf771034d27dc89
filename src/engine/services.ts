import type { RequestContext } from './change/request.ts';
import type { Act } from './declare/access.ts';
import type { Configuration } from './declare/resource.ts';
import type { Subsystem } from './declare/subsystem.ts';
import type { Engine } from './engine.ts';
import type { DryPlan } from './plan/dry-run.ts';

/**
 * What the operations of the management interface work with: the engine, and what parts of the program provide that an
 * area must not import. The composition root passes them in.
 */
export interface Services {
  readonly engine: Engine;
  readonly subsystems: readonly Subsystem[];
  readonly backupFiles: BackupFiles;
  readonly mail: Mail;
  /** Issues a token with which another machine can pair with this one, once. */
  issueToken(): { readonly token: string; readonly until: string };
  /** A dry run: what a request would do to the machine. Throws what would refuse the request. */
  plan(request: PlannedRequest, context: RequestContext): Promise<DryPlan>;
  /** What a request would do, by its method and path; `open` if every key may send it; undefined without a resource. */
  actOf(method: string, path: string): Act | 'open' | undefined;
  /** When and from where each key was last used, by its id. */
  readonly keyUses: KeyUses;
}

export interface KeyUses {
  get(key: number): KeyUse | undefined;
}

export interface KeyUse {
  readonly at: string;
  readonly address: string;
}

/** A request of the document's API. */
export interface PlannedRequest {
  readonly method: string;
  /** Below the API's root: `sharing/cifs/`. */
  readonly path: string;
  readonly body: unknown;
}

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** A message that was kept instead of sent. */
export interface KeptMessage extends MailMessage {
  readonly number: number;
  readonly at: string;
  /** The mail server that it would have gone to. */
  readonly server: string;
  readonly from: string;
}

export interface Mail {
  /** The reason why a message could not be sent is thrown as an error. */
  send(message: MailMessage): Promise<void>;
  /** The messages that were kept instead of sent, the newest first; undefined where messages are sent. */
  readonly kept: readonly KeptMessage[] | undefined;
}

/** The configuration as a file that leaves the machine. */
export interface BackupFiles {
  /** Without a passphrase, the file has no secrets. */
  write(passphrase: string | undefined): Promise<Readonly<Record<string, unknown>>>;
  /** Reads and checks a file; what it returns completes the content with what the file lacks. */
  read(
    file: unknown,
    passphrase: string | undefined,
  ): Promise<(current: Configuration, fresh: Configuration) => Configuration>;
}
