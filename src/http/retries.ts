import type { RetryStore } from '../engine/configuration/configuration-store.ts';
import { isObject } from '../lib/json.ts';
import type { Answer } from './answer.ts';
import { refusal } from './problem-answer.ts';

/** How long an answer is kept, in milliseconds. */
const kept = 24 * 3_600_000;

/** A request with an `Idempotency-Key`. */
export interface Attempt {
  /** The id of the account or key that sent it, and the key. Those of different accounts never meet. */
  readonly holder: string;
  readonly key: string;
  /** Method, address and body: what makes it the same request. */
  readonly content: string;
  /** The id of this request. */
  readonly request: string;
}

/**
 * Carries out a request with an `Idempotency-Key` once (draft-ietf-httpapi-idempotency-key-header). The same request
 * gets the first answer again for 24 hours, also after a restart; while the first still runs, it waits for it. A request
 * that failed or was refused changed nothing: it is forgotten, and can be sent again.
 *
 * The key is stored before the work begins. If the daemon is killed before the answer is stored, the key names a request
 * without an answer. The revision that the request made, or did not make, then says whether it was carried out, because
 * it was stored in the same transaction as the change.
 */
export class Retries {
  readonly #store: RetryStore;
  readonly #now: () => number;
  readonly #running = new Map<string, { readonly fingerprint: string; readonly answer: Promise<Answer> }>();

  constructor(store: RetryStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** `recall` answers for a request that was carried out, and whose answer was lost with the daemon's process. */
  async once(
    { holder, key, content, request }: Attempt,
    perform: () => Answer | Promise<Answer>,
    recall: (changes: readonly unknown[]) => Answer,
  ): Promise<Answer> {
    // Digests, because contents can have secrets.
    const id = this.#store.digest(JSON.stringify([holder, key]));
    const fingerprint = this.#store.digest(content);
    const running = this.#running.get(id);
    if (running !== undefined)
      return running.fingerprint === fingerprint ? replayed(await running.answer) : otherRequest;
    const first = this.#store.retry(id);
    if (first !== undefined && first.at > this.#now() - kept) {
      if (first.fingerprint !== fingerprint) return otherRequest;
      const answer = isAnswer(first.answer) ? first.answer : this.#recalled(first.request, recall);
      if (answer !== undefined) return replayed(answer);
    }
    const answer = this.#carryOut(id, { fingerprint, request }, perform);
    this.#running.set(id, { fingerprint, answer });
    try {
      return await answer;
    } finally {
      this.#running.delete(id);
    }
  }

  #recalled(request: string, recall: (changes: readonly unknown[]) => Answer): Answer | undefined {
    const revision = this.#store.revisionOf(request);
    return revision && recall(revision.changes);
  }

  async #carryOut(
    id: string,
    { fingerprint, request }: { readonly fingerprint: string; readonly request: string },
    perform: () => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const at = this.#now();
    this.#store.beginRetry(id, { fingerprint, request, at }, at - kept);
    let answer: Answer | undefined;
    try {
      answer = await perform();
      return answer;
    } finally {
      if (answer !== undefined && answer.status < 300) this.#store.endRetry(id, partsOf(answer));
      else this.#store.forgetRetry(id);
    }
  }
}

const otherRequest = refusal(
  'key_reused',
  422,
  'This Idempotency-Key was used for another request. Send a new request with a new key.',
);

function replayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}

function partsOf({ status, headers = {}, type, body }: Answer) {
  return { status, headers: { ...headers }, ...(type !== undefined && { type }), ...(body !== undefined && { body }) };
}

function isAnswer(value: unknown): value is Answer {
  return isObject(value) && typeof value['status'] === 'number';
}

/** Why a key cannot be used; undefined if it can. */
export function keyProblem(key: string): Answer | undefined {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return undefined;
  return refusal(
    'invalid_header',
    400,
    'Expected an Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID.',
  );
}
