import { type Event, type EventOptions, events } from './events.ts';
import { answerOf, awaitJob, type Job } from './jobs.ts';
import type { Answer, Body, Method, Operation, PathOf, PathWith, QueryOf } from './operations.ts';
import { basicOf, type FromJson, newKey, read, Transport, type TransportOptions } from './transport.ts';

export type { Credentials } from './transport.ts';

export interface ClientOptions extends TransportOptions {
  /** Seconds that a change waits before it becomes a job, which is then awaited; 10 by default. */
  readonly wait?: number | undefined;
}

/** What a request has beside its address. */
export type CallOptions<O> = {
  readonly query?: QueryOf<O> | undefined;
  readonly body?: Body<O> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The Idempotency-Key of a change; a new one by default. */
  readonly key?: string | undefined;
  /** Called with the state of the job that a change has become, whenever it has reported something. */
  readonly progress?: ((job: Job) => void) | undefined;
} & (PathOf<O> extends undefined ? { readonly path?: undefined } : { readonly path: PathOf<O> });

/** Options can be left out where nothing is required. */
type Arguments<O> = PathOf<O> extends undefined ? [options?: CallOptions<O>] : [options: CallOptions<O>];

type Call<M extends Method> = <P extends PathWith<M>>(
  address: P,
  ...options: Arguments<Operation<P, M>>
) => Promise<Answer<Operation<P, M>>>;

export interface Client {
  readonly get: Call<'get'>;
  readonly post: Call<'post'>;
  readonly put: Call<'put'>;
  readonly delete: Call<'delete'>;
  /** Any other request, such as one with an address that is computed. Answers the body. */
  request(method: string, address: string, options?: RawOptions): Promise<unknown>;
  /** The same, with the headers of the answer, such as the ETag. A change that became a job has none. */
  exchange(method: string, address: string, options?: RawOptions): Promise<Exchange>;
  /** Waits until a job has ended. */
  job(id: number, options?: Pick<RawOptions, 'progress' | 'signal'>): Promise<Job>;
  /** Every event once and in order, over lost connections. */
  events(options?: EventOptions): AsyncGenerator<Event, void, void>;
  /** Begins a session, for a client with the credentials `session`. `code` is that of the second factor. */
  signIn(user: string, password: string, code?: string): Promise<void>;
  signOut(): Promise<void>;
}

export interface Exchange {
  readonly body: unknown;
  readonly headers: Headers;
}

export interface RawOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly key?: string | undefined;
  readonly progress?: ((job: Job) => void) | undefined;
}

const sessions = '/api/holdfast/v1/sessions';
/** How often a change is sent again whose job was lost with a killed daemon. */
const mostLost = 3;

/** A client of one appliance. */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const { wait = 10 } = options;

  async function exchange(
    method: string,
    address: string,
    { body, headers, signal, key, progress }: RawOptions = {},
  ): Promise<{ readonly body: FromJson; readonly headers: Headers }> {
    const isChange = !['GET', 'HEAD', 'OPTIONS'].includes(method);
    const sent = {
      ...{ method, address, signal },
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(isChange && { 'idempotency-key': key ?? newKey(), prefer: `wait=${wait}` }),
        ...headers,
      },
    };
    for (let lost = 0; ; lost += 1) {
      const answer = await transport.send(sent);
      const id = jobIn(answer);
      if (id === undefined) return { body: await read(answer), headers: answer.headers };
      await answer.body?.cancel();
      const job = await awaitJob(transport, id, { progress, signal });
      const found = await answerOf(transport, job, signal);
      if (found !== 'lost') return { body: found.value, headers: new Headers() };
      if (lost === mostLost) throw new Error(`The job ${id} was lost again and again.`);
    }
  }

  const request = async (method: string, address: string, given?: RawOptions): Promise<FromJson> =>
    (await exchange(method, address, given)).body;

  const call =
    <M extends Method>(method: M): Call<M> =>
    async (address, ...[given]) => {
      const parts: RawOptions & { readonly path?: unknown; readonly query?: unknown } = given ?? {};
      return request(method.toUpperCase(), addressOf(address, parts.path, parts.query), parts);
    };

  return {
    ...{ get: call('get'), post: call('post'), put: call('put'), delete: call('delete'), request, exchange },
    job: (id, waiting = {}) => awaitJob(transport, id, waiting),
    events: (chosen = {}) => events(transport, chosen),
    async signIn(user, password, code) {
      const authorization = basicOf({ user, password });
      const headers = { authorization, ...(code !== undefined && { 'x-holdfast-code': code }) };
      await read(await transport.send({ method: 'POST', address: sessions, headers }));
    },
    async signOut() {
      await read(await transport.send({ method: 'DELETE', address: `${sessions}/current` }));
    },
  };
}

/** The number of the job that a request has become. */
function jobIn(answer: Response): number | undefined {
  if (answer.status !== 202 || !answer.headers.has('preference-applied')) return undefined;
  const id = /\/jobs\/(\d+)$/.exec(answer.headers.get('location') ?? '')?.[1];
  return id === undefined ? undefined : Number(id);
}

/** The address with its parameters and query. */
function addressOf(pattern: string, path: unknown, query: unknown): string {
  const values = new Map(entriesOf(path));
  const address = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
  const words = new URLSearchParams();
  for (const [name, value] of entriesOf(query))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) words.append(name, String(one));
  return words.size === 0 ? address : `${address}?${words}`;
}

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];
