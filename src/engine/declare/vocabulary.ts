/**
 * The words of people for what the interface has: names of resources and fields, and the commands that follow from the
 * catalogue. Made from the declarations, as data, so that the command line does not load them.
 */
import { isObject, type JsonObject } from '../../lib/json.ts';
import type { Field, Fields } from './fields.ts';
import { formOf, withoutPrefixOf } from './form.ts';
import type { Operation, Section } from './operation.ts';
import { isAnswered, maySend } from './record.ts';
import type { Action, Resource, Verb } from './resource.ts';

export type ValueKind = 'boolean' | 'integer' | 'size' | 'text' | 'choice' | 'list' | 'json';

export interface FieldWords {
  /** `guest`. */
  readonly name: string;
  /** `cifs_guestok`. */
  readonly wire: string;
  readonly title: string;
  readonly description: string;
  readonly kind: ValueKind;
  readonly choices?: readonly string[];
  /** Short name of the resource whose record the value is. */
  readonly refers?: string;
  /** Whether the value is the id of that record, and not its name. */
  readonly byId?: boolean;
  readonly required?: boolean;
  readonly secret?: boolean;
  /** Whether a record shows it, and whether a request can set it. */
  readonly shown: boolean;
  readonly sent: boolean;
  readonly createOnly?: boolean;
  readonly advanced?: boolean;
  readonly initial?: string | number | boolean | null;
}

/** A command: `VERB RESOURCE`, and the request that it sends. */
export interface CommandWords {
  readonly verb: string;
  readonly title: string;
  readonly method: string;
  /** Path from the root of the server, with parameters in braces: `api/v1.0/sharing/cifs/{key}/`. */
  readonly path: string;
  /** Whether it is about one record, which its first argument names. */
  readonly onRecord: boolean;
  /** What it takes: the names of fields of the resource, or fields of its own. */
  readonly fields: readonly FieldWords[] | 'resource';
  /** The fields that arguments without an option give, in this order. */
  readonly arguments: readonly string[];
  /** Names of parameters in the query. */
  readonly query?: readonly string[];
  /** Whether the body is a list of texts. */
  readonly takesList?: boolean;
  /** Whether it destroys data or interrupts the machine, so that it is confirmed first. */
  readonly isFinal?: boolean;
}

export interface ResourceWords {
  readonly name: string;
  /** `sharing/cifs`; what events and jobs call it. */
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly kind: 'records' | 'settings' | 'actions';
  /** Whether paths name a record by its name, and not by its number. */
  readonly byName: boolean;
  readonly nameField?: string;
  /** The field with what paths name a record by, where that is not its name. */
  readonly keyField?: string;
  readonly otherNames?: Readonly<Record<string, string>>;
  /** The fields that a table shows, by their names on the wire. */
  readonly columns?: readonly string[];
  readonly fields: readonly FieldWords[];
  readonly commands: readonly CommandWords[];
}

export interface Vocabulary {
  readonly resources: readonly ResourceWords[];
}

export const documentRoot = 'api/v1.0';
export const ownRoot = 'api/holdfast/v1';

export function vocabularyOf(catalogue: readonly Resource[], sections: readonly Section[]): Vocabulary {
  const named = catalogue.filter((resource) => resource.shortName !== undefined);
  const names = new Map(named.map(({ path, shortName = path }) => [path, shortName]));
  const found = new Map<string, ResourceWords>();
  // Of resources with the same records, the one with the shorter path says what they are.
  for (const resource of named.toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{'))))
    add(found, wordsOf(resource, names));
  for (const words of sections.flatMap(({ operations }) => ownWords(operations))) add(found, words);
  return { resources: [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** A resource that is there already gets the further commands only. */
function add(found: Map<string, ResourceWords>, words: ResourceWords): void {
  const known = found.get(words.name);
  if (known === undefined) found.set(words.name, words);
  else {
    const further = words.commands
      .filter(({ verb }) => !known.commands.some((one) => one.verb === verb))
      .map((command) => (command.fields === 'resource' ? { ...command, fields: words.fields } : command));
    found.set(words.name, { ...known, commands: [...known.commands, ...further] });
  }
}

// Resources of the document ------------------------------------------------------------------------------------------

const verbWords: Readonly<Record<Verb, string>> = {
  list: 'list',
  read: 'show',
  create: 'create',
  update: 'set',
  remove: 'delete',
  clear: 'clear',
};
const methods: Readonly<Record<Verb, string>> = {
  list: 'GET',
  read: 'GET',
  create: 'POST',
  update: 'PUT',
  remove: 'DELETE',
  clear: 'DELETE',
};

function wordsOf(resource: Resource, names: ReadonlyMap<string, string>): ResourceWords {
  const { path, shortName = path, title, description, otherNames, columns } = resource;
  const fields = fieldWords(resource.fields, names);
  const nameField = nameFieldOf(resource);
  const root = `${documentRoot}/${path}/`;
  const isSettings = resource.kind === 'singleton';
  const byName = resource.kind === 'hosted' || (resource.kind === 'collection' && resource.alias !== undefined);
  const key = resource.kind === 'hosted' ? resource.key.name : undefined;
  const isShown = (wire: string | undefined) => fields.some((one) => one.wire === wire && one.shown);
  const keyField = isShown(nameField) && isShown(key) && key !== nameField ? key : undefined;
  const commands = resource.verbs.map((verb): CommandWords => {
    const onRecord = !isSettings && (verb === 'read' || verb === 'update' || verb === 'remove');
    const takes = verb === 'create' || verb === 'update';
    const removal = verb === 'remove' && resource.kind === 'hosted' ? fieldWords(resource.removal ?? {}, names) : [];
    return {
      verb: verbWords[verb],
      title: sentenceOf(verb, title),
      method: methods[verb],
      path: onRecord ? `${root}{key}/` : root,
      onRecord,
      fields: takes ? 'resource' : removal,
      arguments: verb === 'create' && nameField !== undefined ? [nameField] : [],
      ...(verb === 'clear' || (verb === 'remove' && resource.kind === 'hosted') ? { isFinal: true } : {}),
    };
  });
  const actions = resource.actions.flatMap((action) => actionWords(action, root, names) ?? []);
  return {
    ...{ name: shortName, path, title, description, byName, fields },
    kind: isSettings ? 'settings' : resource.verbs.length === 0 ? 'actions' : 'records',
    ...(nameField === undefined ? {} : { nameField }),
    ...(keyField === undefined ? {} : { keyField }),
    ...(otherNames === undefined ? {} : { otherNames }),
    ...(columns === undefined ? {} : { columns }),
    commands: [...commands, ...actions],
  };
}

const clauses: Readonly<Record<Verb, string>> = {
  list: 'Lists records: ',
  read: 'Shows one: ',
  create: 'Creates one: ',
  update: 'Changes one: ',
  remove: 'Removes one: ',
  clear: 'Removes all records: ',
};
const sentenceOf = (verb: Verb, title: string) => `${clauses[verb]}${title}.`;

const finalActions: ReadonlySet<string> = new Set(['factory_restore', 'rollback', 'upgrade', 'rekey', 'detach']);

function actionWords(
  action: Action<Fields, unknown, never>,
  root: string,
  names: ReadonlyMap<string, string>,
): CommandWords | undefined {
  const { segment, method, on, title } = action;
  const verb = action.verb ?? segment.replaceAll('_', '-');
  if (verb === '' || action.bare) return undefined;
  const fields = fieldWords(action.fields ?? {}, names);
  const required = fields.filter((one) => one.required).map(({ wire }) => wire);
  return {
    ...{ verb, title, method, fields },
    path: `${root}${on === 'record' ? '{key}/' : ''}${segment === '' ? '' : `${segment}/`}`,
    onRecord: on === 'record',
    // More than two are easier to read as options.
    arguments: required.length > 2 ? required.slice(0, 1) : required,
    ...(action.items === undefined ? {} : { takesList: true }),
    ...(finalActions.has(`${segment}`) || /^system\/(?:reboot|shutdown)$/.test(root.slice(documentRoot.length + 1, -1))
      ? { isFinal: true }
      : {}),
  };
}

/** What records are named by where the resource does not say it. */
function nameFieldOf(resource: Resource): string | undefined {
  if (resource.nameField !== undefined || resource.kind === 'singleton') return resource.nameField;
  if (resource.kind === 'hosted') return undefined;
  const unique = resource.unique.find(({ fields }) => fields.length === 1)?.fields[0];
  const first = resource.order.find((name) => !/^-|builtin$/.test(name));
  return resource.alias ?? unique ?? first;
}

function fieldWords(fields: Fields, names: ReadonlyMap<string, string>): readonly FieldWords[] {
  const all = Object.entries(fields).filter(([, field]) => maySend(field) || isAnswered(field));
  const short = new Map(all.map(([wire, field]) => [wire, field.shortName ?? withoutPrefixOf(wire)]));
  const counts = new Map<string, number>();
  for (const name of short.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return all.map(([wire, field]) => {
    const name = short.get(wire) ?? wire;
    // Of two fields with one name, both keep their prefix. `id` is the number of every record.
    return fieldWord((counts.get(name) ?? 0) > 1 || (name === 'id' && wire !== 'id') ? wire : name, wire, field, names);
  });
}

function fieldWord(name: string, wire: string, field: Field, names: ReadonlyMap<string, string>): FieldWords {
  const { title, refersTo, rank } = formOf(wire, field);
  const choices = choicesOf(field.schema);
  const refers = refersTo === undefined ? undefined : names.get(refersTo);
  const initial = field.secret ? undefined : field.initial;
  return {
    ...{ name, wire, title, description: field.description, kind: kindOf(field) },
    ...(choices === undefined ? {} : { choices }),
    ...(refers === undefined ? {} : { refers }),
    ...(field.refers === undefined ? {} : { byId: true }),
    ...(field.required ? { required: true } : {}),
    ...(field.secret ? { secret: true } : {}),
    shown: isAnswered(field),
    sent: maySend(field),
    ...(field.createOnly ? { createOnly: true } : {}),
    ...(rank === 'advanced' ? { advanced: true } : {}),
    ...(initial === null || typeof initial === 'string' || typeof initial === 'number' || typeof initial === 'boolean'
      ? { initial }
      : {}),
  };
}

function kindOf(field: Field): ValueKind {
  if (field.widget === 'size') return 'size';
  return kindIn(field.schema);
}

function kindIn(schema: JsonObject): ValueKind {
  const { anyOf, type, items } = schema;
  if (Array.isArray(schema['enum'])) return 'choice';
  if (Array.isArray(anyOf)) {
    const [first] = anyOf.filter((one) => isObject(one) && one['type'] !== 'null');
    return isJsonObject(first) ? kindIn(first) : 'json';
  }
  if (type === 'boolean' || type === 'integer') return type;
  if (type === 'array') return isObject(items) && items['type'] !== 'object' ? 'list' : 'json';
  return type === 'object' || type === undefined ? 'json' : 'text';
}

function choicesOf(schema: JsonObject): readonly string[] | undefined {
  const { anyOf, items } = schema;
  if (Array.isArray(schema['enum'])) return schema['enum'].map(String);
  if (Array.isArray(anyOf))
    return anyOf
      .filter(isJsonObject)
      .map(choicesOf)
      .find((found) => found !== undefined);
  return isJsonObject(items) ? choicesOf(items) : undefined;
}

const isJsonObject = (value: unknown): value is JsonObject => isObject(value);

// Operations of our own interface ------------------------------------------------------------------------------------

/** Commands that the command line has in another form. */
const elsewhere: ReadonlySet<string> = new Set([
  ...['planRequest', 'followEvents', 'pollEvents', 'transact', 'beginSession', 'logOut', 'revertRevision', 'examine'],
  ...['exportFile', 'diffFile', 'applyFile', 'migrateConfig'],
  ...['proposeAdoption', 'listResources', 'findAnything', 'previewSchedule', 'joinCluster'],
]);
/** Operations that end what cannot be had back. */
const finalOperations: ReadonlySet<string> = new Set(['fenceNode']);
const ownVerbs: Readonly<Record<string, string>> = { get: 'show', update: 'set', remove: 'delete' };
const singular: Readonly<Record<string, string>> = { people: 'person', daemon: 'daemon' };

function ownWords(operations: readonly Operation[]): readonly ResourceWords[] {
  return operations
    .filter(({ name }) => !elsewhere.has(name))
    .map((operation): ResourceWords => {
      const [first = '', ...rest] = operation.name
        .replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
        .split('-');
      const words = rest.join('-');
      const noun = first === 'list' ? (singular[words] ?? words.replace(/s$/, '')) : words;
      const answered = membersOf(operation.answer);
      const body = fieldWords(operation.body, new Map());
      const query = fieldWords(operation.query, new Map());
      const [key] = Object.keys(operation.params);
      const nameField = ['name', 'account', 'subsystem'].find((one) => answered.some(({ wire }) => wire === one));
      return {
        ...{ name: noun, path: `${ownRoot}/${operation.path.split('/')[0] ?? ''}`, title: noun.replaceAll('-', ' ') },
        description: operation.title,
        kind: 'records',
        byName:
          key !== undefined && isObject(operation.params[key]) && operation.params[key].schema['type'] !== 'integer',
        ...(nameField === undefined ? {} : { nameField }),
        fields: answered,
        commands: [
          {
            verb: ownVerbs[first] ?? first,
            title: operation.title,
            method: operation.method,
            path: `${ownRoot}/${operation.path.replace(/\{\w+\}/, '{key}')}`,
            onRecord: key !== undefined,
            fields: [...body, ...query],
            arguments: [...body, ...query].filter(({ required }) => required).map(({ wire }) => wire),
            query: query.map(({ wire }) => wire),
            ...(finalOperations.has(operation.name) ? { isFinal: true } : {}),
          },
        ],
      };
    });
}

/** The members of what an operation answers, or of the entries of the list that it answers. */
function membersOf(answer: Operation['answer']): readonly FieldWords[] {
  if (typeof answer === 'string') return [];
  const schema = isJsonObject(answer['items']) ? answer['items'] : answer;
  const members = isJsonObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  return members.map(([name, member]) => {
    const described = isJsonObject(member) ? member : {};
    return {
      ...{ name, wire: name, title: name, kind: kindIn(described), shown: true, sent: false },
      description: String(described['description'] ?? ''),
    };
  });
}
