import type { ErrorCode, Help, Holder } from '../engine/declare/error-codes.ts';
import type { Fault, Issues } from '../engine/declare/errors.ts';
import { messageOf } from '../lib/text.ts';

/** What an answer with an error says in the form of RFC 9457. */
export interface Problem {
  readonly code: ErrorCode;
  readonly detail?: string;
  readonly fields?: Issues;
  readonly cause?: string;
  readonly holders?: readonly Holder[];
  readonly help?: Help;
  /** Further members, such as the problems of each request of a transaction. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export function problemOfFault(error: Fault): Problem {
  const { message, issues, details, cause, code, holders, help } = error;
  const reason = cause === undefined ? undefined : messageOf(cause);
  return {
    code,
    detail: message,
    ...(Object.keys(issues).length > 0 && { fields: issues }),
    ...(reason !== undefined && reason !== message && { cause: reason }),
    ...(holders.length > 0 && { holders }),
    ...(help && { help }),
    more: details,
  };
}
