import { setTimeout as pause } from 'node:timers/promises';
import type { CommandWords, FieldWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { sentencesIn } from '../../lib/refusal.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import type { Answer, Connection, Sending } from './connection.ts';
import { CommandError, type Exit, exits } from './failure.ts';
import type { Terminal } from './terminal.ts';
import { optionOf } from './values.ts';

export type WireRecord = Readonly<Record<string, unknown>>;

export const ownInterface = 'api/holdfast/v1';

/** An appliance, with names instead of numbers. */
export class Appliance {
  readonly vocabulary: Vocabulary;
  readonly connection: Connection;
  readonly #terminal: Terminal;
  /** Lists that were read, by the name of the resource. */
  readonly #lists = new Map<string, Promise<readonly WireRecord[]>>();

  constructor(vocabulary: Vocabulary, connection: Connection, terminal: Terminal) {
    this.vocabulary = vocabulary;
    this.connection = connection;
    this.#terminal = terminal;
  }

  /** Sends a request and returns a success; anything else is an error for the user. */
  async send(method: string, path: string, sending: Sending = {}, about?: ResourceWords): Promise<Answer> {
    const waiting = method === 'GET' ? undefined : this.#showJobs();
    try {
      const answer = await this.connection.send(method, path, sending);
      if (answer.status < 300) return answer;
      throw errorOf(answer, this.connection, about, isObject(sending.body) ? Object.keys(sending.body) : []);
    } finally {
      waiting?.();
    }
  }

  async get(path: string, about?: ResourceWords): Promise<unknown> {
    return (await this.send('GET', path, {}, about)).value;
  }

  /** Shows the jobs that run while a request takes longer than a moment. Only on a terminal. */
  #showJobs(): (() => void) | undefined {
    if (this.#terminal.columns === undefined || !this.#terminal.asks) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    let shown = false;
    const show = async () => {
      await pause(1000, undefined, { signal });
      for (;;) {
        const { value } = await this.connection.send('GET', `${ownInterface}/jobs?limit=5`);
        const running = Array.isArray(value)
          ? value.filter(isObject).find(({ state }) => state === 'running')
          : undefined;
        if (running !== undefined && !signal.aborted) {
          const line = `${String(running['title'])}: ${String(running['progress'] || 'running')}`;
          this.#terminal.err(`\r\u001b[K${line.slice(0, (this.#terminal.columns ?? 80) - 1)}`);
          shown = true;
        }
        await pause(500, undefined, { signal });
      }
    };
    show().catch(() => {});
    return () => {
      ending.abort();
      if (shown) this.#terminal.err('\r\u001b[K');
    };
  }

  /** Every record. Those below volumes are read volume by volume. */
  list(resource: ResourceWords): Promise<readonly WireRecord[]> {
    const known = this.#lists.get(resource.name);
    if (known !== undefined) return known;
    const reading = this.#read(resource);
    this.#lists.set(resource.name, reading);
    return reading;
  }

  forget(): void {
    this.#lists.clear();
  }

  async #read(resource: ResourceWords): Promise<readonly WireRecord[]> {
    const path = resource.commands.find(({ verb }) => verb === 'list')?.path;
    if (path === undefined) throw new CommandError(exits.usage, `${resource.name} has no list.`);
    if (path.includes('{vol}')) {
      const pools = this.#resource('pool');
      const found: WireRecord[] = [];
      for (const pool of await this.list(pools))
        found.push(
          ...recordsIn(await this.get(`${path.replace('{vol}', encodeURIComponent(nameOf(pools, pool)))}?limit=0`)),
        );
      return found;
    }
    // Our own interface has no limit of 0.
    return recordsIn(await this.get(path.startsWith(ownInterface) ? path : `${path}?limit=0`, resource));
  }

  #resource(name: string): ResourceWords {
    const found = this.vocabulary.resources.find((one) => one.name === name);
    if (found === undefined) throw new TypeError(`no resource ${name}`);
    return found;
  }

  /** The record with a name, or with a number as `id:3`. */
  async find(resource: ResourceWords, given: string): Promise<WireRecord> {
    const id = /^id:(.+)$/.exec(given)?.[1];
    const records = await this.list(resource);
    const wanted = resource.otherNames?.[given] ?? given;
    const named = id === undefined ? records.filter((record) => namesOf(resource, record).includes(wanted)) : [];
    if (named.length === 1 && named[0] !== undefined) return named[0];
    if (named.length > 1)
      throw new CommandError(
        exits.refused,
        `${quote(given)} names ${named.length} records of ${resource.name}. Choose one: ${sentenceList(
          named.map((record) => `id:${String(record['id'])}`),
          'or',
        )}.`,
      );
    const key = resource.keyField ?? 'id';
    const numbered = records.find((record) => String(record[key]) === (id ?? given));
    if (numbered !== undefined) return numbered;
    const names = records.map((record) => nameOf(resource, record));
    const some = names.length > 8 ? [...names.slice(0, 8), 'others'] : names;
    throw new CommandError(
      exits.notFound,
      `There is no ${quote(given)} in ${resource.name}. ${names.length === 0 ? 'It is empty.' : `It has ${sentenceList(some)}.`}`,
    );
  }

  /** The path of a command, for the record that an argument names. */
  async pathFor(resource: ResourceWords, command: CommandWords, given: string | undefined): Promise<string> {
    if (!command.path.includes('{')) return command.path;
    const name = given ?? '';
    if (command.path.includes('{vol}')) {
      const [volume = '', ...rest] = name.split('/');
      return command.path.replace('{vol}', encoded(volume)).replace('{key}', encoded(rest.join('/')));
    }
    if (resource.keyField !== undefined)
      return command.path.replace('{key}', encoded(String((await this.find(resource, name))[resource.keyField])));
    if (resource.byName) return command.path.replace('{key}', encoded(resource.otherNames?.[name] ?? name));
    const hasList = resource.commands.some(({ verb }) => verb === 'list');
    const key =
      hasList && !(/^\d+$/.test(name) && resource.nameField === undefined)
        ? (await this.find(resource, name))['id']
        : name.replace(/^id:/, '');
    return command.path.replace('{key}', encoded(String(key)));
  }

  /** A sent value in which names of records are replaced by their numbers. */
  async numbered(field: FieldWords, value: unknown): Promise<unknown> {
    if (field.byId !== true || field.refers === undefined) return value;
    if (Array.isArray(value)) return Promise.all(value.map((one) => this.numbered(field, one)));
    if (typeof value !== 'string' || value === '') return value;
    return (await this.find(this.#resource(field.refers), value))['id'];
  }

  /** A record with the names of people, and names of records instead of their numbers. */
  async shown(resource: ResourceWords, record: WireRecord): Promise<WireRecord> {
    const fields = resource.fields.filter(({ shown, wire }) => shown && Object.hasOwn(record, wire));
    const entries = await Promise.all(
      fields.map(async (field) => [field.name, await this.#named(field, record[field.wire])]),
    );
    const others =
      fields.length === 0 ? record : Object.hasOwn(record, 'id') && !resource.byName ? { id: record['id'] } : {};
    return { ...others, ...Object.fromEntries(entries) };
  }

  async #named(field: FieldWords, value: unknown): Promise<unknown> {
    if (field.byId !== true || field.refers === undefined || typeof value !== 'number') return value;
    const resource = this.#resource(field.refers);
    // Without the right to read that list, the number has to do.
    const records = await this.list(resource).catch(() => []);
    const found = records.find(({ id }) => id === value);
    return found === undefined ? `id:${value}` : nameOf(resource, found);
  }
}

const encoded = (text: string) => encodeURIComponent(text).replaceAll('%2F', '/');

function recordsIn(value: unknown): readonly WireRecord[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** What a record is called. */
export function nameOf(resource: ResourceWords, record: WireRecord): string {
  return namesOf(resource, record)[0] ?? `id:${String(record['id'] ?? record['number'] ?? '')}`;
}

function namesOf(resource: ResourceWords, record: WireRecord): readonly string[] {
  const { nameField } = resource;
  const candidates = nameField === undefined ? [] : nameField.includes('{') ? ['id', 'fullname'] : [nameField, 'name'];
  const field = candidates.find((one) => record[one] !== undefined);
  const value = field === undefined ? undefined : record[field];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((one) => one !== undefined && one !== null && one !== '').map(String);
}

// Errors -------------------------------------------------------------------------------------------------------------

const exitOf: Readonly<Record<number, Exit>> = {
  401: exits.notAllowed,
  403: exits.notAllowed,
  404: exits.notFound,
  412: exits.conflict,
};

export function errorOf(
  { status, value, headers }: Answer,
  connection: Connection,
  resource: ResourceWords | undefined,
  sent: readonly string[],
): CommandError {
  if (status === 401)
    return new CommandError(
      exits.notAllowed,
      `${connection.title} refused the credential. Make a key with: holdfast create key NAME --role ROLE; and give it with: holdfast login ${connection.title}.`,
      value,
    );
  const issues = Object.entries(sentencesIn(value)).filter(([, text]) => isSentence(text));
  const sentences = issues.map(([name, texts]) => {
    const field = resource?.fields.find(({ wire }) => wire === name);
    const text = [texts]
      .flat()
      .map((one) => inWordsOfPeople(String(one), resource))
      .join(' ');
    return field === undefined || !sent.concat(name).includes(name) ? text : `--${optionOf(field)}: ${text}`;
  });
  const about = issues
    .map(([name]) => resource?.fields.find(({ wire }) => wire === name))
    .find((one) => one !== undefined);
  const hint =
    about === undefined || resource === undefined ? '' : `\nSee: holdfast explain ${resource.name}.${about.name}`;
  const message =
    sentences.length > 0
      ? sentences.join('\n')
      : typeof value === 'string' && value !== ''
        ? value
        : status === 404
          ? 'There is no such record.'
          : `The appliance answered ${status}.`;
  const wait = status === 503 && headers['retry-after'] !== undefined ? '\nTry again in a while.' : '';
  // A refusal by the fields is 409 on some paths; only other conflicts have one sentence.
  const isConflict = status === 409 && isObject(value) && issues.every(([, text]) => typeof text === 'string');
  return new CommandError(
    isConflict ? exits.conflict : (exitOf[status] ?? exits.refused),
    `${message}${hint}${wait}`,
    value,
  );
}

function isSentence(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}

/** A sentence of the server with the names that the command line uses. */
function inWordsOfPeople(text: string, resource: ResourceWords | undefined): string {
  if (resource === undefined) return text;
  const names = new Map(resource.fields.map((field) => [field.wire, field]));
  return text.replaceAll(/\b[A-Za-z\d]+(?:_[A-Za-z\d]+)+\b/g, (word) => {
    const field = names.get(word);
    return field === undefined ? word : `--${optionOf(field)}`;
  });
}
