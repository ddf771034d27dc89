import type { CommandWords, FieldWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { quote } from '../../lib/text.ts';
import { commandFor, commonOptions, fieldNamed, fieldsOf, resourceNamed, verbsOf } from './command-line.ts';
import { usage } from './failure.ts';
import { optionOf } from './values.ts';

/** `holdfast explain [RESOURCE[.FIELD]]`. */
export function explain(vocabulary: Vocabulary, about: string | undefined): string {
  if (about === undefined) return overview(vocabulary);
  const [word = '', ...rest] = about.split('.');
  const resource = resourceNamed(vocabulary, word);
  if (resource === undefined) throw usage(`There is no resource ${quote(word)}. All of them: holdfast explain`);
  if (rest.length === 0) return resourceText(resource);
  const name = rest.join('.');
  const fields = [...resource.fields, ...resource.commands.flatMap((command) => fieldsOf(resource, command))];
  const field = fieldNamed(fields, name);
  if (field === undefined)
    throw usage(
      `${resource.name} has no field ${quote(name)}; it has ${resource.fields.map((one) => one.name).join(', ')}.`,
    );
  return fieldText(resource, field);
}

function overview({ resources }: Vocabulary): string {
  const width = Math.max(...resources.map(({ name }) => name.length));
  return resources
    .map(({ name, commands }) => `${name.padEnd(width)}  ${commands.map(({ verb }) => verb).join(' ')}\n`)
    .join('');
}

function resourceText(resource: ResourceWords): string {
  const fields = resource.fields.map((field) => `  ${fieldLine(field)}\n`).join('');
  const commands = resource.commands
    .map((command) => `  ${usageOf(resource, command)}\n      ${command.title}\n`)
    .join('');
  return `${resource.name}: ${resource.description}\nIn the interface: ${resource.path}\n\nCommands:\n${commands}${fields === '' ? '' : `\nFields:\n${fields}`}`;
}

export function usageOf(resource: ResourceWords, command: CommandWords): string {
  const name = command.onRecord && resource.kind !== 'settings' ? ' NAME' : '';
  const fields = fieldsOf(resource, command);
  const given = command.arguments.map((wire) =>
    wire.includes('{')
      ? wire.replaceAll(/[{}]/g, '').toUpperCase()
      : (fields.find((one) => one.wire === wire)?.name ?? wire).toUpperCase(),
  );
  const list = command.takesList === true ? ' NAME…' : '';
  const options = fields.length > given.length ? ' [--FIELD VALUE…]' : '';
  return `holdfast ${command.verb} ${resource.name}${name}${given.map((one) => ` ${one}`).join('')}${list}${options}`;
}

export function kindText({ kind, choices, refers, byId }: FieldWords): string {
  if (refers !== undefined && byId === true) return `name of a record of ${refers}`;
  if (choices !== undefined) return choices.length > 12 ? `one of ${choices.length} values` : choices.join('|');
  return {
    boolean: 'yes|no',
    integer: 'number',
    size: 'size',
    text: 'text',
    choice: 'choice',
    list: 'list',
    json: 'JSON',
  }[kind];
}

function fieldLine(field: FieldWords): string {
  const marks = [
    ...(field.required === true ? ['required'] : []),
    ...(field.sent ? [] : ['read only']),
    ...(field.createOnly === true ? ['when created'] : []),
    ...(field.secret === true ? ['secret'] : []),
  ];
  const mark = marks.length === 0 ? '' : ` (${marks.join(', ')})`;
  return `${field.name}  ${kindText(field)}${mark}\n      ${field.description}`;
}

function fieldText(resource: ResourceWords, field: FieldWords): string {
  const lines = [
    `${resource.name}.${field.name}: ${field.description}`,
    `Option: --${optionOf(field)}`,
    `Value: ${kindText(field)}${field.kind === 'size' ? ', such as 10G or 1.5T' : ''}`,
    ...(field.choices === undefined ? [] : [`One of: ${field.choices.join(', ')}`]),
    ...(field.initial === undefined || field.initial === '' ? [] : [`Default: ${String(field.initial ?? 'none')}`]),
    ...(field.required === true ? ['Required when a record is created.'] : []),
    ...(field.sent ? [] : ['Read only.']),
    ...(field.createOnly === true ? ['Can be set only when a record is created.'] : []),
    ...(field.secret === true ? ['Secret: give it as @FILE, or as - to be asked for it.'] : []),
    `In the interface: ${field.wire}`,
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** The help of a verb, or of a command. */
export function helpFor(vocabulary: Vocabulary, words: readonly string[]): string {
  const [verb, word] = words;
  if (verb === undefined || !verbsOf(vocabulary).has(verb === 'get' ? 'show' : verb)) return help(vocabulary);
  if (word === undefined) {
    const those = vocabulary.resources.filter(({ commands }) => commands.some((one) => one.verb === verb));
    return those
      .flatMap((resource) =>
        resource.commands.filter((one) => one.verb === verb).map((command) => `${usageOf(resource, command)}\n`),
      )
      .join('');
  }
  const { resource, command } = commandFor(vocabulary, verb, word);
  const fields = fieldsOf(resource, command);
  const options = fields
    .map((field) => `  --${optionOf(field)}  ${kindText(field)}\n      ${field.description}\n`)
    .join('');
  return `${usageOf(resource, command)}\n${command.title}\n${options === '' ? '' : `\nFields:\n${options}`}\n${commonHelp()}`;
}

function commonHelp(): string {
  return `Options:\n${commonOptions
    .map(({ name, short, value, description }) => {
      const option = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
      return `  ${option.padEnd(26)} ${description}\n`;
    })
    .join('')}`;
}

/** Commands that are not derived from the catalogue. */
export const furtherCommands: readonly (readonly [string, string])[] = [
  ['explain [RESOURCE[.FIELD]]', 'what there is, what a field means, and which values it takes'],
  ['edit RESOURCE [NAME]', 'the fields of a record in an editor; what you change is sent'],
  ['events [--kind K] [--resource R]', 'what happens, as it happens; --no-wait: what has happened'],
  ['jobs [ID]', 'long-running work; with its number, follow one until it ends'],
  ['revisions [NUMBER]', 'the history of the configuration, or one change of it'],
  ['revert NUMBER', 'take a change back'],
  ['doctor', 'examine the appliance and this machine; exits with 1 if something is wrong'],
  ['problems', 'what is wrong, and what ends it'],
  ['drift', 'where the machine differs from the configuration; exits with 2 if it does'],
  [
    'export [-o FILE] [--full] [--secrets sealed]',
    'the configuration as a file; --full: with the values of a new system',
  ],
  ['adopt [-o FILE]', 'propose a file of what was configured on this machine by hand; it changes nothing'],
  ['diff -f FILE|FOLDER [--prune]', 'how the configuration differs from files; exits with 2 if it does'],
  [
    'apply -f FILE|FOLDER [--prune] [--token T]',
    'make the configuration as files say; --prune: also remove what they made before and have no more',
  ],
  [
    'migrate FILE [-o FILE] [--secret KEY] [--interface OLD=NEW] [--root] [--rehearse]',
    'propose a file from the configuration of FreeNAS or TrueNAS CORE; it changes nothing',
  ],
  ['confirm', 'keep a change that is reverted otherwise'],
  ['api METHOD PATH [JSON]', 'any request of the interface'],
  ['context [list|add|use|remove]', 'other appliances: their addresses, keys and certificates'],
  ['login [CONTEXT] [--key @FILE]', 'another key for an appliance, which has to accept it'],
  ['completion bash|zsh|fish', 'completion for a shell'],
];

export function help(vocabulary: Vocabulary): string {
  const common = ['list', 'show', 'create', 'set', 'delete'];
  const others = [...verbsOf(vocabulary)].filter((verb) => !common.includes(verb)).sort();
  const width = Math.max(...furtherCommands.map(([command]) => command.length));
  return `holdfast VERB RESOURCE [NAME] [--FIELD VALUE…]

  holdfast list share/smb                              records, as a table
  holdfast show pool tank                              one record
  holdfast create share/smb --path /mnt/tank/media     a new record
  holdfast set service smb --on                        fields of a record or of settings
  holdfast delete share/smb media                      removes a record

Verbs of single resources: ${others.join(', ')}

Commands:
${furtherCommands.map(([command, description]) => `  ${command.padEnd(width)}  ${description}\n`).join('')}
${commonHelp()}`;
}
