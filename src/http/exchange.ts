import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Principal } from '../engine/change/request.ts';
import type { Act } from '../engine/declare/access.ts';
import type { JobRun } from '../engine/declare/step.ts';
import { clientConnection } from './client-connection.ts';
import { type Endpoint, type Method, plainPath } from './routes.ts';

/** What is sent as an answer. */
export interface Sent {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly type?: string | undefined;
  /** The request headers that the answer depends on. */
  readonly vary?: string | undefined;
  readonly body?: string | Buffer | undefined;
  /** Instead of a body: it is sent piece by piece. */
  readonly pieces?: Iterable<string> | AsyncIterable<string> | undefined;
}

/** One request and the answer to it. */
export class Exchange {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly url: string;
  /** The URL without its query, and the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** As it was sent; `effectiveMethod` is what the request means. */
  readonly method: string;
  readonly effectiveMethod: Method | undefined;
  readonly #begun = performance.now();
  readonly #ended: (exchange: Exchange, seconds: number) => void;
  #principal: Principal | undefined;
  #plain: string | undefined;
  #hasPlain = false;
  #status = 0;
  /** The body, once it was read. */
  body: Buffer | undefined;
  /** What answers the request, once it was looked up. */
  endpoint: Endpoint | undefined;
  /** What the request would do, for a principal that may not do everything. */
  act: Act | undefined;
  /** The job that it becomes if it takes longer than its client waits. */
  job: JobRun | undefined;
  /** The names of fields that are answered for being unknown. */
  ignored: string | undefined;

  constructor(
    raw: IncomingMessage,
    response: ServerResponse,
    id: string,
    ended: (exchange: Exchange, seconds: number) => void,
  ) {
    const { url = '/', method = 'GET', headers } = raw;
    const mark = url.indexOf('?');
    this.raw = raw;
    this.response = response;
    this.id = id;
    this.url = url;
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? '' : url.slice(mark + 1);
    this.headers = headers;
    this.method = method;
    // A header may override the method (gaps 1.3).
    const override = headers['x-http-method-override'];
    this.effectiveMethod = methodNamed(typeof override === 'string' ? override.toUpperCase() : method);
    this.#ended = ended;
  }

  /** The authenticated principal; only what runs after the authentication may read it. */
  get principal(): Principal {
    if (this.#principal === undefined) throw new TypeError('the request is not authenticated');
    return this.#principal;
  }

  set principal(principal: Principal) {
    this.#principal = principal;
  }

  get isAuthenticated(): boolean {
    return this.#principal !== undefined;
  }

  /** The path as the routers expect it; undefined if it cannot be decoded. */
  get plain(): string | undefined {
    if (!this.#hasPlain) {
      this.#plain = plainPath(this.path);
      this.#hasPlain = true;
    }
    return this.#plain;
  }

  /** The status of the answer; 0 before it. */
  get status(): number {
    return this.#status;
  }

  get connection() {
    return clientConnection(this.raw.socket);
  }

  /** Answers the request. Every answer has the headers that are set here. */
  send({ status, headers, vary, type, body, pieces }: Sent): void {
    if (this.#status !== 0) return;
    this.#status = status;
    const { response } = this;
    const list = ['x-request-id', this.id, 'x-content-type-options', 'nosniff'];
    let isCacheNamed = false;
    if (headers !== undefined)
      for (const name in headers) {
        if (name === 'cache-control') isCacheNamed = true;
        if (name !== 'vary' || vary === undefined) list.push(name, headers[name] ?? '');
      }
    if (!isCacheNamed) list.push('cache-control', 'no-store');
    if (this.ignored !== undefined) list.push('x-holdfast-ignored', this.ignored);
    if (vary !== undefined) list.push('vary', vary);
    if (type !== undefined) list.push('content-type', type);
    if (pieces !== undefined) {
      response.writeHead(status, list);
      response.once('close', () => this.#end());
      pipeline(Readable.from(this.method === 'HEAD' ? [] : pieces), response, () => {});
      return;
    }
    const length = body === undefined ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    if (status !== 204 && status !== 304) list.push('content-length', String(length));
    response.writeHead(status, list);
    // Text of one byte a character is written without a conversion.
    if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8');
    else response.end(body);
    this.#end();
  }

  /** Leaves the answer to the caller, such as a stream of events. */
  takeOver(status: number, headers: Readonly<Record<string, string>>): ServerResponse {
    this.#status = status;
    this.response.writeHead(status, headers).once('close', () => this.#end());
    return this.response;
  }

  #end(): void {
    this.#ended(this, (performance.now() - this.#begun) / 1000);
  }
}

/** HEAD is a GET without a body. */
export function methodNamed(method: string): Method | undefined {
  if (method === 'HEAD') return 'GET';
  return method === 'POST' || method === 'PUT' || method === 'DELETE' || method === 'GET' ? method : undefined;
}
