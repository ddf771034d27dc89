/** The secrets that files of the configuration take from files and variables of this machine. */
import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isMap, isScalar, parseDocument, visit } from 'yaml';
import { messageOf } from '../../lib/text.ts';
import { usage } from './failure.ts';
import type { Terminal } from './terminal.ts';

export interface LocalFile {
  readonly name: string;
  readonly text: string;
  /** Where the files are that it names. */
  readonly folder: string;
}

/** The values of `{ file: … }` and `{ env: … }`: the appliance does not read files and variables of this machine. */
export function secretsOf(files: readonly LocalFile[], terminal: Terminal): Readonly<Record<string, string>> {
  const secrets: Record<string, string> = {};
  for (const { text, folder } of files)
    visit(parseDocument(text, { logLevel: 'silent' }), {
      Map(_, map) {
        const [pair, ...rest] = map.items;
        if (pair === undefined || rest.length > 0 || isMap(pair.value)) return;
        const form = isScalar(pair.key) ? pair.key.value : undefined;
        const value = isScalar(pair.value) ? pair.value.value : undefined;
        if (typeof value !== 'string') return;
        if (form === 'file') secrets[`file:${value}`] = contentOf(isAbsolute(value) ? value : join(folder, value));
        else if (form === 'env') secrets[`env:${value}`] = variable(value, terminal);
      },
    });
  return secrets;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\n$/, '');
  } catch (error) {
    throw usage(`The secret in the file ${path} cannot be read: ${messageOf(error)}`);
  }
}

function variable(name: string, { environment }: Terminal): string {
  const value = environment[name];
  if (value === undefined) throw usage(`The environment variable ${name} is not set, and the file needs it.`);
  return value;
}
