import { readFileSync } from 'node:fs';
import type { FieldWords } from '../../engine/declare/vocabulary.ts';
import { quote } from '../../lib/text.ts';
import { usage } from './failure.ts';
import type { Terminal } from './terminal.ts';

const yes = /^(?:yes|true|on|1)$/i;
const no = /^(?:no|false|off|0)$/i;

export function isFlagText(text: string): boolean {
  return yes.test(text) || no.test(text);
}

/** `@FILE` is the content of a file, and `@-` the standard input, so that secrets need not be in the command. */
export function textOf(option: string, terminal: Terminal): string {
  if (!option.startsWith('@')) return option;
  const file = option.slice(1);
  try {
    return (file === '-' ? terminal.input() : readFileSync(file, 'utf8')).replace(/\n$/, '');
  } catch (error) {
    throw usage(`The file ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * The value of the options that were given for a field. The server reads and checks it; only what is no text there is
 * read here.
 */
export function sentValue(field: FieldWords, texts: readonly string[]): unknown {
  const text = texts.at(-1) ?? '';
  if (field.kind === 'list' || (field.kind === 'json' && texts.length > 1)) {
    if (texts.length === 1 && text.startsWith('[')) return jsonIn(field, text);
    return texts.flatMap((one) => (field.kind === 'list' ? one.split(',') : [one])).filter((one) => one !== '');
  }
  if (field.kind === 'boolean') {
    if (!isFlagText(text)) throw usage(`--${optionOf(field)}: Expected yes or no, got ${quote(text)}.`);
    return yes.test(text);
  }
  if (field.kind === 'json') return /^[[{]/.test(text.trim()) ? jsonIn(field, text) : text;
  return text;
}

function jsonIn(field: FieldWords, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usage(`--${optionOf(field)}: Expected JSON, got ${quote(text)}.`);
  }
}

/** `guest-only` for `guest_only`. */
export function optionOf({ name }: FieldWords): string {
  return name.replaceAll('_', '-').toLowerCase();
}
