/**
 * Operations of Holdfast's own interface, `/api/holdfast/v1/`: what the document does not define. A section has those of
 * one subject. Routes, the reading and refusing of input, and the OpenAPI document derive from the declarations.
 */
import type { JsonObject } from '../../lib/json.ts';
import type { RequestContext } from '../change/request.ts';
import type { Engine } from '../engine.ts';
import type { Services } from '../services.ts';
import { IssueList } from './errors.ts';
import { type Field, type Fields, isRequired } from './fields.ts';
import { type List, type ListSpec, listWith, membersOf, wordsOf } from './listing.ts';
import { readSent } from './record.ts';
import type { Operations } from './resource.ts';

/** The values of an operation's input: those that were sent, and the initial values of all others. */
export type InputOf<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer V> ? V : never };

export interface Operation<P extends Fields = Fields, Q extends Fields = Fields, B extends Fields = Fields> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the root of the interface, with the parameters in braces: `jobs/{id}/abort`. */
  readonly path: string;
  /** What generated clients call it: `listJobs`. */
  readonly name: string;
  /** What it does, as a sentence. */
  readonly title: string;
  /** The parameters of the path. A value that its field refuses names nothing: the answer is 404. */
  readonly params: P;
  readonly query: Q;
  /** How requests choose from the list that it answers; undefined if it answers something else. */
  readonly list: List | undefined;
  /** Without fields, the body is ignored. */
  readonly body: B;
  readonly status: number;
  /** JSON Schema of the answer; a stream of events never ends. */
  readonly answer: JsonObject | 'nothing' | 'events';
  /** Input that an appliance accepts, for the OpenAPI document and the tests. */
  readonly example: Example;
  /** Whether it is answered 503 until the start has applied the configuration to the machine. */
  readonly awaitsStart: boolean;
  /** Whether every principal may send it: it is about the principal itself, or judges by itself. */
  readonly isOpen: boolean;
  /** Why it cannot be part of a transaction, as a sentence; undefined if it can. A GET cannot. */
  readonly alone: string | undefined;
  /** Returns the answer, also as `Headed`; for a list the whole of it, which can be computed while it is sent; an `EventStream` if the answer is `events`. */
  run(call: OperationCall<P, Q, B>): unknown;
}

export interface Example {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
}

/** The engine as operations read it. What an operation does, it does by `operations`, which a dry run replaces. */
export type EngineToRead = Omit<
  Engine,
  'begin' | 'close' | 'change' | 'exchange' | 'operations' | 'dryRun' | 'lookAtClock' | 'whileAtRest'
>;

/** One request for an operation. Its input has been read by the fields. */
export interface OperationCall<P extends Fields = Fields, Q extends Fields = Fields, B extends Fields = Fields>
  extends Omit<Services, 'engine'> {
  readonly engine: EngineToRead;
  /** What the request is carried out with. */
  readonly operations: Operations;
  readonly params: InputOf<P>;
  readonly query: InputOf<Q>;
  readonly body: InputOf<B>;
  readonly context: RequestContext;
}

/** An answer with headers, such as a cookie. */
export class Headed {
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(value: unknown, headers: Headed['headers']) {
    this.value = value;
    this.headers = headers;
  }
}

/** An answer in other types than JSON as well, by the type that the header Accept names. */
export class Negotiated {
  readonly value: unknown;
  readonly texts: Readonly<Record<string, () => string | Promise<string>>>;

  constructor(value: unknown, texts: Negotiated['texts']) {
    this.value = value;
    this.texts = texts;
  }
}

/** Events for one client. */
export class EventStream {
  /** Sends the known events after `last`, then each new one. Returns what ends it. */
  readonly follow: (last: number | undefined, send: (event: StreamedEvent) => void) => () => void;

  constructor(follow: EventStream['follow']) {
    this.follow = follow;
  }
}

export interface StreamedEvent {
  readonly number: number;
  readonly name: string;
  readonly data: unknown;
}

/** The operations of one subject. */
export interface Section {
  /** The first part of their paths. */
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

type Defaults = 'params' | 'query' | 'body' | 'status' | 'example' | 'awaitsStart' | 'isOpen' | 'alone';
type OperationSpec<P extends Fields, Q extends Fields, B extends Fields> = Omit<Operation<P, Q, B>, Defaults | 'list'> &
  Partial<Pick<Operation<P, Q, B>, Defaults>> & {
    /** For a list: what identifies its records, its order and its limit. */
    readonly list?: ListSpec;
  };

type NoFields = Readonly<Record<never, never>>;

/** Declares an operation. Unless it says otherwise it is answered 200, and only a GET is answered during the start. */
export function operation<P extends Fields = NoFields, Q extends Fields = NoFields, B extends Fields = NoFields>(
  spec: OperationSpec<P, Q, B>,
): Operation<P, Q, B>;
export function operation(spec: OperationSpec<Fields, Fields, Fields>): Operation {
  const members =
    spec.method === 'GET' && spec.answer !== 'nothing' && spec.answer !== 'events' && membersOf(spec.answer);
  const list = members ? listWith(members, spec.list) : undefined;
  const declared = {
    params: {},
    body: {},
    status: 200,
    example: {},
    awaitsStart: spec.method !== 'GET',
    isOpen: false,
    alone: undefined,
    ...spec,
    query: { ...spec.query, ...(list && wordsOf(list)) },
    list,
  };
  for (const [name, field] of Object.entries({ ...declared.query, ...declared.body }))
    if (!field.required && field.initial === undefined && field.sometimes !== true)
      throw new TypeError(`${spec.path} ${name}: expected a field that is required, optional or has an initial value`);
  return Object.freeze(declared);
}

export function section(name: string, description: string, operations: readonly Operation[]): Section {
  return Object.freeze({ name, description, operations });
}

/**
 * Reads one part of an operation's input by its fields. What is not sent, or is `null`, gets the initial value. The
 * problems are added to `issues`, and keys that no field reads to `ignored`.
 */
export function readInput(
  fields: Fields,
  from: unknown,
  issues: IssueList = new IssueList(),
  ignored: Set<string> = new Set(),
): Readonly<Record<string, unknown>> {
  const reading = readSent(fields, from, 'create');
  for (const key of reading.ignored) ignored.add(key);
  const sent: Readonly<Record<string, unknown>> = reading.sent;
  for (const [name, sentences] of Object.entries(reading.issues))
    for (const sentence of sentences) issues.add(name, sentence);
  const input: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (sent[name] === undefined && field.required && !issues.has(name)) issues.add(name, isRequired);
    input[name] = sent[name] ?? field.initial;
  }
  return input;
}
