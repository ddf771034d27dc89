import { HoldfastError } from './error.ts';

/** A key, the name and password of an account, or the session that `signIn` has begun or the browser's cookie carries. */
export type Credentials = { readonly key: string } | { readonly user: string; readonly password: string } | 'session';

export interface TransportOptions {
  /** Such as https://nas.example.com; empty in a page of the appliance itself. */
  readonly url: string;
  readonly credentials: Credentials;
  /** How often a request is sent again that got no answer, or 429, 502, 503 or 504; 5 by default. */
  readonly retries?: number | undefined;
  /** Replaces the global one, for example to speak over a socket or to pin a certificate. */
  readonly fetch?: typeof fetch | undefined;
}

export interface Sent {
  readonly method: string;
  /** From the root of the server, with its query. */
  readonly address: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly retries?: number | undefined;
}

const again: readonly number[] = [429, 502, 503, 504];
const firstPause = 250;
const longestPause = 30_000;

/** Sends requests with the credential, and again while they get no answer. */
export class Transport {
  readonly #options: TransportOptions;
  /** The cookie of a session, where no browser keeps it. */
  #cookie = '';

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** The answer, whatever its status. */
  async send({ method, address, headers = {}, body, signal, retries }: Sent): Promise<Response> {
    const most = retries ?? this.#options.retries ?? 5;
    for (let tries = 0; ; tries += 1) {
      const pause = Math.min(longestPause, firstPause * 2 ** tries);
      try {
        const answer = await this.open(address, { method, headers, body, signal });
        if (!again.includes(answer.status) || tries >= most) return answer;
        const after = Number(answer.headers.get('retry-after'));
        await answer.body?.cancel();
        await rest(after > 0 ? after * 1000 : pause, signal);
      } catch (error) {
        if (signal?.aborted === true || tries >= most) throw error;
        await rest(pause, signal);
      }
    }
  }

  async open(address: string, { method, headers, body, signal }: Omit<Sent, 'address' | 'retries'>): Promise<Response> {
    const { url, fetch: custom = fetch } = this.#options;
    const answer = await custom(`${url}${address}`, {
      method,
      credentials: 'same-origin',
      redirect: 'manual',
      headers: { ...this.#credential(), ...headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie !== undefined && this.#options.credentials === 'session') this.#cookie = cookie.replace(/;.*/s, '');
    return answer;
  }

  #credential(): Readonly<Record<string, string>> {
    const { credentials, url } = this.#options;
    if (credentials === 'session')
      return this.#cookie === '' ? {} : { cookie: this.#cookie, origin: new URL(url).origin };
    if ('key' in credentials) return { authorization: `Bearer ${credentials.key}` };
    return { authorization: basicOf(credentials) };
  }
}

export function basicOf({ user, password }: { readonly user: string; readonly password: string }): string {
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))}`;
}

/** What the description of the interface says that an answer is. */
export type FromJson = ReturnType<typeof JSON.parse>;

/** The body as JSON if it is JSON. Throws for an answer that is not 2xx. */
export async function read(answer: Response): Promise<FromJson> {
  const text = await answer.text();
  const isJson = /^application\/(?:problem\+)?json\b/.test(answer.headers.get('content-type') ?? '');
  const value: FromJson = text === '' ? undefined : isJson ? JSON.parse(text) : text;
  if (!answer.ok) throw new HoldfastError(answer.status, value, answer.headers.get('x-request-id') ?? undefined);
  return value;
}

export function rest(milliseconds: number, signal?: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => {
    clearTimeout(timer);
    reject(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener('abort', stop);
    resolve();
  }, milliseconds);
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return promise;
}

/** 122 random bits; `crypto.randomUUID` is missing in pages without TLS. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
