import { failed } from '../../engine/declare/errors.ts';
import {
  choice,
  type Field,
  type Fields,
  field,
  good,
  integer,
  isRequired,
  list,
  refine,
  required,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { readSent } from '../../engine/declare/record.ts';
import type { SentOf } from '../../engine/declare/resource.ts';
import { isObject } from '../../lib/json.ts';
import { quote, sentenceList } from '../../lib/text.ts';

/** The manifest file of a bundle. */
export const manifestFile = 'plugin.json';

/** The maximum number of characters in the manifest. */
export const longestManifest = 16_384;

/** How Holdfast checks whether the plugin works. */
export type Health =
  | { readonly by: 'tcp' }
  | { readonly by: 'http'; readonly path: string }
  | { readonly by: 'command'; readonly words: readonly string[] };

const argument = text({ description: 'Argument of the command.', max: 1000, untrimmed: true });

/** A program with its arguments, which runs without a shell. */
const command = (description: string): Field<readonly string[], 'plain'> => {
  const argv = list(argument, { description, max: 100 });
  return required(
    field({
      ...argv,
      read: (sent) =>
        Array.isArray(sent) && sent.length > 0 && sent[0] !== ''
          ? argv.read(sent)
          : wrong(`Expected a list of strings, the program followed by its arguments, got ${quote(sent)}.`),
    }),
  );
};

const pagePath = text({
  description: 'Path of a page.',
  max: 500,
  pattern: /^\/[\x21-\x7e]*$/,
  rule: 'The path of a page must begin with / and contain no spaces.',
});
const checkCommand = command('Command.');

const health = field<Health>({
  description: 'Health check: "tcp", {"http": "/path"} or {"command": ["program", "argument", …]}.',
  initial: { by: 'tcp' },
  schema: {},
  read(sent) {
    if (sent === 'tcp') return good({ by: 'tcp' });
    const [only, ...more] = isObject(sent) ? Object.entries(sent) : [];
    if (only?.[0] === 'http' && more.length === 0) {
      const path = required(pagePath).read(only[1]);
      return path.ok ? good({ by: 'http', path: path.value }) : path;
    }
    if (only?.[0] === 'command' && more.length === 0) {
      const argv = checkCommand.read(only[1]);
      return argv.ok ? good({ by: 'command', words: argv.value }) : argv;
    }
    return wrong(`Expected "tcp", {"http": "/path"} or {"command": ["program", "argument", …]}, got ${quote(sent)}.`);
  },
});

export const manifestFields = {
  format: required(
    refine(integer({ description: 'Version of the bundle format; always 1.' }), (value) =>
      value === 1 ? undefined : `Expected the bundle format 1, got ${value}.`,
    ),
  ),
  name: required(
    text({
      description: 'Name of the plugin and of its folder.',
      max: 40,
      pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
      rule: 'The name may contain lower-case letters, digits and - only, and must not begin or end with -.',
    }),
  ),
  version: required(
    text({
      description: 'Version of the plugin.',
      max: 40,
      pattern: /^[A-Za-z0-9][A-Za-z0-9.+~_-]*$/,
      rule: 'The version must begin with a letter or digit and may contain letters, digits and . + ~ _ - only.',
    }),
  ),
  arch: choice(['any', 'x64', 'x86'], { description: 'Architecture of the programs.', initial: 'any' }),
  template: text({
    description: 'Template of the jail that is created for the plugin.',
    max: 120,
    initial: 'pluginjail',
  }),
  packages: list(
    text({
      description: 'Package name.',
      max: 100,
      pattern: /^[a-z0-9][a-z0-9.+-]+$/,
      rule: 'Expected the name of a Debian package.',
    }),
    {
      description: 'Debian packages that the plugin requires.',
      max: 100,
    },
  ),
  start: command('Command that starts the plugin and returns once it is running.'),
  stop: command('Command that stops the plugin.'),
  port: required(port({ description: 'TCP port of the page of the plugin.' })),
  health,
};

export type Manifest = Required<SentOf<typeof manifestFields>>;

/** Reads the manifest of a bundle and reports all problems together. */
export function readManifest(content: string): Manifest {
  const { sent, issues } = readSent(manifestFields, parsed(content), 'create');
  const fields: Fields = manifestFields;
  const absent = Object.keys(fields).filter(
    (name) => fields[name]?.required === true && !Object.hasOwn(sent, name) && !Object.hasOwn(issues, name),
  );
  const wrongs = [
    ...Object.entries(issues).flatMap(([name, sentences]) => sentences.map((sentence) => `${name}: ${sentence}`)),
    ...absent.map((name) => `${name}: ${isRequired}`),
    ...Object.keys(parsed(content))
      .filter((name) => !Object.hasOwn(fields, name))
      .map((name) => `Unknown field ${quote(name)}: expected ${sentenceList(Object.keys(fields))}.`),
  ];
  const whole = {
    arch: 'any' as const,
    template: manifestFields.template.initial ?? '',
    packages: [],
    health: { by: 'tcp' as const },
    ...sent,
  };
  if (wrongs.length > 0 || !isWhole(whole))
    throw failed(`The ${manifestFile} of the bundle is invalid. ${wrongs.join(' ')}`);
  return Object.freeze(whole);
}

function isWhole(sent: SentOf<typeof manifestFields>): sent is Manifest {
  return Object.keys(manifestFields).every((name) => Object.hasOwn(sent, name));
}

function parsed(content: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw failed(`The ${manifestFile} of the bundle is not a JSON object.`);
}
