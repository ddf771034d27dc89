/**
 * The codes of errors, by which programs decide what to do. A code keeps its meaning; new ones may be added. The OpenAPI
 * document lists them, and `test/e2e/error-codes.test.ts` produces each of them.
 */
export const errorCodes = Object.freeze({
  // What the request says
  invalid: 'Values of the request are invalid. `fields` has the problems of each field.',
  invalid_query: 'A word of the query is invalid.',
  invalid_header: 'A header of the request is invalid.',
  invalid_body: 'The body is not JSON of a permitted size and type.',
  too_large: 'The body is too large.',
  unknown_path: 'No resource or operation has this path.',
  wrong_method: 'The path does not have this method. `methods` has those that it has.',
  not_found: 'The record or object that the request names does not exist.',
  // Who sends it
  unauthorized: 'The credential is missing, wrong, or accepted no more.',
  too_many_attempts: 'Too many wrong credentials were sent. `retry_after` has the seconds to wait.',
  forbidden: 'The principal lacks the permission for this request.',
  cross_site: 'A browser sent the request for a page of another server, or without saying for which page.',
  wrong_host: 'The header Host names another machine.',
  // What is there already
  refused: 'A rule forbids the request in the present state.',
  busy: 'Something uses what the request is about. `holders` has what is known of it.',
  locked: 'It is encrypted, and its key is not loaded.',
  unconfirmed: 'Another change waits to be confirmed.',
  conflict: 'Later changes, or other requests of the transaction, forbid the request.',
  changed:
    'The record was changed since the answer that If-Match names, and `record` is the record as it is; or the request would do something else than the plan that X-Holdfast-Plan names.',
  key_reused: 'The Idempotency-Key was used for another request.',
  // What the machine or the daemon does
  failed: 'The machine refused or failed the operation. Nothing was changed.',
  starting: 'The daemon is starting. `retry_after` has the seconds to wait.',
  unavailable: 'Changes cannot be stored now, for example on a full disk. `retry_after` has the seconds to wait.',
  overloaded: 'Too many connections or large requests at once. `retry_after` has the seconds to wait.',
  unexpected: 'An unexpected error. The log has the details under the id of the request.',
});

export type ErrorCode = keyof typeof errorCodes;

/** What uses something, as far as it is known. */
export interface Holder {
  readonly kind: 'record' | 'session' | 'process' | 'hold' | 'clone' | 'job';
  /** What it is, for people. */
  readonly title: string;
  /** Path of its record or job, if it has one; otherwise its name or number on the machine. */
  readonly name: string;
}

/** A request that helps. */
export interface Help {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, string | number | boolean>>;
}
