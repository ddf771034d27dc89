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

/** The file of a bundle that says what the plugin is. */
export const manifestFile = 'plugin.json';

/** Characters of that file. */
export const longestManifest = 16_384;

/** How the manifest says that one learns whether the plugin works. */
export type Health =
  | { readonly by: 'tcp' }
  | { readonly by: 'http'; readonly path: string }
  | { readonly by: 'command'; readonly words: readonly string[] };

const word = text({ description: 'One word of the command.', max: 1000, untrimmed: true });

/** A program with its words. No shell reads them. */
const command = (description: string): Field<readonly string[], 'plain'> => {
  const words = list(word, { description, max: 100 });
  return required(
    field({
      ...words,
      read: (sent) =>
        Array.isArray(sent) && sent.length > 0 && sent[0] !== ''
          ? words.read(sent)
          : wrong(`A list of words is wanted, the program first, not ${quote(sent)}.`),
    }),
  );
};

const pagePath = text({
  description: 'Path of a page.',
  max: 500,
  pattern: /^\/[\x21-\x7e]*$/,
  rule: 'A path of a page begins with / and has no blanks.',
});
const checkCommand = command('Command.');

const health = field<Health>({
  description: 'Health check: "tcp", {"http": "/path"} or {"command": ["word", …]}.',
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
      const words = checkCommand.read(only[1]);
      return words.ok ? good({ by: 'command', words: words.value }) : words;
    }
    return wrong(`"tcp", {"http": "/path"} or {"command": ["word", …]} is wanted, not ${quote(sent)}.`);
  },
});

export const manifestFields = {
  format: required(
    refine(integer({ description: 'Version of the format of bundles, which is 1.' }), (value) =>
      value === 1 ? undefined : 'This Holdfast knows the format 1.',
    ),
  ),
  name: required(
    text({
      description: 'Name of the plugin, after which its folder is called.',
      max: 40,
      pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
      rule: 'Small letters, digits and - only, and no - at either end.',
    }),
  ),
  version: required(
    text({
      description: 'Its version.',
      max: 40,
      pattern: /^[A-Za-z0-9][A-Za-z0-9.+~_-]*$/,
      rule: 'Letters, digits and . + ~ _ - only.',
    }),
  ),
  arch: choice(['any', 'x64', 'x86'], { description: 'What its programs are for.', initial: 'any' }),
  template: text({ description: 'Template of the jail that is made for it.', max: 120, initial: 'pluginjail' }),
  packages: list(
    text({
      description: 'Name of a package.',
      max: 100,
      pattern: /^[a-z0-9][a-z0-9.+-]+$/,
      rule: 'A package of Debian is wanted, by its name.',
    }),
    {
      description: 'Packages of Debian that it needs.',
      max: 100,
    },
  ),
  start: command('Command that starts it, and ends once it is on its way.'),
  stop: command('Command that stops it.'),
  port: required(port({ description: 'TCP port of its page.' })),
  health,
};

export type Manifest = Required<SentOf<typeof manifestFields>>;

/** Reads the manifest of a bundle. All that is wrong with it is told together. */
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
      .map((name) => `${quote(name)} is none of ${sentenceList(Object.keys(fields))}.`),
  ];
  const whole = {
    arch: 'any' as const,
    template: manifestFields.template.initial ?? '',
    packages: [],
    health: { by: 'tcp' as const },
    ...sent,
  };
  if (wrongs.length > 0 || !isWhole(whole))
    throw failed(`The ${manifestFile} of the bundle is wrong. ${wrongs.join(' ')}`);
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
    // Told below.
  }
  throw failed(`The ${manifestFile} of the bundle is no JSON object.`);
}
