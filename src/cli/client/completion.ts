import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FieldWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { quote } from '../../lib/text.ts';
import { type Appliance, nameOf } from './appliance.ts';
import { commonOptions, fieldNamed, fieldsOf, resourceNamed, verbsOf } from './command-line.ts';
import { furtherCommands } from './explain.ts';
import { type Exit, exits, usage } from './failure.ts';
import type { Terminal } from './terminal.ts';
import { optionOf } from './values.ts';

/** How long a shell waits for names, and how long they are taken from the last answer. */
const patience = 300;
const freshFor = 5000;

/** Scripts that ask `holdfast __complete` for the words that can follow; the last argument is the one that is typed. */
export const completionScripts = {
  bash: `_holdfast() {
  local word=\${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(holdfast __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ \${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _holdfast holdfast
`,
  zsh: `#compdef holdfast
_holdfast() {
  local -a found
  found=("\${(@f)$(holdfast __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
# From a file of fpath it is the function itself; sourced, it has to be registered.
if [[ "$funcstack[1]" == _holdfast ]]; then _holdfast; else compdef _holdfast holdfast; fi
`,
  fish: `function __holdfast_complete
  set -l words (commandline -opc) (commandline -ct)
  holdfast __complete $words[2..-1] 2>/dev/null
end
complete -c holdfast -f -a '(__holdfast_complete)'
`,
};

export function completion(shell: string | undefined, terminal: Terminal): Exit {
  if (shell !== 'bash' && shell !== 'zsh' && shell !== 'fish')
    throw usage(
      `Expected a shell, bash, zsh or fish, got ${quote(shell ?? '')}. For example: source <(holdfast completion bash)`,
    );
  terminal.out(completionScripts[shell]);
  return exits.done;
}

/** Prints the words that can stand where the last argument is. */
export async function complete(
  argv: readonly string[],
  vocabulary: Vocabulary,
  terminal: Terminal,
  appliance: (context: string | undefined) => Appliance,
): Promise<Exit> {
  const typed = argv.at(-1) ?? '';
  const before = argv.slice(0, -1);
  const index = before.indexOf('--context');
  const context = index === -1 ? undefined : before[index + 1];
  const names = (resource: ResourceWords) => namesOf(resource, context, terminal, appliance);
  for (const word of await candidates(vocabulary, before, typed, names))
    if (word.startsWith(typed)) terminal.out(`${word}\n`);
  return exits.done;
}

/** Verbs that are completed like another one. */
const likeOthers: Readonly<Record<string, string>> = { get: 'show', edit: 'set' };

async function candidates(
  vocabulary: Vocabulary,
  before: readonly string[],
  typed: string,
  names: (resource: ResourceWords) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const words = before.filter((word) => !word.startsWith('-'));
  const [first, word] = words;
  const verb = first === undefined ? undefined : (likeOthers[first] ?? first);
  const resources = vocabulary.resources;
  if (verb === undefined)
    return [
      ...new Set([...verbsOf(vocabulary), ...furtherCommands.map(([command]) => command.split(' ')[0] ?? '')]),
    ].sort();
  if (verb === 'completion') return ['bash', 'fish', 'zsh'];
  if (verb === 'explain') {
    const resource = resourceNamed(vocabulary, typed.split('.')[0] ?? '');
    if (!typed.includes('.') || resource === undefined) return resources.map(({ name }) => name);
    return resource.fields.map(({ name }) => `${resource.name}.${name}`);
  }
  if (word === undefined)
    return resources.filter(({ commands }) => commands.some((one) => one.verb === verb)).map(({ name }) => name);
  const resource = resourceNamed(vocabulary, word);
  const command = resource?.commands.find((one) => one.verb === verb);
  if (resource === undefined || command === undefined) return [];
  const fields = fieldsOf(resource, command);
  const last = before.at(-1) ?? '';
  const common = commonOptions.find(({ name, short }) => last === `--${name}` || last === `-${short ?? ''}`);
  if (common?.name === 'output') return ['csv', 'json', 'name', 'table', 'wide', 'yaml'];
  if (common?.name === 'columns' || common?.name === 'sort')
    return resource.fields.filter(({ shown }) => shown).map(({ name }) => name);
  const option = last.startsWith('--') ? fieldNamed(fields, last.slice(2)) : undefined;
  if (option !== undefined && !typed.startsWith('-')) return valuesOf(option, vocabulary, names);
  if (typed.startsWith('-'))
    return [...fields.map(optionOf), ...commonOptions.map(({ name }) => name)].map((name) => `--${name}`);
  if (command.onRecord && words.length === 2) return names(resource);
  return [];
}

function valuesOf(
  field: FieldWords,
  { resources }: Vocabulary,
  names: (resource: ResourceWords) => Promise<readonly string[]>,
): readonly string[] | Promise<readonly string[]> {
  if (field.choices !== undefined) return field.choices;
  if (field.kind === 'boolean') return ['no', 'yes'];
  const referred = resources.find(({ name }) => name === field.refers);
  return referred === undefined ? [] : names(referred);
}

/** The names of the records, from the last seconds or from the appliance. None when it does not answer at once. */
async function namesOf(
  resource: ResourceWords,
  context: string | undefined,
  { environment }: Terminal,
  appliance: (context: string | undefined) => Appliance,
): Promise<readonly string[]> {
  const folder = join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast');
  const file = join(
    folder,
    `names-${encodeURIComponent(`${context ?? environment['HOLDFAST_CONTEXT'] ?? ''}:${resource.name}`)}`,
  );
  try {
    if (Date.now() - statSync(file).mtimeMs < freshFor) return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    // There is no such answer.
  }
  const ending = new AbortController();
  try {
    const reading = appliance(context).list(resource);
    const late = pause(patience, [], { signal: ending.signal, ref: false });
    const names = (await Promise.race([reading, late])).map((record) => nameOf(resource, record));
    if (names.length > 0) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(file, names.join('\n'), { mode: 0o600 });
    }
    return names;
  } catch {
    // A completion has no place for errors.
    return [];
  } finally {
    ending.abort();
  }
}
