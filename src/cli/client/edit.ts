/** `holdfast edit RESOURCE [NAME]`: the fields of a record as YAML in an editor; what was changed is sent. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isScalar, parseDocument, stringify } from 'yaml';
import type { FieldWords, ResourceWords } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { sentencesIn } from '../../lib/refusal.ts';
import { quote } from '../../lib/text.ts';
import { errorOf, type WireRecord } from './appliance.ts';
import { commandFor, fieldNamed, fieldsOf } from './command-line.ts';
import { CommandError, type Exit, exits, usage } from './failure.ts';
import { cell } from './output.ts';
import { type Calling, headersOf, nameIn, plan } from './records.ts';
import type { Terminal } from './terminal.ts';
import { optionOf } from './values.ts';

/** A record that is being edited. */
interface Edited {
  readonly resource: ResourceWords;
  /** The fields that can be set, without secrets, which nothing shows. */
  readonly fields: readonly FieldWords[];
  readonly path: string;
  readonly title: string;
  /** The record as it was shown, with its entity tag. */
  readonly record: WireRecord;
  readonly shown: Readonly<Record<string, unknown>>;
  readonly tag: string | undefined;
}

/** Sentences about a text, by the name of the field, or empty for the whole. */
type Errors = ReadonlyMap<string, string>;

export async function edit(calling: Calling): Promise<Exit> {
  const edited = await opened(calling);
  const file = join(mkdtempSync(join(tmpdir(), 'holdfast-edit-')), `${edited.title.replaceAll(/[^\w.-]+/g, '-')}.yaml`);
  let text = textOf(edited);
  let isKept = false;
  try {
    for (;;) {
      writeFileSync(file, text, { mode: 0o600 });
      await openEditor(calling.terminal, file);
      const before = text;
      text = readFileSync(file, 'utf8');
      const own = withoutErrors(text);
      if (own.replaceAll(/^\s*(?:#.*)?$/gm, '').trim() === '')
        throw new CommandError(exits.refused, 'Nothing was changed.');
      const outcome = await tried(calling, edited, own);
      if (typeof outcome === 'number') return outcome;
      const marked = withErrors(own, outcome);
      if (marked === before) {
        isKept = true;
        throw new CommandError(
          exits.refused,
          `${[...outcome.values()].join('\n')}\nNothing was changed. Your text is in ${file}.`,
        );
      }
      text = marked;
    }
  } catch (error) {
    if (!(error instanceof CommandError) || error.exit !== exits.conflict) throw error;
    isKept = true;
    throw new CommandError(error.exit, `${error.message}\nYour text is in ${file}.`, error.answer);
  } finally {
    if (!isKept) rmSync(dirname(file), { recursive: true, force: true });
  }
}

async function opened(calling: Calling): Promise<Edited> {
  const { appliance, given } = calling;
  const { resource, command } = commandFor(appliance.vocabulary, 'set', given.words[1]);
  const name = nameIn(calling, resource, command, 'edit');
  const path = await appliance.pathFor(resource, command, name);
  const { value, headers } = await appliance.send('GET', path, {}, resource);
  if (!isObject(value)) throw new CommandError(exits.refused, `${resource.name} has no record to edit.`);
  const all = await appliance.shown(resource, value);
  const fields = fieldsOf(resource, command).filter(
    (field) => field.secret !== true && Object.hasOwn(all, field.name) && !(command.query ?? []).includes(field.wire),
  );
  return {
    ...{ resource, fields, path, record: value, tag: headers.etag },
    title: name === undefined ? resource.name : `${resource.name} ${name}`,
    shown: Object.fromEntries(fields.map((field) => [field.name, all[field.name]])),
  };
}

function textOf({ title, resource, shown }: Edited): string {
  return `# ${title}: what you change is sent when you close the editor. An empty file changes nothing.
# What a field means: holdfast explain ${resource.name}.FIELD
${stringify(shown, { lineWidth: 0 })}`;
}

async function openEditor({ environment, asks }: Terminal, file: string): Promise<void> {
  const chosen = environment['VISUAL'] || environment['EDITOR'];
  if (chosen === undefined && !asks)
    throw usage('edit needs a terminal, or EDITOR with a program that changes the file.');
  const [program = '', ...words] = (chosen ?? 'editor').trim().split(/\s+/);
  const code = await new Promise<number | null>((resolve, reject) => {
    spawn(program, [...words, file], { stdio: 'inherit' })
      .on('error', reject)
      .on('close', resolve);
  }).catch((error: unknown) => {
    throw usage(
      `The editor ${quote(program)} cannot be started: ${error instanceof Error ? error.message : String(error)}. Set EDITOR.`,
    );
  });
  if (code !== 0) throw new CommandError(exits.refused, `The editor ended with ${code}. Nothing was changed.`);
}

/** Sends what differs from the shown record. Returns what is wrong with the text. */
async function tried(calling: Calling, edited: Edited, text: string): Promise<Exit | Errors> {
  const { appliance, terminal, given } = calling;
  const { path, tag, resource, title, shown } = edited;
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) return new Map([['', error.message.split('\n')[0] ?? '']]);
  const value: unknown = document.toJS();
  if (!isObject(value)) return new Map([['', 'Expected the fields of the record, one a line, as name: value.']]);
  const changed = Object.entries(value).filter(([name, one]) => !isDeepStrictEqual(one, shown[name]));
  const errors = new Map<string, string>();
  const body: Record<string, unknown> = {};
  for (const [name, one] of changed) {
    const field = fieldNamed(edited.fields, name);
    if (field === undefined) errors.set(name, `${resource.name} has no field ${quote(name)} that can be edited.`);
    else
      await appliance
        .numbered(field, one)
        .then((sent) => {
          body[field.wire] = sent;
        })
        .catch((problem: unknown) => {
          if (!(problem instanceof CommandError)) throw problem;
          errors.set(name, problem.message);
        });
  }
  if (errors.size > 0) return errors;
  if (changed.length === 0) {
    terminal.out('Nothing was changed.\n');
    return exits.done;
  }
  if (given.options.get('plan') === true) return plan(calling, 'PUT', path, body);
  const headers = { ...headersOf(given), ...(tag === undefined ? {} : { 'if-match': tag }) };
  const answer = await appliance.connection.send('PUT', path, { body, headers });
  if (answer.status === 412) throw changedMeanwhile(edited, await appliance.get(path, resource));
  if (answer.status < 300) {
    terminal.out(`Changed ${title}.\n`);
    return exits.done;
  }
  const refused = errorsIn(edited, answer.value);
  if (refused.size > 0 && answer.status < 500) return refused;
  throw errorOf(answer, appliance.connection, resource, Object.keys(body));
}

/** The sentences of a refusal, by the fields of the text. */
function errorsIn({ fields }: Edited, answer: unknown): Errors {
  const errors = new Map<string, string>();
  for (const [wire, sentences] of Object.entries(sentencesIn(answer))) {
    const list = [sentences].flat().filter((one) => typeof one === 'string');
    if (list.length === 0) continue;
    const name = fields.find((field) => field.wire === wire)?.name ?? '';
    errors.set(name, [errors.get(name), ...list].filter((one) => one !== undefined).join(' '));
  }
  return errors;
}

function changedMeanwhile({ title, fields, record }: Edited, now: unknown): CommandError {
  const present = isObject(now) ? now : {};
  const changes = fields
    .filter(({ wire }) => !isDeepStrictEqual(record[wire], present[wire]))
    .map(
      (field) =>
        `  ${optionOf(field)}: was ${cell(record[field.wire]) || 'empty'}, is ${cell(present[field.wire]) || 'empty'}`,
    );
  return new CommandError(
    exits.conflict,
    `${title} was changed meanwhile, so nothing of yours was changed.\n${changes.length === 0 ? '  a field that nothing shows' : changes.join('\n')}`,
    now,
  );
}

// Errors in the text -------------------------------------------------------------------------------------------------

const mark = '# error: ';

function withoutErrors(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith(mark))
    .join('\n');
}

/** The text with each error as a comment above its field, and those about the whole at the top. */
function withErrors(text: string, errors: Errors): string {
  const document = parseDocument(text);
  const lines = text.split('\n');
  const places = [...errors].map(([name, sentence]) => ({ line: lineOf(document, text, name), sentence }));
  // From the end, so that the numbers of earlier lines stay.
  for (const { line, sentence } of places.toSorted((a, b) => b.line - a.line))
    lines.splice(line, 0, ...sentence.split('\n').map((one) => `${mark}${one}`));
  return lines.join('\n');
}

function lineOf(document: Document.Parsed, text: string, name: string): number {
  if (name === '' || !isMap(document.contents)) return 0;
  const key = document.contents.items.map((pair) => pair.key).find((one) => isScalar(one) && one.value === name);
  const start = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
  return text.slice(0, start).split('\n').length - 1;
}
