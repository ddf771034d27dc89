import type { HostError } from '../../host/ports/index.ts';

/**
 * What a request can end with besides success. One class, and a table of kinds: `http/errors.ts` gives each its status
 * and body (gaps 1.9).
 */
export type FaultKind =
  | 'invalid' // the request's values are wrong, by field
  | 'refused' // a rule forbids it, whatever the values
  | 'missing' // there is no such record
  | 'failed' // the machine would not or could not
  | 'unavailable'; // it cannot be kept now, such as on a full disk; the same request may succeed later

/** Field name to what is wrong with it; `__all__` for what belongs to no field. */
export type Issues = Readonly<Record<string, readonly string[]>>;

export class Fault extends Error {
  override readonly name = 'Fault';
  readonly kind: FaultKind;
  readonly issues: Issues;

  constructor(kind: FaultKind, message: string, options: { issues?: Issues; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.issues = options.issues ?? {};
  }
}

export function invalid(issues: Issues): Fault {
  const told = Object.entries(issues).flatMap(([name, sentences]) =>
    sentences.map((sentence) => (name === '__all__' ? sentence : `${name}: ${sentence}`)),
  );
  return new Fault('invalid', told.join(' '), { issues });
}

export const refused = (message: string): Fault => new Fault('refused', message);
export const missing = (message: string): Fault => new Fault('missing', message);
export const unavailable = (message: string, cause?: Error): Fault => new Fault('unavailable', message, { cause });
export const failed = (message: string, cause?: HostError | Error): Fault => new Fault('failed', message, { cause });

/** The issues of one request as they are found. */
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
