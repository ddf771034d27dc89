import type { Act } from '../../engine/declare/access.ts';
import { required, text } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isAnswered } from '../../engine/declare/record.ts';
import type { Resource } from '../../engine/declare/resource.ts';
import { choiceOf, listOf, objectOf, stringOf } from '../../engine/declare/schema.ts';
import { isKeptResource } from '../../engine/engine.ts';
import { collected } from '../../lib/slices.ts';
import { formsOf } from './resources.ts';

const found = objectOf('SearchResult', {
  kind: choiceOf(['record', 'resource', 'setting', 'action'], 'What was found.'),
  resource: stringOf('Path of its resource.'),
  key: stringOf('What paths name the record by, or the name of the setting or action; empty for a resource.'),
  title: stringOf('What it is called.'),
  detail: stringOf('What it is, or where the text was found.'),
});

export const search = section('search', 'A search over everything that is managed.', [
  operation({
    method: 'GET',
    path: 'search',
    name: 'findAnything',
    title: 'Finds records, settings and actions by label, name and description, the best match first.',
    query: { text: required(text({ description: 'What to look for; every word of it has to be found.', max: 100 })) },
    answer: listOf(found),
    list: { key: ['kind', 'resource', 'key'], isOrdered: true, limit: 30 },
    example: { query: { text: 'root' } },
    isOpen: true,
    async run(call) {
      const words = call.query.text
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== '');
      const ranked = await collected(matches(words, call));
      return ranked
        .flat()
        .toSorted((a, b) => b.rank - a.rank)
        .map(({ one: { also: _, ...shown } }) => shown);
    },
  }),
]);

interface Candidate {
  readonly kind: 'record' | 'resource' | 'setting' | 'action';
  readonly resource: string;
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  /** Further texts that it is found by. */
  readonly also: string;
}

type Call = Pick<OperationCall, 'engine' | 'context'>;

/** How well it matches: words in the title count most, and most at its beginning. 0 if a word is missing. */
function rankOf(words: readonly string[], { kind, title, detail, also }: Candidate): number {
  const head = title.toLowerCase();
  const rest = `${detail} ${also}`.toLowerCase();
  let rank = kind === 'record' ? 2 : kind === 'resource' ? 1 : 0;
  for (const word of words) {
    if (head === word) rank += 12;
    else if (head.startsWith(word)) rank += 8;
    else if (head.includes(word)) rank += 5;
    else if (rest.includes(word)) rank += 1;
    else return 0;
  }
  return rank + 1;
}

/** What matches, in pieces: there can be a hundred thousand records. */
function* matches(words: readonly string[], call: Call) {
  for (const candidates of [recordsIn(call), settingsIn(call)])
    for (const candidate of candidates) {
      const rank = rankOf(words, candidate);
      yield rank > 0 ? [{ one: candidate, rank }] : [];
    }
}

/** Records of the configuration, and what the machine has of pools, datasets and disks. Secrets are not searched. */
function* recordsIn({ engine, context }: Call): Generator<Candidate> {
  const world = engine.glance(['storage', 'disks']);
  const scope = { ...world, params: {}, profile: 'document' as const, problems: [], version: '' };
  for (const resource of engine.resources.filter((one) => searched(one) && mayRead(context, one))) {
    if (resource.kind === 'hosted')
      for (const item of resource.list(scope).slice(0, mostObjects))
        yield candidateOf(resource, resource.key.name, resource.present(item, scope));
    else if (resource.kind === 'collection' && isKeptResource(resource))
      // A copy: the table changes while other requests are answered in between.
      for (const record of [...engine.table(resource).all()]) yield candidateOf(resource, 'id', record);
  }
}

/** Snapshots are too many to be looked through at each keystroke: their list has a filter of its own. */
const hostedPaths = ['storage/volume', 'storage/dataset', 'storage/disk', 'system/bootenv'];
const mostObjects = 5000;

const searched = (resource: Resource): boolean =>
  resource.verbs.includes('list') &&
  !resource.path.includes('{') &&
  (resource.kind !== 'hosted' || hostedPaths.includes(resource.path));

function mayRead({ access }: Call['context'], { path }: Resource): boolean {
  const act: Act = { resource: path, declared: path, record: undefined, verb: 'read', reads: true, ...nothingSent };
  return access === undefined || access.problem(act) === undefined;
}

const nothingSent = { fields: undefined, before: undefined } as const;

function candidateOf(resource: Resource, key: string, record: object): Candidate {
  const values: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(record));
  const texts = Object.entries(resource.fields).flatMap(([name, field]) => {
    const value = values[name];
    return isAnswered(field) && !field.secret && field.raw !== true && typeof value === 'string' ? [value] : [];
  });
  const form = formNames(resource);
  const name = form === undefined ? undefined : values[form];
  return {
    ...{ kind: 'record', resource: resource.path, key: String(values[key] ?? '') },
    title: typeof name === 'string' && name !== '' ? name : (texts[0] ?? `${resource.title} ${String(values[key])}`),
    ...{ detail: resource.title, also: texts.join(' ') },
  };
}

const formNames = (resource: Resource): string | undefined =>
  resource.nameField ??
  (resource.kind === 'collection'
    ? resource.order.find((one) => !one.startsWith('-'))
    : resource.kind === 'hosted'
      ? resource.key.name
      : undefined);

/** Resources, their fields and their commands. */
function* settingsIn({ engine, context }: Call): Generator<Candidate> {
  const readable = new Set(engine.resources.filter((one) => mayRead(context, one)).map(({ path }) => path));
  for (const { path, name, title, description, fields, commands } of formsOf(engine.resources)) {
    if (!readable.has(path)) continue;
    yield* [
      { kind: 'resource', resource: path, key: '', title, detail: description, also: `${name} ${path}` },
      ...fields
        .filter(({ sent }) => sent)
        .map((field) => ({
          ...{ kind: 'setting' as const, resource: path, key: field.wire, title: field.title },
          ...{ detail: `${title}: ${field.description}`, also: `${field.wire} ${field.name}` },
        })),
      ...commands
        .filter(({ verb }) => !['list', 'show', 'set', 'clear'].includes(verb))
        .map((one) => ({
          ...{
            kind: 'action' as const,
            resource: path,
            key: one.verb,
            title: `${one.verb} ${title}`,
            detail: one.title,
          },
          also: name,
        })),
    ] satisfies readonly Candidate[];
  }
}
