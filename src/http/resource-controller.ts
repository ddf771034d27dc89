import { fieldValue, type Kept } from '../engine/configuration/tables.ts';
import { failed, invalid, missing, refused } from '../engine/declare/errors.ts';
import { type Field, type Fields, isRequired } from '../engine/declare/fields.ts';
import { answered, maySend, readSent, type SentReading } from '../engine/declare/record.ts';
import {
  type Action,
  ActionAnswer,
  type Collection,
  type Draft,
  type Hosted,
  type Operations,
  type Profile,
  type RecordOf,
  type Resource,
  type Scope,
  type SentOf,
  type View,
} from '../engine/declare/resource.ts';
import type { Engine, RequestContext } from '../engine/engine.ts';
import type { DryPlan } from '../engine/plan/dry-run.ts';
import type { Bin } from '../engine/services.ts';
import { isObject, sortedJson } from '../lib/json.ts';
import { forgetOldest } from '../lib/recent.ts';
import { quote, withArticle } from '../lib/text.ts';
import { Turns } from '../lib/turns.ts';
import { type Answer, json, jsonList, jsonText, jsonType, nothing, sentence } from './answer.ts';
import { listed } from './listing.ts';
import { type Page, readableList, readChoice, readPage, slice, sorted } from './lists.ts';
import type { Match, Operation } from './routes.ts';
import { assertMatch, ChangedMeanwhile, digestOf, recordTag } from './tags.ts';

/** One authenticated request for the document's API. */
export interface Call {
  readonly match: Match;
  readonly operation: Operation;
  readonly query: string;
  readonly range: string | undefined;
  /** Path and query of the request. */
  readonly address?: string;
  /** Whether the client accepts NDJSON. */
  readonly asLines?: boolean;
  /** The tags of the header If-Match. */
  readonly ifMatch: string | undefined;
  /** Reads and parses the body; `{}` when it is empty and not needed. */
  body(options: { readonly needed: boolean }): unknown;
  /** Receives the keys of the body that no field reads. */
  readonly ignored: Set<string>;
  readonly context: RequestContext;
  /** What `context` says about secrets, where it is known without the context. */
  readonly readsSecrets?: boolean;
  /** What the request is carried out with, instead of the engine's own operations. */
  readonly operations?: Operations;
}

function operationsOf({ operations, context }: Call, engine: Engine): Operations {
  return operations ?? engine.operations(context);
}

/** The configuration as the call sees it. */
function viewOf({ operations }: Call, engine: Engine): View {
  return (operations?.world ?? engine.world).view;
}

/** What one of several requests leads to. */
export interface Entered {
  /** The record as later requests see it. */
  readonly result: unknown;
  /** The answer once all of them were carried out; undefined if they were not. */
  answer(): Answer | undefined;
}

interface RequestedChange {
  readonly title: string;
  /** Returns the id of the created or changed record. */
  readonly make: (draft: Draft) => number | undefined;
  /** Runs the change as one part of the resource's larger operation, when the resource defines one. */
  readonly around?: () => Promise<number>;
}

/** Whether the principal may read secrets and raw lines. */
const readsSecrets = (call: Call): boolean => call.readsSecrets ?? call.context.access?.readsSecrets !== false;

/** How many answers to reads of one record are kept. */
const mostKeptAnswers = 1000;

/** How many lists are kept, and how many characters they may have. */
const mostKeptLists = 100;
const longestKeptList = 32_768;

/** Performs requests: defines once what every verb means for each kind of resource. */
export class ResourceController {
  readonly #engine: Engine;
  readonly #profile: Profile;
  readonly #root: string;
  /** Changes of the same record of the host, so that nothing comes between the check of a tag and the change. */
  readonly #turns = new Turns();

  /** The last text of each record and the same without secrets. */
  readonly #openTexts = new WeakMap<object, { readonly of: string; readonly text: string }>();
  readonly #withoutSecrets: (text: string) => string;
  /** The answers to reads of records that were read before. */
  readonly #answers = new Map<object, Answer>();
  /** The lists that were read last, by resource and query. */
  readonly #lists = new Map<string, { readonly version: number; readonly answer: Answer }>();

  readonly #bin: Bin;

  constructor(
    engine: Engine,
    options: { profile: Profile; root: string; withoutSecrets: (text: string) => string; bin: Bin },
  ) {
    this.#engine = engine;
    this.#bin = options.bin;
    this.#withoutSecrets = options.withoutSecrets;
    this.#profile = options.profile;
    this.#root = options.root;
  }

  perform(call: Call): Answer | Promise<Answer> {
    const { resource } = call.match.route;
    if ('action' in call.operation) return this.#act(call, call.operation.action);
    return resource.kind === 'hosted'
      ? this.#onHosted(call, resource, call.operation.verb)
      : this.#onKept(call, resource, call.operation.verb);
  }

  /** Finds out what a request would do to the machine, and changes nothing. */
  plan(call: Call): Promise<DryPlan> {
    const { resource } = call.match.route;
    const { operation } = call;
    return this.#engine.dryRun(call.context).planOf(async (operations) => {
      const dry = { ...call, operations };
      if ('action' in operation) return await this.perform(dry);
      if (resource.kind === 'hosted')
        return await (operation.verb === 'create' ? this.#createdKey(dry, resource) : this.perform(dry));
      const { title, make, around } = await this.#changeOf(dry, resource, operation.verb);
      return await (around?.() ?? operations.onlyChange(title, make));
    });
  }

  /** Carries out a request as one of several, with the operations of the call. */
  async enter(call: Call & { readonly operations: Operations }): Promise<Entered> {
    const { operation } = call;
    const { resource: of } = call.match.route;
    if (call.context.toBin === true && !('verb' in operation && ['remove', 'clear'].includes(operation.verb)))
      throw refused('Expected the path of something that DELETE removes, such as sharing/cifs/3/.');
    if ('action' in operation) {
      const answer = await this.#act(call, operation.action);
      return { result: this.#readable(call, contentOf(answer)), answer: () => answer };
    }
    const { operations: _, ...later } = call;
    if (of.kind === 'hosted') return await this.#enterHosted(call, later, of, operation.verb);
    const id = await this.#carryOut(call, of, operation.verb);
    if (id instanceof ChangedMeanwhile) throw id;
    if (id === undefined) return { result: null, answer: () => nothing(204) };
    const record = this.#recordIn(call, of, id) ?? gone(of, String(id));
    return {
      result: this.#readable(call, answered(of.fields, record)),
      answer: () => {
        const present = this.#engine.table(of).get(id);
        const status = operation.verb === 'update' ? (of.quirks.updated ?? 200) : (of.quirks.created ?? 201);
        return present && this.#answer(later, status, of, present);
      },
    };
  }

  /** What later requests may refer to: a key that may not read secrets must not copy them either. */
  #readable(call: Call, value: unknown): unknown {
    if (readsSecrets(call)) return value;
    const open: unknown = JSON.parse(this.#withoutSecrets(sortedJson(value)));
    return open;
  }

  async #enterHosted(
    call: Call & { readonly operations: Operations },
    later: Call,
    of: Hosted,
    verb: string,
  ): Promise<Entered> {
    if (verb !== 'create') {
      const answer = await this.#onHosted(call, of, verb);
      if (answer.status === 412) throw new ChangedMeanwhile('The record was changed after it was read.');
      if (verb === 'remove') return { result: null, answer: () => answer };
      const again = () => of.find(this.#scope(later, of), keyOf(later));
      return {
        result: this.#readable(call, contentOf(answer)),
        answer: () => this.#shownHosted(of.quirks.updated ?? 200, later, of, again()),
      };
    }
    const key = await this.#createdKey(call, of);
    const scope = this.#scope(call, of);
    const item = of.find(scope, key) ?? gone(of, key);
    const made = () => of.find(this.#scope(later, of), key);
    return {
      result: this.#readable(call, of.present(item, scope)),
      answer: () => this.#shownHosted(of.quirks.created ?? 201, later, of, made()),
    };
  }

  #shownHosted(status: number, call: Call, of: Hosted, item: unknown): Answer | undefined {
    return item === undefined ? undefined : this.#answerHosted(status, of, of.present(item, this.#scope(call, of)));
  }

  // Records of the configuration ------------------------------------------------------------------------------------

  #onKept(call: Call, of: Kept, verb: string): Answer | Promise<Answer> {
    switch (verb) {
      case 'list':
        return this.#list(call, of);
      case 'read':
        return this.#read200(call, of, this.#find(call, of));
      case 'create':
      case 'update':
      case 'remove':
      case 'clear':
        return this.#changeKept(call, of, verb);
    }
    throw new Error(`${of.path} has no verb ${verb}`);
  }

  async #changeKept(call: Call, of: Kept, verb: string): Promise<Answer> {
    if (verb === 'remove' && this.#isRemovedTwice(call, of)) return nothing(204);
    const id = await this.#carryOut(call, of, verb);
    if (id instanceof ChangedMeanwhile) return this.#answer(call, 412, of, this.#find(call, of));
    const waits = this.#engine.provisional;
    const confirm: Readonly<Record<string, string>> =
      waits?.request === call.context.request
        ? { 'x-holdfast-confirm-until': new Date(waits.until).toISOString() }
        : {};
    if (id === undefined) return nothing(204, confirm);
    const record = this.#engine.table(of).get(id) ?? gone(of, String(id));
    const note = of.note?.(record, this.#engine.world.view);
    const headers = note === undefined ? confirm : { ...confirm, 'x-holdfast-note': note };
    if (verb === 'update') return this.#answer(call, of.quirks.updated ?? 200, of, record, headers);
    const location = `${this.#root}/${of.path}/${id}/`;
    return this.#answer(call, of.quirks.created ?? 201, of, record, { ...headers, location });
  }

  /**
   * The answer to a request that was carried out, and whose answer was lost: made of the records that its revision
   * changed, as they are now.
   */
  recall({ match, operation }: Pick<Call, 'match' | 'operation'>, changes: readonly unknown[]): Answer {
    const { resource: of } = match.route;
    const verb = 'verb' in operation ? operation.verb : undefined;
    if (verb === 'remove' || verb === 'clear') return nothing(204);
    const changed = changes
      .filter(isObject)
      .find(({ resource, before }) => resource === of.path && (verb !== 'create' || before === undefined));
    const record =
      of.kind === 'hosted' || verb === undefined ? undefined : this.#engine.table(of).get(Number(changed?.['id']));
    if (of.kind === 'hosted' || record === undefined) return carriedOut;
    if (verb === 'update') return this.#answer(undefined, of.quirks.updated ?? 200, of, record);
    const location = `${this.#root}/${of.path}/${record.id}/`;
    return this.#answer(undefined, of.quirks.created ?? 201, of, record, { location });
  }

  async #carryOut(call: Call, of: Kept, verb: string): Promise<number | undefined | ChangedMeanwhile> {
    try {
      const { title, make, around } = await this.#changeOf(call, of, verb);
      return await (around?.() ?? operationsOf(call, this.#engine).onlyChange(title, make));
    } catch (error) {
      // Without one record there is nothing to answer: the request was for the list.
      if (error instanceof ChangedMeanwhile && verb !== 'clear') return error;
      throw error;
    }
  }

  #isRemovedTwice(call: Call, of: Kept): boolean {
    const id = Number(keyOf(call));
    const table = this.#engine.table(of);
    return (
      this.#profile === 'clients' &&
      of.quirks.removedTwice === true &&
      id <= table.lastId &&
      table.get(id) === undefined
    );
  }

  /** The change that a request describes, for the queue or for a dry run. */
  async #changeOf(call: Call, of: Kept, verb: string): Promise<RequestedChange> {
    if (verb === 'update') {
      const before = this.#find(call, of);
      const { id } = before;
      const { sent, issues, fill } = await this.#read(call, of, before);
      const title = `change the ${of.title}${of.kind === 'collection' ? ` ${nameOf(of, before)}` : ''}`;
      assertMatch(call.ifMatch, () => this.#engine.digestOf(before));
      const make = (draft: Draft, more: Partial<RecordOf<Fields>> = {}) => {
        assertMatch(call.ifMatch, () => {
          const present = of.kind === 'singleton' ? draft.only(of) : draft.get(of, id);
          return this.#engine.digestOf(present ?? gone(of, String(id)));
        });
        draft.note(issues);
        return draft.update(of, id, sent, { ...fill, ...more }).id;
      };
      if (of.kind !== 'singleton' || of.around === undefined || Object.keys(issues).length > 0) return { title, make };
      const around = of.around.bind(of);
      const operations = operationsOf(call, this.#engine);
      return {
        title,
        make,
        around: () =>
          around({ title, sent, before, operations, make: (draft, more) => void make(draft, more) }).then(() => id),
      };
    }
    if (of.kind !== 'collection') throw new Error(`${of.path} has no verb ${verb}`);
    if (verb === 'create') {
      const { sent, issues, fill } = await this.#read(call, of, undefined);
      return {
        title: `create ${withArticle(of.title)}`,
        make: (draft) => {
          draft.note(issues);
          return draft.create(of, sent, fill).id;
        },
      };
    }
    const removed = verb === 'remove' ? this.#find(call, of) : undefined;
    const ids = removed && [removed.id];
    const body = ids !== undefined && of.quirks.readsRemoval ? call.body({ needed: false }) : {};
    const sent = isObject(body) ? body : {};
    const name = removed ? nameOf(of, removed) : `every ${of.title}`;
    const kept = { resource: of.path, title: of.title, name, record: removed?.id ?? 0 };
    const toBin = this.#goesToBin(call, of.binned === true, of);
    return {
      title: `${toBin ? 'move' : 'remove'} ${removed ? `the ${of.title} ` : ''}${name}${toBin ? ' to the bin' : ''}`,
      make: (draft) => {
        assertMatch(call.ifMatch, () =>
          ids === undefined
            ? this.#listVersion(draft.all(of), { offset: 0, of: draft.all(of).length })
            : this.#engine.digestOf(draft.get(of, ids[0] ?? 0) ?? gone(of, String(ids[0]))),
        );
        // Removing one record may already have removed another that depends on it.
        const remove = () => {
          for (const id of ids ?? draft.all(of).map((record) => record.id))
            if (ids || draft.get(of, id)) draft.remove(of, id, sent);
        };
        if (toBin) this.#bin.keep(draft, kept, operationsOf(call, this.#engine), remove);
        else remove();
        return undefined;
      },
    };
  }

  /** Whether what a request removes goes to the bin: because it asks for that, or because a setting says so. */
  #goesToBin(call: Call, isPossible: boolean, { title }: { readonly title: string }): boolean {
    const isAsked = call.context.toBin === true;
    if (isAsked && !isPossible) throw refused(`A ${title} cannot go to the bin. Send DELETE to remove it at once.`);
    return isAsked || (isPossible && this.#bin.takesFromDocument(viewOf(call, this.#engine)));
  }

  /**
   * The fields that were sent, and the values that the resource's `beforehand` adds. `before` is the record of an
   * update.
   */
  async #read(call: Call, of: Kept, before: RecordOf<Fields> | undefined) {
    const { sent, issues } = readOf(call, of.fields, before === undefined ? 'create' : 'update');
    const fill = Object.keys(issues).length === 0 ? await this.#beforehand(call, of, sent, before) : undefined;
    return { sent, issues, fill };
  }

  #beforehand(call: Call, of: Kept, sent: SentOf<Fields>, before: RecordOf<Fields> | undefined) {
    const operations = operationsOf(call, this.#engine);
    if (of.kind === 'collection') return of.beforehand?.(sent, operations, before);
    return before === undefined ? undefined : of.beforehand?.(sent, operations, before);
  }

  /** Programs and pages ask for the same lists again and again. One that has not changed is answered without making it. */
  #list(call: Call, of: Kept): Answer | Promise<Answer> {
    if (of.present !== undefined || call.range !== undefined || call.asLines === true || !readsSecrets(call))
      return this.#madeList(call, of);
    const key = `${of.path}?${call.query}`;
    const { version } = this.#engine.table(of);
    const known = this.#lists.get(key);
    if (known?.version === version) return known.answer;
    const answer = this.#madeList(call, of);
    if (answer instanceof Promise || (answer.body?.length ?? 0) > longestKeptList) return answer;
    if (this.#lists.size >= mostKeptLists) this.#lists.clear();
    this.#lists.set(key, { version, answer });
    return answer;
  }

  #madeList(call: Call, of: Kept): Answer | Promise<Answer> {
    const page = readPage(
      call.query,
      call.range,
      of.fields,
      of.kind === 'collection' ? of.filters : [],
      readsSecrets(call),
    );
    const table = this.#engine.table(of);
    if (call.asLines === true || page.isChosen)
      // A copy: the table changes with the next commit.
      return this.#choose(call, of, page, [...table.all()], (record) => this.#shown(of, record));
    const matching = page.filters.reduce(
      (records, { name, value }) => records.filter((record) => String(fieldValue(record, name)) === value),
      table.all(),
    );
    const { items, range } = slice(sorted(matching, page.sort, fieldValue), page);
    const etag = recordTag(this.#listVersion(items, { offset: page.offset, of: matching.length }));
    const headers = {
      'content-range': range,
      // What the machine shows in these records can change without them.
      ...(of.present === undefined ? { etag } : {}),
    };
    const texts = items.map((record) => this.#text(of, record));
    if (readsSecrets(call)) return jsonText(200, `[${texts.join(',')}]`, headers);
    const open = items.map((record, index) => this.#openText(record, texts[index] ?? ''));
    return { ...jsonText(200, `[${open.join(',')}]`, headers), isOpen: true };
  }

  /** Answers a list by the words that lists of both interfaces have. */
  #choose<T>(
    call: Call,
    of: Resource,
    page: Page,
    items: Iterable<T>,
    present: (item: T) => Readonly<Record<string, unknown>>,
  ): Promise<Answer> {
    const open = !readsSecrets(call);
    const list = readableList(of, open);
    const selection = readChoice(list, call.query, page, call.asLines === true);
    return listed({
      ...{ items, present, list, selection, offset: page.offset, address: call.address ?? '' },
      asLines: call.asLines === true,
      ...(open && { opened: this.#withoutSecrets }),
    });
  }

  #listVersion(records: readonly object[], { offset, of }: { readonly offset: number; readonly of: number }): string {
    return digestOf(`${offset}/${of} ${records.map((record) => this.#engine.digestOf(record)).join(' ')}`);
  }

  /** The text without secrets and raw lines. Filtering it again for each request would double the cost of a read. */
  #openText(record: object, text: string): string {
    const known = this.#openTexts.get(record);
    if (known?.of === text) return known.text;
    const open = this.#withoutSecrets(text);
    this.#openTexts.set(record, { of: text, text: open });
    return open;
  }

  #answer(
    call: Call | undefined,
    status: number,
    of: Kept,
    record: Parameters<NonNullable<Kept['present']>>[0],
    headers: Readonly<Record<string, string>> = {},
  ): Answer {
    const text = this.#text(of, record);
    const etag = recordTag(this.#engine.digestOf(record), of.present && digestOf(text));
    if (call === undefined || readsSecrets(call)) return jsonText(status, text, { ...headers, etag });
    return { ...jsonText(status, this.#openText(record, text), { ...headers, etag }), isOpen: true };
  }

  /** The answer to a read. It is made once for each record that shows nothing of the machine. */
  #read200(call: Call, of: Kept, record: Parameters<NonNullable<Kept['present']>>[0]): Answer {
    if (of.present !== undefined || !readsSecrets(call)) return this.#answer(call, 200, of, record);
    const known = this.#answers.get(record);
    if (known !== undefined) return known;
    const answer = Object.freeze(this.#answer(call, 200, of, record));
    this.#answers.set(record, answer);
    forgetOldest(this.#answers, mostKeptAnswers);
    return answer;
  }

  #find(call: Call, of: Kept) {
    if (of.kind === 'singleton') return this.#recordIn(call, of, 1) ?? gone(of, '1');
    const key = keyOf(call);
    if (/^\d{1,15}$/.test(key)) return this.#recordIn(call, of, Number(key)) ?? gone(of, key);
    return (of.alias === undefined ? undefined : viewOf(call, this.#engine).find(of, of.alias, key)) ?? gone(of, key);
  }

  #recordIn(call: Call, of: Kept, id: number) {
    const view = viewOf(call, this.#engine);
    return of.kind === 'singleton' ? view.only(of) : view.get(of, id);
  }

  /** The record as JSON text: the stored text, or one built now when the record shows state of the machine. */
  #text(of: Kept, record: Parameters<NonNullable<Kept['present']>>[0]): string {
    return of.present === undefined ? this.#engine.table(of).text(record) : sortedJson(this.#shown(of, record));
  }

  #shown(of: Kept, record: Parameters<NonNullable<Kept['present']>>[0]): Readonly<Record<string, unknown>> {
    return {
      ...answered(of.fields, record),
      ...of.present?.(record, this.#engine.glance(of.shows), this.#engine.runs),
    };
  }

  // Records of the host ----------------------------------------------------------------------------------------------

  #onHosted(call: Call, of: Hosted, verb: string): Answer | Promise<Answer> {
    switch (verb) {
      case 'list':
        return this.#listHosted(call, of);
      case 'read':
        return this.#answerHosted(200, of, of.present(this.#item(call, of), this.#scope(call, of)));
      case 'create':
        return this.#createHosted(call, of);
      case 'update':
        return this.#inTurn(call, of, () => this.#updateHosted(call, of));
      case 'remove':
        return this.#inTurn(call, of, () => this.#removeHosted(call, of));
    }
    throw new Error(`${of.path} has no verb ${verb}`);
  }

  #listHosted(call: Call, of: Hosted): Answer | Promise<Answer> {
    const page: Page = readPage(call.query, call.range, of.fields, of.filters, readsSecrets(call));
    const scope = this.#scope(call, of);
    const all = of.list(scope);
    if (call.asLines === true || page.isChosen)
      return this.#choose(call, of, page, all, (item) => of.present(item, scope));
    // Only the records of the page are serialized, unless sorting or filtering needs all of them.
    if (page.sort.length === 0 && page.filters.length === 0) {
      const { items, range } = slice(all, page);
      return jsonList(items, (item) => of.present(item, scope), { 'content-range': range });
    }
    const records = Array.from(all, (item) => of.present(item, scope));
    const matching = page.filters.reduce(
      (list, { name, value }) => list.filter((record) => String(fieldValue(record, name)) === value),
      records,
    );
    const { items, range } = slice(sorted(matching, page.sort, fieldValue), page);
    return json(200, items, { 'content-range': range });
  }

  async #createHosted(call: Call, of: Hosted): Promise<Answer> {
    const key = await this.#createdKey(call, of);
    const scope = this.#scope(call, of);
    const item = of.find(scope, key);
    if (item === undefined)
      throw failed(`The change succeeded, but the host does not list the ${of.title} ${quote(key)}.`);
    const answer = of.present(item, scope);
    const id = fieldValue(answer, of.key.name);
    return this.#answerHosted(
      of.quirks.created ?? 201,
      of,
      answer,
      typeof id === 'number' ? { location: `${this.#root}/${of.path}/${id}/` } : {},
    );
  }

  #createdKey(call: Call, of: Hosted): Promise<string> {
    if (of.create === undefined) throw new Error(`${of.path} cannot be created`);
    const { sent, issues } = readOf(call, of.fields, 'create');
    throwIssues(issues, of.fields, sent);
    return of.create(sent, this.#scope(call, of), operationsOf(call, this.#engine));
  }

  async #updateHosted(call: Call, of: Hosted): Promise<Answer> {
    if (of.update === undefined) throw new Error(`${of.path} cannot be changed`);
    const before = this.#item(call, of);
    const { sent, issues } = readOf(call, of.fields, 'update');
    throwIssues(issues);
    const item = await of.update(before, sent, this.#scope(call, of), operationsOf(call, this.#engine));
    return this.#answerHosted(of.quirks.updated ?? 200, of, of.present(item, this.#scope(call, of)));
  }

  async #removeHosted(call: Call, of: Hosted): Promise<Answer> {
    if (of.remove === undefined) throw new Error(`${of.path} cannot be removed`);
    const item =
      of.findToRemove === undefined
        ? this.#item(call, of)
        : (of.findToRemove(this.#scope(call, of), keyOf(call)) ?? gone(of, keyOf(call)));
    const { sent, issues } = of.removal ? readOf(call, of.removal, 'update', { needed: false }) : noBody;
    throwIssues(issues);
    const operations = operationsOf(call, this.#engine);
    if (of.putAway !== undefined && this.#goesToBin(call, true, of))
      await of.putAway(item, sent, this.#scope(call, of), operations);
    else {
      this.#goesToBin(call, false, of);
      await of.remove(item, sent, this.#scope(call, of), operations);
    }
    return nothing(204);
  }

  /** Runs a change of a record after the changes of the same record, and only if `If-Match` names its present state. */
  #inTurn(call: Call, of: Hosted, change: () => Promise<Answer>): Promise<Answer> {
    const { params } = call.match;
    return this.#turns.take(`${of.path} ${sortedJson(params)}`, async () => {
      if (call.ifMatch === undefined) return await change();
      const present = of.present(this.#item(call, of), this.#scope(call, of));
      try {
        assertMatch(call.ifMatch, () => settingsVersion(of, present));
      } catch (error) {
        if (error instanceof ChangedMeanwhile) return this.#answerHosted(412, of, present);
        throw error;
      }
      return await change();
    });
  }

  #answerHosted(
    status: number,
    of: Hosted,
    shown: Readonly<Record<string, unknown>>,
    headers: Readonly<Record<string, string>> = {},
  ): Answer {
    const text = sortedJson(shown);
    return jsonText(status, text, { ...headers, etag: recordTag(settingsVersion(of, shown), digestOf(text)) });
  }

  #item(call: Call, of: Hosted): unknown {
    const key = keyOf(call);
    return of.find(this.#scope(call, of), key) ?? gone(of, key);
  }

  #scope(call: Call, { shows }: { readonly shows: Hosted['shows'] }): Scope {
    const engine = this.#engine;
    return {
      ...(call.operations?.world ?? engine.glance(shows)),
      params: call.match.params,
      profile: this.#profile,
      // A getter, because only alerts read it and computing it queries the free space of the file system.
      get problems() {
        return engine.problems;
      },
      version: engine.version,
    };
  }

  // Actions ----------------------------------------------------------------------------------------------------------

  async #act(call: Call, action: Action): Promise<Answer> {
    const { resource } = call.match.route;
    const target =
      action.on === 'resource'
        ? undefined
        : resource.kind === 'hosted'
          ? this.#item(call, resource)
          : this.#find(call, resource);
    const needed = Object.values(action.fields ?? {}).some((field) => field.required);
    const { sent, issues } = action.fields ? readOf(call, action.fields, 'create', { needed }) : noBody;
    throwIssues(issues, action.fields ?? {}, sent);
    const items =
      action.items === undefined
        ? []
        : action.bare
          ? readBare(action.items, call.body({ needed: false }))
          : readItems(action.items, call.body({ needed: true }));
    const result = await action.perform({
      target,
      sent,
      items,
      scope: this.#scope(call, resource),
      operations: operationsOf(call, this.#engine),
    });
    if (result instanceof ActionAnswer) return json(result.status, result.value);
    if (action.answers === 'nothing') return nothing(action.status);
    return action.answers === 'text' ? sentence(action.status, String(result)) : json(action.status, result);
  }
}

function contentOf({ body, type }: Answer): unknown {
  if (body === undefined) return null;
  const value: unknown = type === jsonType ? JSON.parse(body) : body;
  return value;
}

/** Identifies what clients can set in a record of the host. */
function settingsVersion({ fields, key }: Hosted, shown: Readonly<Record<string, unknown>>): string {
  const settings = Object.entries(shown).filter(([name]) => {
    const field = fields[name];
    return name === key.name || (field !== undefined && maySend(field));
  });
  return digestOf(sortedJson(Object.fromEntries(settings)));
}

const noBody = readSent({}, {}, 'create');

/** Reads the body of a request by its fields, and notes the keys that none of them reads. */
function readOf<F extends Fields>(
  call: Call,
  fields: F,
  mode: 'create' | 'update',
  options: { readonly needed: boolean } = { needed: true },
): SentReading<F> {
  const reading = readSent(fields, call.body(options), mode);
  for (const key of reading.ignored) call.ignored.add(key);
  return reading;
}

/** Adds an issue for each required field that was not sent. For records of the configuration the draft does this. */
function throwIssues(
  issues: Readonly<Record<string, readonly string[]>>,
  fields: Fields = {},
  sent: Readonly<Record<string, unknown>> = {},
): void {
  const absent = Object.entries(fields).filter(
    ([name, field]) => field.required && sent[name] === undefined && issues[name] === undefined,
  );
  const all = { ...issues, ...Object.fromEntries(absent.map(([name]) => [name, [isRequired]])) };
  if (Object.keys(all).length > 0) throw invalid(all);
}

function readItems(field: Field, body: unknown): readonly unknown[] {
  if (!Array.isArray(body)) throw invalid({ __all__: [`Expected a JSON list, got ${quote(body)}.`] });
  return body.map((entry, index) => {
    const reading = field.read(entry);
    if (!reading.ok) throw invalid({ __all__: [`Entry ${index + 1}: ${reading.wrong}`] });
    return reading.value;
  });
}

/** Reads at most one value: an empty body is parsed as `{}`. */
function readBare(field: Field, body: unknown): readonly unknown[] {
  if (isObject(body) && Object.keys(body).length === 0) return [];
  const reading = field.read(body);
  if (!reading.ok) throw invalid({ __all__: [reading.wrong] });
  return [reading.value];
}

/** The answer to a repeated request whose first answer cannot be made again. */
export const carriedOut = json(200, {
  message: 'This request was carried out before the daemon was restarted. Its answer is lost.',
});

function keyOf({ match }: Call): string {
  return match.params['key'] ?? '';
}

/** What people call a record: the value of the field that distinguishes it, or else its id. */
function nameOf({ alias, fields, unique }: Collection, record: RecordOf<Fields>): string {
  const name = alias ?? unique.find((one) => one.fields.length === 1)?.fields[0] ?? '';
  const value: unknown = fields[name]?.secret === true ? undefined : Reflect.get(record, name);
  return typeof value === 'string' && value !== '' ? value : String(record.id);
}

function gone(of: { readonly title: string }, key: string): never {
  throw missing(`There is no ${of.title} ${quote(key)}.`);
}
