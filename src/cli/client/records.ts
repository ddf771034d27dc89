/** The commands that follow from the catalogue: `list`, `show`, `create`, `set`, `delete` and the actions of resources. */
import { setTimeout as pause } from 'node:timers/promises';
import type { CommandWords, FieldWords, ResourceWords } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { parseSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';
import { type Appliance, nameOf, ownInterface, type WireRecord } from './appliance.ts';
import { fieldNamed, fieldsOf, type Given } from './command-line.ts';
import type { Answer } from './connection.ts';
import { CommandError, type Exit, exits, usage } from './failure.ts';
import { followJob } from './jobs.ts';
import { type Column, cell, columnOf, details, formatOf, type Shown, writeRecords, yaml } from './output.ts';
import type { Terminal } from './terminal.ts';
import { isFlagText, optionOf, sentValue, textOf } from './values.ts';

export interface Calling {
  readonly appliance: Appliance;
  readonly terminal: Terminal;
  readonly given: Given;
}

export async function runCommand(calling: Calling, resource: ResourceWords, command: CommandWords): Promise<Exit> {
  if (command.verb === 'list') return listRecords(calling, resource, command);
  if (command.method === 'GET') return showAnswer(calling, resource, command);
  return change(calling, resource, command);
}

// Lists --------------------------------------------------------------------------------------------------------------

async function listRecords(calling: Calling, resource: ResourceWords, command: CommandWords): Promise<Exit> {
  const { appliance, terminal, given } = calling;
  if (given.words.length > 2)
    throw usage(`Expected no name after list ${resource.name}, got ${quote(given.words[2])}.`);
  const read = async () => {
    const own = queryOf(resource, command, given);
    const records = own === '' ? await appliance.list(resource) : listIn(await appliance.get(`${command.path}?${own}`));
    const shown: { readonly name: string; readonly record: Shown }[] = [];
    for (const record of records)
      shown.push({ name: nameOf(resource, record), record: await appliance.shown(resource, record) });
    return selected(shown, resource, given);
  };
  const { columns, all } = columnsOf(resource, given);
  const show = (found: Awaited<ReturnType<typeof read>>) => {
    const names = new Map(found.map(({ name, record }) => [record, name]));
    const records = found.map(({ record }) => record);
    writeRecords(terminal, formatOf(given.options.get('output')), records, {
      columns:
        given.options.has('columns') || terminal.columns !== undefined ? columns : usedColumns(columns, given, all),
      all,
      nameOf: (record) => names.get(record) ?? '',
    });
  };
  if (given.options.get('watch') !== true) {
    const found = await read();
    if (found.length === 0 && formatOf(given.options.get('output')) === 'table')
      terminal.err(`No records in ${resource.name}.\n`);
    else show(found);
    return exits.done;
  }
  let before = '';
  let after = await newestEvent(appliance);
  for (;;) {
    appliance.forget();
    const found = await read();
    const state = JSON.stringify(found);
    if (state !== before) {
      if (terminal.columns !== undefined) terminal.out('\u001b[H\u001b[2J');
      show(found);
    }
    before = state;
    const page = await appliance.get(`${ownInterface}/events/poll?after=${after}&wait=30`);
    after = isObject(page) ? Number(page['last']) : after;
    // What a list shows of the machine may be read a moment after the event.
    await pause(200);
  }
}

/** Machine-readable output has every field, unless columns were chosen. */
function usedColumns(columns: readonly Column[], given: Given, all: readonly Column[]): readonly Column[] {
  return formatOf(given.options.get('output')) === 'table' ? columns : all;
}

async function newestEvent(appliance: Appliance): Promise<number> {
  const page = await appliance.get(`${ownInterface}/events/poll`);
  return isObject(page) ? Number(page['last']) : 0;
}

const listIn = (value: unknown): readonly WireRecord[] => (Array.isArray(value) ? value.filter(isObject) : []);

function queryOf(resource: ResourceWords, command: CommandWords, given: Given): string {
  const query = new URLSearchParams();
  for (const wire of command.query ?? []) {
    const texts = given.fields.get(wire);
    const limit = wire === 'limit' ? given.options.get('limit') : undefined;
    if (texts !== undefined) query.set(wire, texts.join(','));
    else if (typeof limit === 'string') query.set(wire, limit);
  }
  if (command.path.includes('{')) throw new TypeError(`${resource.name}: a list of a record`);
  return query.toString();
}

function columnsOf(resource: ResourceWords, given: Given): { columns: readonly Column[]; all: readonly Column[] } {
  const shown = resource.fields.filter((field) => field.shown);
  const label = shown.find(({ wire }) => wire === resource.nameField) ?? shown.find(({ name }) => name === 'name');
  const ordered = label === undefined ? shown : [label, ...shown.filter((field) => field !== label)];
  const number: readonly Column[] =
    resource.byName || shown.some(({ name }) => name === 'id') || isOwn(resource)
      ? []
      : [{ name: 'id', isSize: false }];
  const all = [...ordered.map(columnOf), ...number];
  const chosen = given.options.get('columns');
  if (typeof chosen === 'string')
    return { columns: chosen.split(',').map((name) => columnOr(resource, name.trim(), all)), all };
  const declared = resource.columns?.flatMap((wire) => shown.find((field) => field.wire === wire) ?? []);
  if (declared !== undefined) return { columns: declared.map(columnOf), all };
  const usual = ordered.filter(({ advanced, secret, kind }) => advanced !== true && secret !== true && kind !== 'json');
  return { columns: [...(label === undefined ? number : []), ...usual.map(columnOf)], all };
}

const isOwn = ({ path }: ResourceWords) => path.startsWith(ownInterface);

function columnOr(resource: ResourceWords, name: string, all: readonly Column[]): Column {
  const field = fieldNamed(resource.fields, name);
  const found = all.find((one) => one.name === (field?.name ?? name));
  if (found === undefined)
    throw usage(`${resource.name} has no field ${quote(name)}; it has ${all.map((one) => one.name).join(', ')}.`);
  return found;
}

type Listed = { readonly name: string; readonly record: Shown };

function selected(records: readonly Listed[], resource: ResourceWords, given: Given): readonly Listed[] {
  const { all } = columnsOf(resource, given);
  const where = given.options.get('where');
  const conditions = typeof where === 'string' ? where.split('\n').map((text) => conditionIn(text, resource, all)) : [];
  const sort = given.options.get('sort');
  let found = records.filter(({ record }) => conditions.every((holds) => holds(record)));
  if (typeof sort === 'string') {
    const { name } = columnOr(resource, sort.replace(/^-/, ''), all);
    found = found.toSorted((a, b) => compare(a.record[name], b.record[name]) * (sort.startsWith('-') ? -1 : 1));
  }
  const limit = given.options.get('limit');
  if (typeof limit !== 'string') return found;
  if (!/^\d+$/.test(limit)) throw usage(`--limit: Expected a number, got ${quote(limit)}.`);
  return found.slice(0, Number(limit));
}

function conditionIn(text: string, resource: ResourceWords, all: readonly Column[]): (record: Shown) => boolean {
  const [, name = '', operator = '', value = ''] = /^([\w-]+)\s*(!=|>=|<=|=|>|<|~)\s*(.*)$/s.exec(text.trim()) ?? [];
  if (operator === '')
    throw usage(`--where: Expected a condition such as guest=yes, used>1T or name~media, got ${quote(text)}.`);
  const column = columnOr(resource, name, all);
  return (record) => {
    const given = record[column.name];
    if (operator === '~') return cell(given).toLowerCase().includes(value.toLowerCase());
    if (operator === '=' || operator === '!=') return isSame(given, value) === (operator === '=');
    const order = compare(given, typeof given === 'number' ? (parseSize(value) ?? Number(value)) : value);
    return operator.includes('=') && order === 0 ? true : operator.startsWith('>') ? order > 0 : order < 0;
  };
}

function isSame(given: unknown, value: string): boolean {
  if (typeof given === 'boolean') return isFlagText(value) && cell(given) === cell(/^(?:yes|true|on|1)$/i.test(value));
  if (typeof given === 'number') return given === (parseSize(value) ?? Number(value));
  if (Array.isArray(given)) return given.some((one) => isSame(one, value)) || cell(given) === value;
  return cell(given) === value;
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return cell(a).localeCompare(cell(b), 'en', { numeric: true });
}

// One record ---------------------------------------------------------------------------------------------------------

async function showAnswer(calling: Calling, resource: ResourceWords, command: CommandWords): Promise<Exit> {
  const { appliance, terminal, given } = calling;
  const name = nameIn(calling, resource, command);
  const query = queryIn(calling, resource, command);
  const path = await appliance.pathFor(resource, command, name);
  const value = await appliance.get(`${path}${query}`, resource);
  if (command.verb === 'show' && isObject(value)) await showRecord(calling, resource, value);
  else if (Array.isArray(value) && value.every(isObject) && value.length > 0) await showList(calling, resource, value);
  else showValue(terminal, given, value);
  // A subsystem that differs from the configuration is a difference, as for a plan.
  const differs =
    resource.name === 'drift' && listIn(value).some(({ drift }) => Array.isArray(drift) && drift.length > 0);
  return differs ? exits.differences : exits.done;
}

async function showList(calling: Calling, resource: ResourceWords, records: readonly WireRecord[]): Promise<void> {
  const { columns, all } = columnsOf(resource, calling.given);
  const shown = await Promise.all(records.map((record) => calling.appliance.shown(resource, record)));
  const format = formatOf(calling.given.options.get('output'));
  writeRecords(calling.terminal, format, shown, {
    columns: format === 'table' ? columns : all,
    all,
    nameOf: (record) => cell(Object.values(record)[0]),
  });
}

async function showRecord(calling: Calling, resource: ResourceWords, value: WireRecord): Promise<void> {
  const { appliance, terminal, given } = calling;
  const shown = await appliance.shown(resource, value);
  const format = formatOf(given.options.get('output'));
  const { columns, all } = columnsOf(resource, given);
  if (format === 'name') terminal.out(`${nameOf(resource, value)}\n`);
  else if (format === 'csv') writeRecords(terminal, format, [shown], { columns: all, all, nameOf: () => '' });
  else if (format === 'json' || format === 'yaml') showValue(terminal, given, shown);
  else {
    const lines = given.options.has('columns') ? columns : all.filter((column) => Object.hasOwn(shown, column.name));
    const known = lines.length > 0 ? lines : Object.keys(shown).map((name) => ({ name, isSize: false }));
    terminal.out(details(known, shown));
  }
}

function showValue(terminal: Terminal, given: Given, value: unknown): void {
  const format = formatOf(given.options.get('output'));
  if (format === 'json') terminal.out(`${JSON.stringify(value, null, 2)}\n`);
  else if (typeof value === 'object' && value !== null) terminal.out(yaml(value));
  else if (value !== '') terminal.out(`${String(value).trimEnd()}\n`);
}

// Changes ------------------------------------------------------------------------------------------------------------

async function change(calling: Calling, resource: ResourceWords, command: CommandWords): Promise<Exit> {
  const { appliance, terminal, given } = calling;
  const name = nameIn(calling, resource, command);
  const body = await bodyOf(calling, resource, command);
  const path = `${await appliance.pathFor(resource, command, volumePathOf(command, calling) ?? name)}${queryIn(calling, resource, command)}`;
  const hasBody = command.takesList === true || (isObject(body) && Object.keys(body).length > 0);
  if (given.options.get('plan') === true) return plan(calling, command.method, path, hasBody ? body : undefined);
  if (command.verb === 'set' && !hasBody)
    throw usage(`Expected at least one field to set. They are: holdfast explain ${resource.name}`);
  if (command.isFinal === true) await confirmFinal(calling, command, name ?? subjectOf(command, body) ?? resource.name);
  const within = given.options.get('confirm-within');
  const separator = path.includes('?') ? '&' : '?';
  const answer = await appliance.send(
    command.method,
    typeof within === 'string' ? `${path}${separator}confirm_within=${encodeURIComponent(within)}` : path,
    // An object, because the server expects one of each creation and update.
    { ...(hasBody || command.method !== 'DELETE' ? { body: body ?? {} } : {}), headers: headersOf(given) },
    command.fields === 'resource' ? resource : { ...resource, fields: command.fields },
  );
  appliance.forget();
  noteHeaders(terminal, answer);
  await showDone(calling, resource, command, name, answer);
  return followStarted(calling, resource, command, path, answer);
}

export function headersOf(given: Given): Readonly<Record<string, string>> {
  const why = given.options.get('why');
  // Headers are bytes; the server reads them as UTF-8.
  return typeof why === 'string' ? { 'x-holdfast-comment': Buffer.from(why).toString('latin1') } : {};
}

function noteHeaders(terminal: Terminal, { headers }: Answer): void {
  const until = headers['x-holdfast-confirm-until'];
  if (typeof until === 'string')
    terminal.err(`The change is reverted at ${until} unless it is confirmed: holdfast confirm\n`);
  const ignored = headers['x-holdfast-ignored'];
  if (typeof ignored === 'string') terminal.err(`The appliance does not know and ignored: ${ignored}.\n`);
}

/** The first argument after the resource, for a command about one record. */
export function nameIn(
  { given }: Calling,
  resource: ResourceWords,
  { verb, onRecord }: CommandWords,
  called = verb,
): string | undefined {
  if (!onRecord || resource.kind === 'settings') return undefined;
  const name = given.words[2];
  if (name === undefined || name === '')
    throw usage(
      `Expected a name: holdfast ${called} ${resource.name} NAME. Their names: holdfast list ${resource.name} -o name`,
    );
  return name;
}

/** Where a new dataset or zvol is made: its name begins with the volume. */
function volumePathOf(command: CommandWords, { given }: Calling): string | undefined {
  return !command.onRecord && command.path.includes('{vol}') ? given.words[2] : undefined;
}

async function bodyOf(calling: Calling, resource: ResourceWords, command: CommandWords): Promise<unknown> {
  const { appliance, terminal, given } = calling;
  const fields = fieldsOf(resource, command);
  const rest = given.words.slice(command.onRecord ? 3 : 2);
  if (command.takesList === true) return rest;
  const texts = new Map<string, readonly string[]>(given.fields);
  for (const [index, argument] of rest.entries()) {
    const pattern = command.arguments[index];
    if (pattern === undefined)
      throw usage(
        `Expected no ${quote(argument)} after ${given.words.slice(0, 2 + index).join(' ')}. Fields are options: --NAME VALUE.`,
      );
    for (const [wire, text] of partsOf(pattern, argument, command)) texts.set(wire, [text]);
  }
  const entries: (readonly [string, unknown])[] = [];
  for (const [wire, given] of texts) {
    if (command.query?.includes(wire) === true) continue;
    const field = fields.find((one) => one.wire === wire);
    if (field === undefined) throw usage(`${resource.name} has no field ${quote(wire)} that can be sent.`);
    const values = await Promise.all(given.map((text) => secretOr(field, text, terminal)));
    entries.push([wire, await appliance.numbered(field, sentValue(field, values))]);
  }
  return Object.fromEntries(entries);
}

/** A secret that is given as `-` is asked for on a terminal, and read from the standard input otherwise. */
async function secretOr(field: FieldWords, text: string, terminal: Terminal): Promise<string> {
  if (text !== '-' || field.secret !== true) return textOf(text, terminal);
  return terminal.asks ? terminal.question(`${field.title}: `) : textOf('@-', terminal);
}

/** The fields that an argument gives: `tank/media@monday` for `{dataset}@{name}`, and the name below the volume. */
function partsOf(pattern: string, argument: string, command: CommandWords): readonly (readonly [string, string])[] {
  if (!pattern.includes('{'))
    return [[pattern, command.path.includes('{vol}') ? argument.split('/').slice(1).join('/') : argument]];
  const names = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const shape = new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '(.+)')}$`, 's');
  const match = shape.exec(argument);
  if (match === null) throw usage(`Expected ${pattern.replaceAll(/[{}]/g, '').toUpperCase()}, got ${quote(argument)}.`);
  return names.map((name, index) => [name, match[index + 1] ?? '']);
}

function queryIn(calling: Calling, resource: ResourceWords, command: CommandWords): string {
  if (command.query === undefined) return '';
  const named = new Map(calling.given.fields);
  const rest = calling.given.words.slice(command.onRecord ? 3 : 2);
  for (const [index, argument] of rest.entries()) {
    const wire = command.arguments[index];
    if (wire !== undefined) named.set(wire, [argument]);
  }
  const query = queryOf({ ...resource }, { ...command, path: '' }, { ...calling.given, fields: named });
  return query === '' ? '' : `?${query}`;
}

export async function plan(
  { appliance, terminal, given }: Calling,
  method: string,
  path: string,
  body: unknown,
): Promise<Exit> {
  const answer = await appliance.send('POST', `${ownInterface}/plan`, {
    body: { method, path: `/${path}`, ...(body === undefined ? {} : { body }) },
  });
  const steps = Array.isArray(answer.value) ? answer.value : [];
  const format = formatOf(given.options.get('output'));
  if (format === 'json' || format === 'yaml') showValue(terminal, given, steps);
  else if (steps.length === 0) terminal.out('Nothing on the machine would change.\n');
  else terminal.out(`The command would:\n${steps.map((step) => `  ${String(step)}\n`).join('')}`);
  return steps.length === 0 ? exits.done : exits.differences;
}

/** What a command without a record is about: its first argument, such as the machine of `fence node`. */
function subjectOf({ arguments: [first], onRecord }: CommandWords, body: unknown): string | undefined {
  const value = first !== undefined && !onRecord && isObject(body) ? body[first] : undefined;
  return typeof value === 'string' ? value : undefined;
}

async function confirmFinal({ terminal, given }: Calling, { verb, title }: CommandWords, name: string): Promise<void> {
  const yes = given.options.get('yes');
  if (yes === name) return;
  if (typeof yes === 'string') throw usage(`--yes: Expected ${quote(name)}, got ${quote(yes)}.`);
  const what = `${verb} ${given.words.slice(1).join(' ')}`;
  if (!terminal.asks)
    throw new CommandError(
      exits.refused,
      `${what} cannot be taken back. To do it, add --yes=${name}; to see what it does, add --plan.`,
    );
  const answer = await terminal.question(`${title} This cannot be taken back. Type ${name} to go on: `);
  if (answer !== name) throw new CommandError(exits.refused, 'Nothing was changed.');
}

const pastTense: Readonly<Record<string, string>> = {
  create: 'Created',
  set: 'Changed',
  delete: 'Deleted',
  clear: 'Cleared',
};

async function showDone(
  calling: Calling,
  resource: ResourceWords,
  command: CommandWords,
  name: string | undefined,
  { value }: Answer,
): Promise<void> {
  const { terminal, given } = calling;
  const past = pastTense[command.verb];
  const isRecord = isObject(value) && (command.fields === 'resource' || !isOwn(resource));
  // The answer has what exists nowhere else, such as a new key.
  if (!isRecord && isObject(value) && (command.verb === 'create' || past === undefined))
    return showValue(terminal, given, value);
  if (given.options.has('output')) {
    if (isRecord) await showRecord(calling, resource, value);
    else showValue(terminal, given, value);
  } else if (past !== undefined) {
    const shown = name ?? (isRecord && resource.kind === 'records' ? nameOf(resource, value) : '');
    terminal.out(`${past} ${resource.name}${shown === '' ? '' : ` ${shown}`}.\n`);
  } else showValue(terminal, given, value === '' ? 'Done.' : value);
}

/** Follows the job that an accepted action started, if it belongs to the record. */
async function followStarted(
  { appliance, terminal, given }: Calling,
  resource: ResourceWords,
  { method, onRecord }: CommandWords,
  path: string,
  { status }: Answer,
): Promise<Exit> {
  if (status !== 202 || !onRecord || method === 'DELETE') return exits.done;
  const key = decodeURIComponent(
    path.slice(path.indexOf(resource.path) + resource.path.length + 1).split('/')[0] ?? '',
  );
  const subject = encodeURIComponent(`${resource.path}/${key}`);
  const [job] = listIn(await appliance.get(`${ownInterface}/jobs?subject=${subject}&limit=1`));
  if (job === undefined) return exits.done;
  if (given.options.get('no-wait') === true) {
    terminal.out(`Started the job ${String(job['id'])}. To follow it: holdfast jobs ${String(job['id'])}\n`);
    return exits.done;
  }
  return followJob(appliance, terminal, Number(job['id']));
}

export function optionsText(fields: readonly FieldWords[]): string {
  return fields.map(optionOf).join(', ');
}
