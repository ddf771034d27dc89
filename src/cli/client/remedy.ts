/** What ends a problem, as a command. */

import type { CommandWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { isWithin } from '../../lib/path.ts';
import { optionOf } from './values.ts';

export interface Request {
  readonly method: string;
  /** From the root of the server. */
  readonly path: string;
  readonly body?: unknown;
}

/** The command that sends a request; `holdfast api …` for one that no command sends. */
export function commandOf({ resources }: Vocabulary, request: Request): string {
  const path = request.path.replace(/^\//, '');
  const found = resources
    .flatMap((resource) => resource.commands.map((command) => ({ resource, command })))
    .filter(({ command }) => command.method === request.method)
    .flatMap(({ resource, command }) => {
      const key = keyIn(command.path, path);
      return key === undefined ? [] : [{ resource, command, key }];
    })
    // Keys may have slashes, so the path of another command can look like a key.
    .toSorted((a, b) => a.key.length - b.key.length)[0];
  const body = isObject(request.body) ? Object.entries(request.body) : [];
  if (found === undefined) {
    const sent = body.length === 0 ? [] : [JSON.stringify(request.body)];
    return shellLine(['holdfast', 'api', request.method, request.path, ...sent]);
  }
  const { resource, command, key } = found;
  const name = key === '' ? [] : [resource.byName ? key : `id:${key}`];
  return shellLine(['holdfast', command.verb, resource.name, ...name, ...optionsOf(resource, command, body)]);
}

function optionsOf(
  resource: ResourceWords,
  command: CommandWords,
  body: readonly (readonly [string, unknown])[],
): readonly string[] {
  const fields = command.fields === 'resource' ? resource.fields : command.fields;
  return body.flatMap(([wire, value]) => {
    const field = fields.find((one) => one.wire === wire);
    const name = field === undefined ? wire : optionOf(field);
    if (typeof value === 'boolean') return [value ? `--${name}` : `--no-${name}`];
    return [`--${name}`, typeof value === 'string' ? value : JSON.stringify(value)];
  });
}

/** What stands in a path for the key, decoded; empty if the pattern has none. Undefined if it is another path. */
function keyIn(pattern: string, path: string): string | undefined {
  const [before = '', after] = pattern.split('{key}');
  if (pattern.includes('{vol}')) return undefined;
  if (after === undefined) return path === pattern ? '' : undefined;
  if (!path.startsWith(before) || !path.endsWith(after) || path.length <= before.length + after.length)
    return undefined;
  return decodeURIComponent(path.slice(before.length, path.length - after.length));
}

/** A command that shows or edits what a problem is about; undefined for what is no record. */
export function commandAbout({ resources }: Vocabulary, about: string): string | undefined {
  if (about.startsWith('subsystem/'))
    return shellLine(['holdfast', 'heal', 'subsystem', about.slice('subsystem/'.length)]);
  const resource = resources
    .filter(({ path }) => isWithin(about, path))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  if (resource === undefined) return undefined;
  const verbs = new Set(resource.commands.map(({ verb }) => verb));
  const key = about.slice(resource.path.length + 1);
  if (resource.kind !== 'settings' && key === '') return shellLine(['holdfast', 'list', resource.name]);
  const name = resource.kind === 'settings' ? [] : [resource.byName ? key : `id:${key}`];
  return shellLine(['holdfast', verbs.has('set') ? 'edit' : 'show', resource.name, ...name]);
}

/** A line that a shell reads as these words. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
