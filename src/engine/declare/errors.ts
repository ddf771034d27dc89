import { HostError } from '../../host/ports/index.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ErrorCode, Help, Holder } from './error-codes.ts';

/**
 * The kinds of errors that a request can end with. `http/errors.ts` maps each kind to a status and a body (gaps 1.9).
 */
export type FaultKind =
  | 'invalid' // values of the request are invalid, by field
  | 'refused' // a rule forbids the operation, independent of the values
  | 'conflict' // what was changed meanwhile forbids it
  | 'missing' // the record does not exist
  | 'failed' // an operation on the machine failed
  | 'unavailable'; // the change cannot be stored now, for example on a full disk; the same request may succeed later

/** Problems by the name of the field; `__all__` for those that belong to no field. */
export type Issues = Readonly<Record<string, readonly string[]>>;

export class Fault extends Error {
  override readonly name = 'Fault';
  readonly kind: FaultKind;
  readonly issues: Issues;
  /** What the answer has beside the message. */
  readonly details: JsonObject;
  /** By what programs decide. */
  readonly code: ErrorCode;
  /** What uses what the request is about. */
  readonly holders: readonly Holder[];
  /** The request that helps, if one does. */
  readonly help: Help | undefined;

  constructor(
    kind: FaultKind,
    message: string,
    options: { issues?: Issues; details?: JsonObject; cause?: unknown } & WayOut = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.issues = options.issues ?? {};
    this.details = options.details ?? {};
    this.code = options.code ?? codeOf[kind];
    this.holders = options.holders ?? [];
    this.help = options.help;
  }
}

/** What an error says to programs. */
interface WayOut {
  readonly code?: ErrorCode;
  readonly holders?: readonly Holder[];
  readonly help?: Help;
}

const codeOf: Readonly<Record<FaultKind, ErrorCode>> = {
  invalid: 'invalid',
  refused: 'refused',
  conflict: 'conflict',
  missing: 'not_found',
  failed: 'failed',
  unavailable: 'unavailable',
};

export function invalid(issues: Issues): Fault {
  const messages = Object.entries(issues).flatMap(([name, sentences]) =>
    sentences.map((sentence) => (name === '__all__' ? sentence : `${name}: ${sentence}`)),
  );
  return new Fault('invalid', messages.join(' '), { issues });
}

export const refused = (message: string, wayOut: WayOut = {}): Fault => new Fault('refused', message, wayOut);
export const conflict = (message: string, details?: JsonObject, wayOut: WayOut = {}): Fault =>
  new Fault('conflict', message, { ...(details && { details }), ...wayOut });
export const missing = (message: string): Fault => new Fault('missing', message);
export const unavailable = (message: string, cause?: Error): Fault => new Fault('unavailable', message, { cause });
export const failed = (message: string, cause?: HostError | Error, wayOut: WayOut = {}): Fault =>
  new Fault('failed', message, { cause, ...wayOut });

/** Errors of the host become faults with their message; unexpected errors are passed on unchanged. */
export function asFault(error: unknown): unknown {
  return error instanceof HostError ? failed(error.message, error) : error;
}

/** Collects the problems of one request. */
export class IssueList<Name extends string = string> {
  readonly #found = new Map<string, string[]>();

  add(name: Name | '__all__', sentence: string): void {
    const sentences = this.#found.get(name);
    if (sentences === undefined) this.#found.set(name, [sentence]);
    else if (!sentences.includes(sentence)) sentences.push(sentence);
  }

  has(name: Name): boolean {
    return this.#found.has(name);
  }

  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  toIssues(): Issues {
    return Object.freeze(Object.fromEntries(this.#found));
  }

  throwIfAny(): void {
    if (!this.isEmpty) throw invalid(this.toIssues());
  }
}
