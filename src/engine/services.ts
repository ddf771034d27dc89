import type { Credential, RequestContext } from './change/request.ts';
import type { Act } from './declare/access.ts';
import type { ChannelState } from './declare/channels.ts';
import type { HistoryRow } from './declare/history.ts';
import type { Configuration, Draft, Operations, View } from './declare/resource.ts';
import type { Subsystem } from './declare/subsystem.ts';
import type { DeadLetter, Progress } from './declare/webhooks.ts';
import type { Engine } from './engine.ts';
import type { Switch } from './pair/last-switch.ts';
import type { OwnPair } from './pair/pair.ts';
import type { PairCondition } from './pair/watch.ts';
import type { DryPlan } from './plan/dry-run.ts';
import type { EventLoopReport } from './upkeep/event-loop.ts';

/**
 * What the operations of the management interface work with: the engine, and what parts of the program provide that an
 * area must not import. The composition root passes them in.
 */
export interface Services {
  readonly engine: Engine;
  readonly subsystems: readonly Subsystem[];
  readonly backupFiles: BackupFiles;
  readonly fileSecrets: FileSecrets;
  readonly mail: Mail;
  readonly webhooks: Webhooks;
  readonly history: History;
  readonly channels: Channels;
  /** Issues a token with which another machine can pair with this one, once. */
  issueToken(): { readonly token: string; readonly until: string };
  /** A dry run: what a request would do to the machine. Throws what would refuse the request. */
  plan(request: PlannedRequest, context: RequestContext): Promise<DryPlan>;
  /** Carries out a request of the document's API with these operations, as one of several. */
  request(
    request: PlannedRequest & { readonly ifMatch?: string | undefined },
    context: RequestContext,
    operations: Operations,
  ): Promise<RequestOutcome>;
  /** The answer to a request that ends with this error; undefined if it is unexpected. */
  refusalOf(request: PlannedRequest, error: unknown): RequestAnswer | undefined;
  /** What a request would do, by its method and path; `open` if every key may send it; undefined without a resource. */
  actOf(method: string, path: string): Act | 'open' | undefined;
  /** When and from where each key was last used, by its id. */
  readonly keyUses: KeyUses;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly audit: Audit;
  /** The pair that this machine is part of; undefined on a machine that stands alone. */
  readonly cluster: (ClusterControl & { readonly joining: ClusterJoining }) | undefined;
  /** The daemon itself. */
  readonly daemon: { readonly version: string; eventLoop(): EventLoopReport };
}

/** The pair of machines as the one that has the pool sees it. */
export interface ClusterControl {
  readonly pair: OwnPair;
  /** What was known at the last look. */
  readonly condition: PairCondition;
  /** How the pool came to this machine; undefined for the first one. */
  lastSwitch(): Switch | undefined;
  /** Asks the cluster now. */
  look(): Promise<void>;
  /** Asks it for the machines and the holder only. */
  lookAtState(): Promise<void>;
  /** Has the cluster move the pool, after which this machine answers no more. */
  move(node: string): Promise<void>;
  maintain(isMaintained: boolean): Promise<void>;
  /** Ends the other machine by its fence device. */
  fence(node: string): Promise<void>;
}

/** How the other machine gets what it needs for a pair. */
export interface ClusterJoining {
  /** Issues a token that is accepted once. The other machine uses it at this base URL. */
  issueToken(url: string, fingerprint: string | undefined): { readonly token: string; readonly until: string };
  /** What the other machine needs, encrypted with the key of the token; undefined if the token is none of this pair. */
  admit(credential: Credential | undefined): Promise<string | undefined>;
}

/** The bin, as the requests use it that remove something. */
export interface Bin {
  /** Whether DELETE requests of the document's API move what they remove to the bin. */
  takesFromDocument(view: View): boolean;
  /** Removes records by `remove`, and keeps them in the bin. */
  keep(draft: Draft, removed: Removed, by: Pick<Operations, 'actor' | 'now'>, remove: () => void): unknown;
}

/** What a request removes, as the list of the bin shows it. */
export interface Removed {
  /** Path of the resource. */
  readonly resource: string;
  readonly title: string;
  readonly name: string;
  /** Id of the record; 0 without one. */
  readonly record: number;
}

/** What one of several requests leads to. */
export interface RequestOutcome {
  /** The record or object as the later requests see it. */
  readonly result: unknown;
  /** The answer, once all of them were carried out; undefined if they were not. */
  answer(): RequestAnswer | undefined;
}

export interface RequestAnswer {
  readonly status: number;
  /** Null for an answer without a body. */
  readonly body: unknown;
}

/** A request that changed something or was refused. */
export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  /** `password`, `key 3`, `session 7`; empty for a refused login. */
  readonly credential: string;
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly request: string;
  /** Number of the revision that the request made. */
  readonly revision?: number;
  /** Refused logins that this entry stands for. */
  readonly count?: number;
  /** Entries before this one that could not be stored. */
  readonly lost?: number;
}

export interface AuditRecord extends Omit<AuditEntry, 'revision' | 'lost'> {
  readonly number: number;
  readonly revision: number | null;
  readonly count: number;
}

/** The log of requests that changed something or were refused. */
export interface Audit {
  /** Entries with a number below `before` and above `after`, the newest first. */
  list(
    limit: number,
    bounds: { readonly before?: number | undefined; readonly after?: number | undefined },
  ): Promise<readonly AuditRecord[]>;
}

/** The sessions of browsers. */
export interface Sessions {
  /** Begins a session of an account; undefined if it may not log in any more. */
  begin(
    account: string,
    address: string,
    isSecure: boolean,
  ): { readonly cookie: string; readonly session: SessionInfo } | undefined;
  list(): readonly SessionInfo[];
  end(id: string): void;
  /** The header that removes the cookie. */
  noCookie(isSecure: boolean): string;
}

export interface SessionInfo {
  readonly id: string;
  readonly account: string;
  /** From where it began. */
  readonly address: string;
  readonly created: string;
  readonly last_used: string;
  /** When it ends without another request. */
  readonly ends: string;
}

/** A secret for an authenticator program, which a code has to confirm. */
export interface NewFactor {
  readonly secret: string;
  /** The same as an otpauth URL, and as an SVG image with its QR code. */
  readonly url: string;
  readonly qr: string;
}

/** Second factors of accounts, by the name of the account. */
export interface SecondFactors {
  has(name: string): boolean;
  begin(name: string): NewFactor;
  confirmed(name: string, code: string): ConfirmedFactor;
  /** Whether the code is right, and the account does not have to wait after wrong ones. A recovery code is used up. */
  accepts(account: number, code: string): Promise<boolean>;
  accountOf(name: string): number;
}

/** A second factor that can be stored. */
export interface ConfirmedFactor {
  readonly user: number;
  readonly secrets: { readonly secret: string; readonly recovery: string; readonly created: string };
  readonly recoveryCodes: readonly string[];
  settle(): void;
}

export interface KeyUses {
  get(key: number): KeyUse | undefined;
}

export interface KeyUse {
  readonly at: string;
  readonly address: string;
}

/** A request that is planned. */
export interface PlannedRequest {
  readonly method: string;
  /** Below the root of the document's API, such as `sharing/cifs/`, or from the root of the server. */
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

/** Posts events to the receivers of webhooks, which are named by their ids. */
export interface Webhooks {
  /** Undefined for a webhook that is not stored. */
  state(id: number): WebhookState | undefined;
  /** Posts a message that is no event, at once and once. If it is accepted, what failed is tried again. */
  test(id: number): Promise<Attempt>;
  deadLetters(id: number): Iterable<DeadLetter>;
  hasDeadLetter(id: number, number: number): boolean;
  /** Posts dead letters again, the oldest first, until one is not accepted; with a number only that one. */
  retry(id: number, number: number | undefined): Promise<Retried>;
  /** Forgets the dead letters, and that events were lost. */
  forget(id: number): void;
  /** The posts that were kept instead of sent, the newest first; undefined where posts are sent. */
  readonly kept: readonly KeptPost[] | undefined;
}

export interface WebhookState extends Progress {
  readonly deadLetters: number;
}

/** The measurements of the appliance, kept for years. */
export interface History {
  /** The names of all series, and about when each was last measured, in milliseconds since 1970. */
  series(): ReadonlyMap<string, number>;
  /** The last values, by the name of the series. */
  readonly latest: ReadonlyMap<string, number>;
  /** What is known of these series, in spans; a span without a measurement is missing. Read in slices. */
  read(series: readonly string[], span: HistorySpan): Promise<readonly HistoryRow[]>;
  /** The milliseconds of the spans that are kept for such a request. */
  tierOf(from: number, step: number): { readonly step: number };
}

/** From and to, in milliseconds since 1970, and the milliseconds of one span. */
export interface HistorySpan {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** How a post to a receiver ended. */
export interface Attempt {
  readonly accepted: boolean;
  /** Status of the answer; null without one. */
  readonly status: number | null;
  /** Why it was not accepted; empty if it was. */
  readonly problem: string;
  /** Milliseconds that the receiver asks to wait before the next attempt. */
  readonly wait: number;
  /** Milliseconds until the answer. */
  readonly milliseconds: number;
}

/** How a retry of dead letters ended. */
export interface Retried {
  readonly accepted: number;
  readonly left: number;
  readonly problem: string;
}

/** A post that was kept instead of sent. */
export interface KeptPost {
  readonly number: number;
  readonly at: string;
  /** Name of the webhook. */
  readonly webhook: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reports problems to the receivers of channels, which are named by their ids. */
export interface Channels {
  /** Undefined for a channel that is not stored. */
  state(id: number): ChannelState | undefined;
  /** Sends a test message at once and once. If it is accepted, what failed is tried again. */
  test(id: number): Promise<Attempt>;
  /** What was kept instead of sent, the newest first; undefined where alerts are sent. */
  readonly kept: readonly KeptAlert[] | undefined;
}

/** A message to a channel that was kept instead of sent. */
export interface KeptAlert {
  readonly number: number;
  readonly at: string;
  /** Name of the channel. */
  readonly channel: string;
  readonly kind: string;
  readonly body: string;
}

/** Secrets in texts that leave the machine, which only this appliance can read. */
export interface FileSecrets {
  /** The same text for the same value, so that an unchanged configuration gives an unchanged file. */
  seal(purpose: string, value: unknown): string;
  /** Undefined if it was not sealed by this appliance for this purpose. */
  open(purpose: string, sealed: string): unknown;
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
