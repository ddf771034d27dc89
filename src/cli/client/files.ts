/** `export`, `adopt`, `diff` and `apply`: the configuration as a file. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isObject } from '../../lib/json.ts';
import { sentencesIn } from '../../lib/refusal.ts';
import { messageOf, quote } from '../../lib/text.ts';
import { ownInterface, type WireRecord } from './appliance.ts';
import type { Given } from './command-line.ts';
import type { Answer } from './connection.ts';
import { CommandError, type Exit, exits, usage } from './failure.ts';
import type { LocalFile } from './file-secrets.ts';
import { cell, formatOf, yaml } from './output.ts';
import { type Calling, headersOf } from './records.ts';
import type { Terminal } from './terminal.ts';
import { isFlagText } from './values.ts';

/** `-o` is the file that is written; `-o json` and `-o yaml` write to the standard output. */
export async function exportFile({ appliance, terminal, given }: Calling): Promise<Exit> {
  const output = given.options.get('output') ?? 'yaml';
  const asJson = output === 'json';
  const query = new URLSearchParams();
  if (isOn(given, 'full')) query.set('full', 'true');
  const secrets = given.fields.get('secrets')?.at(-1);
  if (secrets !== undefined) query.set('secrets', secrets);
  const search = query.size === 0 ? '' : `?${query}`;
  const { text, value } = await appliance.send('GET', `${ownInterface}/file${search}`, {
    headers: { accept: asJson ? 'application/json' : 'application/yaml' },
  });
  if (asJson) terminal.out(`${JSON.stringify(value, null, 2)}\n`);
  else if (output === 'yaml' || output === '-' || output === true) terminal.out(text);
  else writeFileSync(output, text, { mode: 0o600 });
  return exits.done;
}

/** The proposed file goes where an export would, and what it does not have is counted on the error stream. */
export async function adoptFile({ appliance, terminal, given }: Calling): Promise<Exit> {
  const output = given.options.get('output') ?? 'yaml';
  const value = await appliance.get(`${ownInterface}/adopt`);
  if (!isObject(value)) return exits.done;
  const text = String(value['file']);
  if (output === 'json') terminal.out(`${JSON.stringify(value, null, 2)}\n`);
  else if (output === 'yaml' || output === '-' || output === true) terminal.out(text);
  else writeFileSync(output, text, { mode: 0o600 });
  const lost = Array.isArray(value['not_carried']) ? value['not_carried'].length : 0;
  const name = typeof output === 'string' && !/^(?:json|yaml|-)$/.test(output) ? output : 'FILE';
  terminal.err(
    `${counted(Number(value['records']), 'record')}; ${lost === 0 ? 'everything was carried' : `${counted(lost, 'comment')} on what was not carried as it was`}. ` +
      `To see what applying would do: holdfast apply -f ${name} --plan\n`,
  );
  return exits.done;
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

export async function diffFile(calling: Calling): Promise<Exit> {
  const { terminal, given } = calling;
  const { value } = await sendFiles(calling, 'file/diff');
  const changes = changesIn(value);
  const takes = takesIn(value);
  if (given.options.has('output')) showWhole(terminal, given, value);
  else if (changes.length + takes.length === 0) terminal.out('Nothing differs.\n');
  else {
    terminal.out(`${takes.map((name) => `+ take over ${name}\n`).join('')}${changes.map(changeText).join('')}`);
    terminal.out(`${summaryOf(changes, takes)}\n`);
    if (isObject(value)) terminal.err(`To apply just this: --token ${String(value['token'])}\n`);
  }
  return changes.length + takes.length === 0 ? exits.done : exits.differences;
}

export async function applyFile(calling: Calling): Promise<Exit> {
  const { terminal, given } = calling;
  if (given.options.get('plan') === true) {
    const { value } = await sendFiles(calling, 'file/apply?plan=true');
    const steps = Array.isArray(value) ? value : [];
    if (given.options.has('output')) showWhole(terminal, given, steps);
    else if (steps.length === 0) terminal.out('Nothing on the machine would change.\n');
    else terminal.out(`The command would:\n${steps.map((step) => `  ${String(step)}\n`).join('')}`);
    return steps.length === 0 ? exits.done : exits.differences;
  }
  const within = given.options.get('confirm-within');
  const query = typeof within === 'string' ? `?confirm_within=${encodeURIComponent(within)}` : '';
  const { value } = await sendFiles(calling, `file/apply${query}`);
  const changes = changesIn(value);
  const takes = takesIn(value);
  const failures = isObject(value) && Array.isArray(value['not_installed']) ? value['not_installed'].map(String) : [];
  if (given.options.has('output')) showWhole(terminal, given, value);
  else if (changes.length + takes.length + failures.length === 0) terminal.out('Nothing differs.\n');
  else if (changes.length + takes.length > 0) {
    const revision = isObject(value) && value['revision'] !== null ? ` It is the revision ${value['revision']}.` : '';
    terminal.out(`Applied: ${summaryOf(changes, takes)}.${revision}\n`);
    if (typeof within === 'string')
      terminal.err(`It is reverted in ${within} seconds unless it is confirmed: holdfast confirm\n`);
  }
  if (failures.length === 0) return exits.done;
  terminal.err(`${failures.join('\n')}\nEverything else was applied. To try it again, apply the file again.\n`);
  return exits.jobFailed;
}

function showWhole(terminal: Terminal, given: Given, value: unknown): void {
  terminal.out(formatOf(given.options.get('output')) === 'json' ? `${JSON.stringify(value, null, 2)}\n` : yaml(value));
}

// Changes ------------------------------------------------------------------------------------------------------------

function changesIn(value: unknown): readonly WireRecord[] {
  const changes = isObject(value) ? value['changes'] : [];
  return Array.isArray(changes) ? changes.filter(isObject) : [];
}

function takesIn(value: unknown): readonly string[] {
  const takes = isObject(value) ? value['takes_over'] : [];
  return Array.isArray(takes) ? takes.map(String) : [];
}

const signs: Readonly<Record<string, string>> = { create: '+', change: '~', remove: '-' };

function changeText({ kind, name, what, fields }: WireRecord): string {
  const lines = (Array.isArray(fields) ? fields.filter(isObject) : []).map((field) => {
    const after = shown(field['after']);
    return `    ${String(field['name'])}: ${what === 'create' ? after : `${shown(field['before'])} → ${after}`}\n`;
  });
  return `${signs[String(what)] ?? ' '} ${String(kind)} ${String(name)}`.trimEnd().concat('\n', ...lines);
}

function shown(value: unknown): string {
  const text = cell(value);
  return text === '' ? '(none)' : text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

const pastTense: Readonly<Record<string, string>> = { create: 'created', change: 'changed', remove: 'removed' };

/** `2 created, 1 removed`. */
function summaryOf(changes: readonly WireRecord[], takes: readonly string[]): string {
  return [...Map.groupBy(changes, ({ what }) => String(what))]
    .map(([what, all]) => `${all.length} ${pastTense[what] ?? what}`)
    .concat(takes.length === 0 ? [] : [`${takes.join(', ')} taken over`])
    .join(', ');
}

// Files --------------------------------------------------------------------------------------------------------------

async function sendFiles({ appliance, terminal, given }: Calling, path: string): Promise<Answer> {
  const place = given.fields.get('file')?.at(-1);
  if (place === undefined)
    throw usage(`Expected a file or a folder: holdfast ${given.words[0]} -f site.yaml; - is the standard input.`);
  const files = filesAt(place, terminal);
  // `export` and `adopt` start without the parser of YAML.
  const { secretsOf } = await import('./file-secrets.ts');
  const token = given.fields.get('token')?.at(-1);
  const body = {
    files: files.map(({ name, text }) => ({ name, text })),
    name: given.fields.get('name')?.at(-1) ?? basename(resolve(place)),
    secrets: secretsOf(files, terminal),
    prune: isOn(given, 'prune'),
    ...(token === undefined ? {} : { token }),
  };
  try {
    return await appliance.send('POST', `${ownInterface}/${path}`, { body, headers: headersOf(given) });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const { files: sentences } = sentencesIn(error.answer);
    // Each problem has a line of its own, as compilers show them.
    if (!Array.isArray(sentences)) throw error;
    throw new CommandError(exits.refused, sentences.join('\n'), error.answer);
  }
}

/** One file, or all files of a folder that are YAML or JSON. */
function filesAt(place: string, terminal: Terminal): readonly LocalFile[] {
  if (place === '-') return [{ name: 'standard input', text: terminal.input(), folder: '.' }];
  try {
    if (!statSync(place).isDirectory())
      return [{ name: basename(place), text: readFileSync(place, 'utf8'), folder: dirname(place) }];
    const names = readdirSync(place).filter((name) => /\.(?:ya?ml|json)$/.test(name) && !name.startsWith('.'));
    if (names.length === 0) throw usage(`The folder ${quote(place)} has no file that ends with .yaml, .yml or .json.`);
    return names.sort().map((name) => ({ name, text: readFileSync(join(place, name), 'utf8'), folder: place }));
  } catch (error) {
    throw error instanceof CommandError ? error : usage(`${place} cannot be read: ${messageOf(error)}`);
  }
}

function isOn(given: Given, name: string): boolean {
  const text = given.fields.get(name)?.at(-1);
  if (text !== undefined && !isFlagText(text)) throw usage(`--${name}: Expected yes or no, got ${quote(text)}.`);
  return text !== undefined && /^(?:yes|true|on|1)$/i.test(text);
}
