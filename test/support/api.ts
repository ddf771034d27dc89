import { Agent, type IncomingMessage, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { text as textOf } from 'node:stream/consumers';
import { isObject } from '../../src/lib/json.ts';
import { messageOf } from '../../src/lib/text.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is not JSON. */
  readonly json: unknown;
}

/** A client of the API like a script, with Basic authentication and JSON. */
export class Api {
  readonly url: string;
  readonly #credential: Readonly<Record<string, string>>;
  readonly #signal: AbortSignal | undefined;

  /** Requests fail when the signal is aborted: those to a machine without power would wait for minutes. */
  constructor(
    url: string,
    credentials: { readonly user: string; readonly password: string } | { cookie: string } | { authorization: string },
    signal?: AbortSignal,
  ) {
    this.url = url;
    this.#signal = signal;
    this.#credential =
      'authorization' in credentials
        ? { authorization: credentials.authorization }
        : 'cookie' in credentials
          ? { cookie: credentials.cookie, origin: url }
          : { authorization: `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}` };
  }

  /** The same server with the cookie of a session, as a page of the server sends it. */
  inSession(cookie: string): Api {
    return new Api(this.url, { cookie });
  }

  /** `path` is below the root of the API unless it begins with a slash. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiAnswer> {
    const address = path.startsWith('/') ? `${this.url}${path}` : `${this.url}/api/v1.0/${path}`;
    const started = performance.now();
    try {
      const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      const message = await answerTo(address, {
        method,
        headers: { ...this.#credential, 'content-type': 'application/json', ...headers },
        body: sent,
        signal: this.#signal,
      });
      const text = await textOf(message);
      return {
        status: message.statusCode ?? 0,
        get headers() {
          return headersOf(message);
        },
        text,
        json: parsed(text),
      };
    } catch (error) {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      throw new TypeError(`${method} ${address}: no answer after ${seconds} s: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Opens a stream, and returns when it has begun. */
  open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers: { ...this.#credential, ...headers } });
  }

  get(path: string, headers?: Readonly<Record<string, string>>): Promise<ApiAnswer> {
    return this.send('GET', path, undefined, headers);
  }

  post(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.send('POST', path, body);
  }

  put(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.send('PUT', path, body);
  }

  delete(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.send('DELETE', path, body);
  }

  /** Sends a request, and throws the answer when its status is not the expected one. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<Record_> {
    const answer = await this.send(method, path, body);
    if (answer.status !== status)
      throw new Error(
        `${method} ${path}: expected the status ${status}, got ${answer.status}: ${answer.text.slice(0, 2000)}`,
      );
    return isObject(answer.json) ? answer.json : {};
  }

  /** The records of a list. */
  async list(path: string): Promise<readonly Record_[]> {
    const answer = await this.get(path);
    if (answer.status !== 200 || !Array.isArray(answer.json))
      throw new Error(`GET ${path} answered ${answer.status}: ${answer.text.slice(0, 2000)}`);
    return answer.json.filter(isObject);
  }
}

type Record_ = Readonly<Record<string, unknown>>;

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

const agents = { plain: new Agent({ keepAlive: true }), secure: new SecureAgent({ keepAlive: true }) };

/** Node's `fetch` takes three times as much processor time, and the tests send a million requests. */
function answerTo(address: string, { method, headers, body, signal }: Sent): Promise<IncomingMessage> {
  // Node would send the headers in the encoding of a text.
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const length = bytes && { 'content-length': bytes.length };
  const options = { method, headers: { ...headers, ...length }, ...(signal && { signal }) };
  const exchange = address.startsWith('https:')
    ? secureRequest(address, { ...options, agent: agents.secure })
    : request(address, { ...options, agent: agents.plain });
  return new Promise((resolve, reject) => {
    exchange.on('response', resolve).on('error', reject).end(bytes);
  });
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  return headers;
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
