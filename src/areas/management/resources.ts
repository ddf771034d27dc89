import type { Field, Fields } from '../../engine/declare/fields.ts';
import { formOf } from '../../engine/declare/form.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { isAnswered, maySend } from '../../engine/declare/record.ts';
import type { Resource } from '../../engine/declare/resource.ts';
import { anyObject, choiceOf, flagOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import {
  type CommandWords,
  type FieldWords,
  type ResourceWords,
  vocabularyOf,
} from '../../engine/declare/vocabulary.ts';
import { memo } from '../../lib/memo.ts';

const formField = objectOf('FormField', {
  name: stringOf('Name on the command line.'),
  wire: stringOf('Name in requests and answers.'),
  title: stringOf('Label.'),
  description: stringOf('What it means.'),
  group: stringOf('Heading of the fields that a form shows together.'),
  rank: choiceOf(['basic', 'advanced'], 'Whether a form shows it at once.'),
  widget: orNull(stringOf('How a form asks for it; null where the schema says it.')),
  refers_to: orNull(stringOf('Path of the resource whose record it is the id or the name of.')),
  by_id: flagOf('Whether it is the id of that record, and not its name.'),
  schema: anyObject('JSON Schema of the value.'),
  initial: { description: 'The value if none is sent; null if there is none, or it is not a plain one.' },
  required: flagOf('Whether a new record must have it.'),
  secret: flagOf('Whether answers mask it.'),
  shown: flagOf('Whether answers have it.'),
  sent: flagOf('Whether requests may have it.'),
  create_only: flagOf('Whether it cannot be changed later.'),
});

const command = objectOf('ResourceCommand', {
  verb: stringOf('What the command line calls it.'),
  title: stringOf('What it does.'),
  method: choiceOf(['GET', 'POST', 'PUT', 'DELETE'], 'Method of its request.'),
  path: stringOf('Path of its request from the root of the server, with parameters in braces.'),
  on_record: flagOf('Whether it is about one record.'),
  final: flagOf('Whether it destroys data or interrupts the machine.'),
  takes_list: flagOf('Whether its body is a list.'),
  fields: listOf(formField, 'What it takes, if that is not the fields of the resource.'),
});

const entry = objectOf('ResourceForm', {
  path: stringOf('Path of the resource below /api/v1.0/.'),
  name: stringOf('Name on the command line.'),
  title: stringOf('What one of its records is.'),
  description: stringOf('What it is.'),
  kind: choiceOf(
    ['records', 'settings', 'actions'],
    'Whether it has records, is one record of settings, or only acts.',
  ),
  owner: choiceOf(['configuration', 'machine'], 'Whether its records belong to the configuration or to the machine.'),
  name_field: orNull(stringOf('The field that its records are called by.')),
  key_field: stringOf('The field that paths name a record by.'),
  columns: listOf(stringOf('One field.'), 'The fields that a table shows.'),
  fields: listOf(formField, 'Its fields.'),
  commands: listOf(command, 'What can be done with it.'),
  subsystems: listOf(
    stringOf('Name of one.'),
    'Parts of the machine that are made from its records, as GET drift has them.',
  ),
});

export const resources = section('resources', 'What there is to manage, as forms and tables show it.', [
  operation({
    method: 'GET',
    path: 'resources',
    name: 'listResources',
    title: 'Lists the resources, with their fields as forms show them and their commands.',
    answer: listOf(entry),
    list: { key: ['path'] },
    example: { query: { filter: 'path=sharing/cifs' } },
    isOpen: true,
    run: ({ engine, subsystems }) =>
      formsOf(engine.resources).map((form) => ({
        ...form,
        subsystems: subsystems
          .filter(({ reads }) => reads.some(({ path }) => path === form.path))
          .map(({ name }) => name),
      })),
  }),
]);

/** Every resource that has an address, as forms show it. */
export const formsOf = memo((all: readonly Resource[]) => {
  const shown = all.filter(({ verbs, actions }) => verbs.length + actions.length > 0);
  const words = new Map(vocabularyOf(all, []).resources.map((one) => [one.path, one]));
  // The command line joins resources with the same records under one name; forms go by paths.
  const alone = (resource: Resource) =>
    words.get(resource.path) ?? vocabularyOf([resource], []).resources.find(({ path }) => path === resource.path);
  return Object.freeze(shown.flatMap((resource) => entryOf(resource, alone(resource)) ?? []));
});

function entryOf(resource: Resource, words: ResourceWords | undefined) {
  if (words === undefined) return undefined;
  const fields = words.fields.flatMap((one) => shownField(one, resource.fields));
  const isShown = (wire: string | undefined) => fields.some((one) => one.wire === wire && one.shown && !one.secret);
  // A pool is created under one name and shown under another.
  const isRenamed = words.nameField !== undefined && /^\w+$/.test(words.nameField) && !isShown(words.nameField);
  const name = isRenamed && isShown('name') ? 'name' : isShown(words.nameField) ? words.nameField : undefined;
  const columns = words.columns ?? fields.filter(({ rank }) => rank === 'basic').map(({ wire }) => wire);
  return {
    ...{ path: resource.path, name: words.name, title: words.title, description: words.description, kind: words.kind },
    owner: resource.kind === 'hosted' ? 'machine' : 'configuration',
    name_field: name ?? null,
    key_field: resource.kind !== 'hosted' ? 'id' : isRenamed ? (name ?? resource.key.name) : resource.key.name,
    // A list cannot be asked for secrets.
    columns: columns.filter(isShown).slice(0, words.columns?.length ?? 5),
    fields,
    commands: words.commands
      .filter(({ path }) => path.startsWith(`api/v1.0/${resource.path}/`))
      .map((one) => shownCommand(one, resource)),
  };
}

function shownCommand(words: CommandWords, resource: Resource) {
  const own = ownFieldsOf(words, resource);
  return {
    ...{ verb: words.verb, title: words.title, method: words.method, path: words.path, on_record: words.onRecord },
    final: words.isFinal === true,
    takes_list: words.takesList === true,
    fields: words.fields === 'resource' ? [] : words.fields.flatMap((one) => shownField(one, own)),
  };
}

/** The declared fields of a command that has its own: those of an action, or of the removal of an object. */
function ownFieldsOf({ verb, path }: CommandWords, resource: Resource): Fields {
  if (verb === 'delete') return (resource.kind === 'hosted' ? resource.removal : undefined) ?? {};
  const segment = path
    .slice(`api/v1.0/${resource.path}/`.length)
    .replace(/^\{key\}\//, '')
    .replace(/\/$/, '');
  return resource.actions.find((one) => one.segment === segment && one.fields !== undefined)?.fields ?? {};
}

function shownField(words: FieldWords, fields: Fields) {
  const field: Field | undefined = fields[words.wire];
  if (field === undefined || !(maySend(field) || isAnswered(field))) return [];
  const { title, group, rank, widget, refersTo } = formOf(words.wire, field);
  return [
    {
      ...{ name: words.name, wire: words.wire, title, description: field.description, group, rank },
      ...{ widget: widget ?? null, refers_to: refersTo ?? null, by_id: field.refers !== undefined },
      schema: field.schema,
      initial: words.initial ?? null,
      ...{ required: field.required, secret: field.secret, shown: words.shown, sent: words.sent },
      create_only: field.createOnly,
    },
  ];
}
