/** `docs/cli.md` and the manual pages, from the same declarations as the commands. */
import type { FieldWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { ownInterface as ownRoot } from './appliance.ts';
import { commonOptions } from './command-line.ts';
import { localChecks, settingsCheck } from './doctor-checks.ts';
import { furtherCommands, kindText, usageOf } from './explain.ts';

const exitCodes: readonly (readonly [number, string])[] = [
  [0, 'Done.'],
  [1, 'The appliance refused the command, it failed, or the doctor found something.'],
  [2, 'There are differences: --plan would do something, or drift was found.'],
  [3, 'The record does not exist.'],
  [4, 'Not signed in, or not allowed.'],
  [5, 'Conflict: the record was changed in between, or another change is in the way.'],
  [6, 'The appliance cannot be reached.'],
  [7, 'The job failed or was aborted.'],
  [64, 'The command line is wrong.'],
  [130, 'Interrupted. What the appliance has begun goes on.'],
];

const optionText = ({ name, short, value }: (typeof commonOptions)[number]) =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;

/** A check of `holdfast doctor`. */
interface Examined {
  readonly name: string;
  readonly title: string;
}

/** The generated part of `docs/cli.md`; `checks` are those of the daemon. */
export function commandReference({ resources }: Vocabulary, checks: readonly Examined[]): string {
  // The resources of our own interface grow often; holdfast(7) and `holdfast explain` have them.
  const ofDocument = resources.filter(({ path }) => !path.startsWith(ownRoot));
  const rows = ofDocument.map(
    ({ name, path, commands }) => `| \`${name}\` | ${commands.map(({ verb }) => verb).join(', ')} | \`${path}\` |`,
  );
  const further = furtherCommands.map(([command, text]) => `| \`${command.replaceAll('|', '\\|')}\` | ${text} |`);
  const options = commonOptions.map((one) => `| \`${optionText(one)}\` | ${one.description} |`);
  const codes = exitCodes.map(([code, text]) => `| ${code} | ${text} |`);
  return [
    ...['## Options', '', '| option | what it does |', '| --- | --- |', ...options, ''],
    ...['## Exit codes', '', '| code | meaning |', '| --- | --- |', ...codes, ''],
    ...['## Further commands', '', '| command | what it does |', '| --- | --- |', ...further, ''],
    ...['## Checks of the doctor', '', '| check | what has to be so | who looks |', '| --- | --- | --- |'],
    ...[settingsCheck, ...localChecks].map(checkRow('the command')),
    ...[...checks.map(checkRow('the daemon')), ''],
    ...[
      '## Resources',
      '',
      'Those of the configuration and of storage; `holdfast explain` lists all, also keys, people and jobs.',
      '',
    ],
    ...['| resource | verbs | in the interface |', '| --- | --- | --- |', ...rows],
  ]
    .map((line) => `${line}\n`)
    .join('');
}

const checkRow =
  (who: string) =>
  ({ name, title }: Examined) =>
    `| ${name} | ${title} | ${who} |`;

/** The manual pages by their file names: the commands, and the resources with their fields. */
export function manualPages(vocabulary: Vocabulary, version: string): ReadonlyMap<string, string> {
  const head = (name: string, section: number) => [`.TH ${name} ${section} "" "holdfast ${version}" "Holdfast"`];
  const commands = [
    ...head('HOLDFAST', 1),
    ...['.SH NAME', 'holdfast \\- manage a storage appliance'],
    ...['.SH SYNOPSIS', '.B holdfast', 'VERB RESOURCE [NAME] [\\-\\-FIELD VALUE ...]'],
    '.SH DESCRIPTION',
    text(
      'Commands for the appliance on this machine, or for another one with --context. Records are named by their names.',
    ),
    text(
      'holdfast(7) lists the resources and their fields. holdfast --help lists the commands of the server, such as serve.',
    ),
    '.SH COMMANDS',
    ...furtherCommands.flatMap(([command, about]) => ['.TP', `.B ${text(command)}`, text(about)]),
    '.SH OPTIONS',
    ...commonOptions.flatMap((one) => ['.TP', `.B ${text(optionText(one))}`, text(one.description)]),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, about]) => ['.TP', `.B ${code}`, text(about)]),
    '.SH FILES',
    ...['.TP', '.I ~/.config/holdfast/contexts.json', text('Addresses, certificates and keys of other appliances.')],
  ];
  const resources = [
    ...head('HOLDFAST', 7),
    ...['.SH NAME', 'holdfast \\- resources of the command line and their fields'],
    ...vocabulary.resources.flatMap(resourcePage),
  ];
  const file = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');
  return new Map([
    ['holdfast.1', file(commands)],
    ['holdfast.7', file(resources)],
  ]);
}

function resourcePage(resource: ResourceWords): readonly string[] {
  return [
    `.SH ${text(resource.name)}`,
    text(resource.description),
    ...resource.commands.flatMap((command) => ['.TP', `.B ${text(usageOf(resource, command))}`, text(command.title)]),
    ...resource.fields.flatMap((field) => ['.TP', `.I ${text(field.name)}`, text(fieldText(field))]),
  ];
}

function fieldText(field: FieldWords): string {
  return `${field.description} (${kindText(field)}${field.required === true ? ', required' : ''}${field.sent ? '' : ', read only'})`;
}

/** A line of troff in which every character is itself. */
function text(line: string): string {
  const plain = line.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('\n', ' ');
  return /^[.']/.test(plain) ? `\\&${plain}` : plain;
}
