import type { KeptEvent } from '../../engine/declare/events.ts';
import type { View } from '../../engine/declare/resource.ts';
import type { Attempt, KeptPost } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { trustedAuthorities } from '../certificates/trust.ts';
import { type Post, send } from './post.ts';
import { signaturesOf } from './signature.ts';
import type { Webhook } from './webhook.ts';

export interface OutboxParts {
  readonly view: () => View;
  readonly now: () => number;
  /** Whether posts stay in memory instead of being sent, as on the virtual host. */
  readonly keeps: boolean;
}

/** What is posted. */
export interface Message {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Milliseconds that the end of the daemon waits for answers. */
const lastMoment = 1000;
/** Posts that wait for an answer at the same time. */
const mostAtOnce = 4;
/** The maximum number of posts that are kept; the oldest are dropped. */
const mostKept = 1000;

export const messageOfEvent = ({ number, name, at, payload }: KeptEvent): Message => ({
  ...{ id: String(number), type: name, at, data: payload },
});

/** Signs messages and sends them, or keeps them in memory. */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #kept: KeptPost[] = [];
  readonly #ending = new AbortController();
  #hasEnded = false;
  readonly #waiting: (() => void)[] = [];
  #atOnce = 0;
  #number = 0;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** The posts that were kept instead of sent, the newest first; undefined where posts are sent. */
  get kept(): readonly KeptPost[] | undefined {
    return this.#parts.keeps ? this.#kept.toReversed() : undefined;
  }

  /** Whether the daemon ends, so that no attempt begins and those that fail do not count. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Gives receivers a moment for their answers: an event whose answer is not awaited is posted again by the next start. */
  end(): void {
    this.#hasEnded = true;
    setTimeout(() => this.#ending.abort(new Error('The daemon ends.')), lastMoment).unref();
    for (const proceed of this.#waiting.splice(0)) proceed();
  }

  /** Posts a message once. Never rejects. */
  async attempt(webhook: Webhook, message: Message): Promise<Attempt> {
    await this.#begin();
    const begun = performance.now();
    const took = () => Math.round(performance.now() - begun);
    try {
      const { status, wait } = await this.#post(webhook, message);
      const isAccepted = status >= 200 && status < 300;
      const problem = isAccepted ? '' : `The receiver answered ${status}.`;
      return { accepted: isAccepted, status, problem, wait, milliseconds: took() };
    } catch (error) {
      return { accepted: false, status: null, problem: messageOf(error), wait: 0, milliseconds: took() };
    } finally {
      this.#atOnce -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #begin(): Promise<void> {
    if (this.#atOnce >= mostAtOnce && !this.hasEnded)
      await new Promise<void>((proceed) => {
        this.#waiting.push(proceed);
      });
    this.#atOnce += 1;
  }

  async #post(webhook: Webhook, message: Message) {
    const { keeps, now, view } = this.#parts;
    const post = signed(webhook, message, now());
    if (this.#hasEnded) throw new Error('The daemon ends.');
    if (!keeps) {
      const { signal } = this.#ending;
      const trust = post.url.startsWith('https:') ? await trustedAuthorities(view()) : '';
      return send(post, { trust, signal });
    }
    this.#number += 1;
    const at = new Date(now()).toISOString();
    this.#kept.push(Object.freeze({ number: this.#number, at, webhook: webhook.name, ...post }));
    this.#kept.splice(0, this.#kept.length - mostKept);
    return { status: 204, wait: 0 };
  }
}

function signed({ url, secret, former_secret, former_until }: Webhook, message: Message, now: number): Post {
  const { id, type, at, data } = message;
  const body = JSON.stringify({ type, timestamp: at, data });
  const timestamp = Math.floor(now / 1000);
  const hasFormer = former_secret !== '' && now < Date.parse(former_until);
  const secrets = hasFormer ? [secret, former_secret] : [secret];
  return {
    url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Holdfast',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signaturesOf({ id, timestamp, body }, secrets),
    },
    body,
  };
}
