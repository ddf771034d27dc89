import type { ServerResponse } from 'node:http';
import { IssueList, missing, refused } from '../engine/declare/errors.ts';
import { listWithout, readSelection, type Selection } from '../engine/declare/listing.ts';
import {
  EventStream,
  Headed,
  Negotiated,
  type Operation,
  readInput,
  type StreamedEvent,
} from '../engine/declare/operation.ts';
import type { Operations } from '../engine/declare/resource.ts';
import type { RequestContext } from '../engine/engine.ts';
import type { DryPlan } from '../engine/plan/dry-run.ts';
import type { Services } from '../engine/services.ts';
import { isObject, sortedJsonPieces } from '../lib/json.ts';
import { collected } from '../lib/slices.ts';
import { quote } from '../lib/text.ts';
import { type Answer, jsonText, nothing } from './answer.ts';
import type { Exchange } from './exchange.ts';
import { acceptsLines, listed } from './listing.ts';
import { queryOf } from './query.ts';

/** One request for the management interface, sent or planned. */
export interface ManagementRequest {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  /** Reads and parses the body; `{}` when it is empty and not needed. */
  body(options: { readonly needed: boolean }): unknown;
  /** Receives the keys of the body that no field reads. */
  readonly ignored: Set<string>;
  readonly context: RequestContext;
}

/** One authenticated request for the management interface. */
export interface ManagementCall extends ManagementRequest {
  readonly exchange: Exchange;
  /** Whether the credential of the request is still accepted. */
  isAdmitted(): Promise<boolean>;
}

/** Levels of an answer above what is serialized without a pause, such as a record of a whole configuration. */
const levelsOfAnswers = 3;

/** Milliseconds between the comments that keep idle streams open. */
const heartbeat = 15_000;

/** Performs the operations of the management interface: reads the input by its fields, and writes the answer. */
export class ManagementController {
  readonly #services: Services;
  readonly #secrets: Secrets;
  /** Open event streams. */
  readonly #streams = new Set<ServerResponse>();

  constructor(services: Services, secrets: Secrets) {
    this.#services = services;
    this.#secrets = secrets;
  }

  async perform(call: ManagementCall): Promise<Answer> {
    const { operation } = call;
    const selection = this.#selectionOf(call);
    const result = await this.#run(call, this.#services.engine.operations(contextOf(call)));
    if (result instanceof EventStream) return this.#stream(result, call);
    if (selection !== undefined && isList(result)) return this.#listed(result, selection, call);
    if (result instanceof Negotiated) return negotiated(result, operation.status, call.exchange.headers.accept);
    const { value, headers } = result instanceof Headed ? result : { value: result, headers: {} };
    if (operation.answer === 'nothing') return nothing(operation.status, headers);
    return jsonText(operation.status, (await collected(sortedJsonPieces(value, levelsOfAnswers))).join(''), headers);
  }

  /** Finds out what a request would do to the machine, and changes nothing. */
  plan(call: ManagementRequest): Promise<DryPlan> {
    return this.#services.engine.dryRun(contextOf(call)).planOf((operations) => this.#run(call, operations));
  }

  /** Carries out a request as one of several, with these operations. Returns the value that it is answered with. */
  async enter(call: ManagementRequest, operations: Operations): Promise<unknown> {
    const { alone, method } = call.operation;
    if (method === 'GET') throw refused('Expected a request that changes something, got one that reads.');
    if (alone !== undefined) throw refused(`This request cannot be part of a transaction. ${alone}`);
    const result = await this.#run(call, operations);
    return result instanceof Headed ? result.value : result;
  }

  /** Ends every event stream. */
  close(): void {
    this.#services.engine.events.end();
    for (const raw of this.#streams) raw.end();
  }

  async #run(call: ManagementRequest, operations: Operations): Promise<unknown> {
    const { operation, context } = call;
    return operation.run({ ...this.#services, ...inputOf(call), context, operations });
  }

  #selectionOf({ operation: { list }, query, context: { access } }: ManagementCall): Selection | undefined {
    const { names } = this.#secrets;
    const readable = list && access?.readsSecrets === false ? listWithout(list, (name) => names.has(name)) : list;
    // What is wrong with the words is found with everything else that is wrong with the input, unless it is a secret.
    const issues = new IssueList();
    const selection = readable && readSelection(readable, queryOf(query), issues);
    if (selection !== undefined && readable !== list) issues.throwIfAny();
    return selection;
  }

  #listed(items: Items, selection: Selection, { operation: { list }, exchange, context: { access } }: ManagementCall) {
    if (list === undefined) throw new TypeError('The operation answers no list.');
    return listed({
      items,
      present: (item) => (isObject(item) ? item : { value: item }),
      list,
      selection,
      address: exchange.url,
      asLines: acceptsLines(exchange.headers.accept),
      ...(access?.readsSecrets === false && { opened: this.#secrets.withoutSecrets }),
    });
  }

  /** Sends server-sent events, beginning after `Last-Event-ID` if the client sends it, until one of the two ends it. */
  #stream({ follow }: EventStream, { exchange, isAdmitted }: ManagementCall): Answer | Promise<Answer> {
    const headers = { 'content-type': 'text/event-stream' };
    if (exchange.method === 'HEAD') return nothing(200, headers);
    const last = Number(exchange.headers['last-event-id']);
    const raw = exchange.takeOver(200, {
      ...headers,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': exchange.id,
    });
    const send = ({ number, name, data }: StreamedEvent) =>
      raw.write(`id: ${number}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    const stop = follow(Number.isSafeInteger(last) ? last : undefined, send);
    const beat = setInterval(() => {
      raw.write(': heartbeat\n\n');
      // A session or key that has ended must not receive further events.
      isAdmitted().then(
        (admitted) => admitted || raw.end(),
        () => raw.end(),
      );
    }, heartbeat);
    this.#streams.add(raw);
    return new Promise(() => {
      raw.on('close', () => {
        this.#streams.delete(raw);
        clearInterval(beat);
        stop();
      });
    });
  }
}

/** What principals without the right to secrets may not read. */
interface Secrets {
  readonly names: ReadonlySet<string>;
  readonly withoutSecrets: (text: string) => string;
}

/** The order of the members is part of the value: the same document is the same text. */
async function negotiated({ value, texts }: Negotiated, status: number, accept = ''): Promise<Answer> {
  const found = Object.entries(texts).find(([type]) => accept.includes(type));
  return found === undefined
    ? jsonText(status, JSON.stringify(value), { vary: 'accept' })
    : { status, type: `${found[0]}; charset=utf-8`, body: await found[1](), headers: { vary: 'accept' } };
}

type Items = Iterable<unknown> | AsyncIterable<unknown>;

function isList(value: unknown): value is Items {
  return Array.isArray(value) || (isObject(value) && (Symbol.asyncIterator in value || Symbol.iterator in value));
}

/** What the operation is carried out with. An open one is not limited by what the principal may do. */
function contextOf({ operation, context }: ManagementRequest): RequestContext {
  return operation.isOpen ? { ...context, access: undefined } : context;
}

/** Reads path, query and body by their fields, and refuses them with every problem that they have. */
function inputOf({ operation, params, query, body, ignored }: ManagementRequest) {
  const issues = new IssueList();
  const unnamed = new IssueList();
  const named = readInput(operation.params, params, unnamed);
  if (!unnamed.isEmpty) throw missing(`Nothing is named ${Object.values(params).map(quote).join(' and ')}.`);
  const sent = {
    params: named,
    query: readInput(operation.query, queryOf(query), issues),
    body: hasFields(operation)
      ? readInput(operation.body, body({ needed: needsBody(operation) }), issues, ignored)
      : {},
  };
  issues.throwIfAny();
  return sent;
}

const hasFields = ({ body }: Operation) => Object.keys(body).length > 0;
const needsBody = ({ body }: Operation) => Object.values(body).some((field) => field.required);
