import type { CommandWords, FieldWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { similar } from '../../lib/similar.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { usage } from './failure.ts';
import { isFlagText, optionOf } from './values.ts';

/** Options that every command takes. */
export const commonOptions: readonly {
  readonly name: string;
  readonly short?: string;
  readonly value?: string;
  readonly description: string;
}[] = [
  { name: 'output', short: 'o', value: 'FORMAT', description: 'table, wide, json, yaml, csv or name' },
  { name: 'columns', short: 'c', value: 'LIST', description: 'the columns of a list: -c name,path' },
  { name: 'where', value: 'CONDITION', description: "only records with a value: 'guest=yes', 'used>1T', 'name~media'" },
  { name: 'sort', value: 'FIELD', description: 'the order of a list; -FIELD for the opposite one' },
  { name: 'limit', value: 'NUMBER', description: 'at most this many entries' },
  { name: 'watch', description: 'show the list again whenever it changes' },
  {
    name: 'plan',
    description: 'show what the command would do, and do nothing; exits with 2 if it would do something',
  },
  { name: 'yes', value: 'NAME', description: 'confirm a command that destroys something, by the name of the record' },
  { name: 'why', value: 'TEXT', description: 'the reason, which the list of revisions shows' },
  {
    name: 'confirm-within',
    value: 'SECONDS',
    description: 'revert the change unless it is confirmed: holdfast confirm',
  },
  { name: 'no-wait', description: 'do not wait for the job that the command starts' },
  { name: 'context', value: 'NAME', description: 'another appliance than this machine: holdfast context' },
  { name: 'help', short: 'h', description: 'show what a command takes' },
];

/** A command line that has been taken apart. */
export interface Given {
  readonly words: readonly string[];
  /** Values of the common options, by name; `true` for those without a value. */
  readonly options: ReadonlyMap<string, string | true>;
  /** Texts of the options for fields, by the name on the wire. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

export function resourceNamed(vocabulary: Vocabulary, word: string): ResourceWords | undefined {
  const find = (name: string) => vocabulary.resources.find((one) => one.name === name || one.path === name);
  const plain = word.replace(/\/$/, '');
  return find(plain) ?? find(plain.replace(/s$/, ''));
}

export function commandFor(vocabulary: Vocabulary, verb: string, word: string | undefined) {
  const known = verbsOf(vocabulary);
  const verbNamed = verb === 'get' ? 'show' : verb;
  if (!known.has(verbNamed))
    throw usage(`holdfast has no command ${quote(verb)}.${near(verb, [...known])} See: holdfast --help`);
  if (word === undefined) {
    const those = vocabulary.resources.filter(({ commands }) => commands.some((one) => one.verb === verbNamed));
    throw usage(
      `Expected a resource after ${verbNamed}: ${sentenceList(
        those.map(({ name }) => name),
        'or',
      )}.`,
    );
  }
  const resource = resourceNamed(vocabulary, word);
  if (resource === undefined) {
    const names = vocabulary.resources.map(({ name }) => name);
    throw usage(`There is no resource ${quote(word)}.${near(word, names)} All of them: holdfast explain`);
  }
  const command = resource.commands.find((one) => one.verb === verbNamed);
  if (command === undefined) {
    const verbs = resource.commands.map((one) => one.verb);
    throw usage(`${resource.name} has no command ${verbNamed}; it has ${sentenceList(verbs)}.`);
  }
  return { resource, command };
}

export function verbsOf({ resources }: Vocabulary): ReadonlySet<string> {
  return new Set(resources.flatMap(({ commands }) => commands.map(({ verb }) => verb)));
}

/** The names that are similar to a word, as a sentence. */
function near(word: string, names: readonly string[]): string {
  const found = similar(word, names);
  return found.length === 0 ? '' : ` Similar: ${sentenceList(found)}.`;
}

/** What the options of a command are: those of the fields that it can send. */
export function fieldsOf(resource: ResourceWords, command: CommandWords): readonly FieldWords[] {
  if (command.fields !== 'resource') return command.fields;
  return resource.fields.filter(({ sent, createOnly }) => sent && (command.verb === 'create' || createOnly !== true));
}

/** Takes a command line apart. `fieldsFor` gets the words before the first option, which say what options there are. */
export function parse(argv: readonly string[], fieldsFor: (words: readonly string[]) => readonly FieldWords[]): Given {
  const words: string[] = [];
  const options = new Map<string, string | true>();
  const fields = new Map<string, string[]>();
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    if (argument === '--') {
      words.push(...argv.slice(index + 1));
      break;
    }
    if (!/^-[a-z]|^--/i.test(argument)) {
      words.push(argument);
      continue;
    }
    const [, dashes = '', name = '', inline] = /^(--?)([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    const value = () => {
      if (inline !== undefined) return inline;
      index += 1;
      const next = argv[index];
      if (next === undefined) throw usage(`Expected a value after ${argument}.`);
      return next;
    };
    const available = fieldsFor(words);
    const field = dashes === '--' ? fieldNamed(available, name) : undefined;
    const negated = /^no-(.+)$/.exec(name)?.[1];
    const opposite = negated === undefined ? undefined : fieldNamed(available, negated);
    const common = commonOptions.find((one) => (dashes === '--' ? one.name === name : one.short === name));
    if (field !== undefined) {
      const next = argv[index + 1];
      const isAlone = field.kind === 'boolean' && inline === undefined && !(next !== undefined && isFlagText(next));
      fields.set(field.wire, [...(fields.get(field.wire) ?? []), isAlone ? 'yes' : value()]);
    } else if (opposite?.kind === 'boolean') fields.set(opposite.wire, ['no']);
    else if (common === undefined)
      throw usage(
        `There is no option ${dashes}${name} here.${near(name, available.map(optionOf))} All of them: holdfast ${words.slice(0, 2).join(' ')} --help`,
      );
    else if (common.name === 'yes') options.set('yes', inline ?? true);
    else if (common.name === 'where') options.set('where', [options.get('where'), value()].filter(Boolean).join('\n'));
    else options.set(common.name, common.value === undefined ? true : value());
  }
  return { words, options, fields };
}

/** A field by its short name or by its name on the wire. */
export function fieldNamed(fields: readonly FieldWords[], name: string): FieldWords | undefined {
  const plain = name.replaceAll('-', '_').toLowerCase();
  return (
    fields.find((one) => one.name.toLowerCase() === plain) ?? fields.find(({ wire }) => wire.toLowerCase() === plain)
  );
}
