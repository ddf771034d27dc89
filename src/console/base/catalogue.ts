/** What there is to manage, as the appliance describes it. */
import type { components } from '../../../clients/typescript/src/index.ts';
import * as t from '../texts/base/catalogue.ts';
import { client } from './client.ts';

export type Form = components['schemas']['ResourceForm'];
export type FormField = components['schemas']['FormField'];
export type Command = components['schemas']['ResourceCommand'];

const known = new Map<string, Promise<Form | undefined>>();

/** The whole description of one resource; of datasets and zvols by the path of their pool. */
export function formOf(path: string): Promise<Form | undefined> {
  const asked = known.get(path);
  if (asked !== undefined) return asked;
  const declared = path.replace(/^storage\/volume\/[^/]+\/(datasets|zvols)$/, 'storage/volume/{vol}/$1');
  const form = client
    .get('/api/holdfast/v1/resources', { query: { filter: [`path=${declared}`] } })
    .then(([one]) => (one === undefined ? undefined : withTitles({ ...one, path })));
  form.catch(() => known.delete(path));
  known.set(path, form);
  return form;
}

/** The form with the titles of fields in place of their names, where the help of one mentions another. */
function withTitles(form: Form): Form {
  const all = [...form.fields, ...form.commands.flatMap((command) => command.fields)];
  const titles = new Map(all.filter(({ wire }) => wire.includes('_')).map(({ wire, title }) => [wire, title]));
  const readable = (fields: readonly FormField[]) =>
    fields.map((field) => ({
      ...field,
      description: field.description
        .replace(/<(\w+)>/g, (name, wire: string) => `<${titles.get(wire) ?? name.slice(1, -1)}>`)
        .replace(/\b[a-z]+_\w+\b/g, (name) => (titles.has(name) ? t.quoted(titles.get(name) ?? name) : name)),
    }));
  const commands = form.commands.map((command) => ({ ...command, fields: readable(command.fields) }));
  return { ...form, fields: readable(form.fields), commands };
}

export type Brief = Pick<Form, 'path' | 'name' | 'title' | 'description' | 'kind' | 'owner'>;

let briefs: Promise<readonly Brief[]> | undefined;

/** Every resource, without its fields. */
export function allResources(): Promise<readonly Brief[]> {
  briefs ??= client
    .get('/api/holdfast/v1/resources', {
      query: { fields: ['path', 'name', 'title', 'description', 'kind', 'owner'] },
    })
    .then((all) => all.filter(({ path }) => !path.includes('{')));
  briefs.catch(() => {
    briefs = undefined;
  });
  return briefs;
}

export interface Entry {
  readonly name: string;
  readonly title: string;
  /** What belongs to it: beginnings of paths. The longest one that fits decides. */
  readonly paths: readonly string[];
  /** What most people look for, in this order. The rest follows. */
  readonly first?: readonly string[];
}

export const entries: readonly Entry[] = [
  { name: 'overview', title: t.overview, paths: [] },
  { name: 'storage', title: t.storage, paths: ['storage/'] },
  // A service shares something unless another entry names it.
  { name: 'sharing', title: t.sharing, paths: ['sharing/', 'services/'] },
  {
    ...{ name: 'block', title: t.block, paths: ['services/iscsi/'] },
    first: ['services/iscsi/target', 'services/iscsi/extent', 'services/iscsi/portal'],
  },
  {
    name: 'protection',
    title: t.protection,
    paths: [
      ...['storage/snapshot', 'storage/task', 'storage/replication', 'storage/scrub', 'tasks/rsync', 'tasks/smarttest'],
      'services/smart',
    ],
    first: ['storage/task', 'storage/snapshot', 'storage/replication', 'storage/scrub'],
  },
  {
    name: 'accounts',
    title: t.accountsAndDirectory,
    paths: ['account/', 'directoryservice/', 'services/domaincontroller'],
    first: ['account/users', 'account/groups', 'directoryservice/activedirectory', 'directoryservice/ldap'],
  },
  { name: 'network', title: t.network, paths: ['network/', 'services/dynamicdns', 'services/lldp'] },
  {
    name: 'system',
    title: t.system,
    paths: ['services/services', 'services/snmp', 'services/ssh', 'services/ups'],
    first: [
      ...['services/services', 'tasks/cronjob', 'system/certificate', 'system/certificateauthority', 'system/bootenv'],
      ...['system/settings', 'system/email', 'system/advanced', 'services/ssh', 'system/update'],
    ],
  },
  { name: 'activity', title: t.activity, paths: [] },
];

/** The entry that a resource belongs to. Whatever no other entry has belongs to System. */
export function entryOf(path: string): string {
  let best = { name: 'system', length: 0 };
  for (const { name, paths } of entries)
    for (const one of paths) {
      const fits = one.endsWith('/') ? path.startsWith(one) : path === one;
      if (fits && one.length > best.length) best = { name, length: one.length };
    }
  return best.name;
}

export const addressOf = (path: string, key = ''): string =>
  `/api/v1.0/${path}/${key === '' ? '' : `${key.split('/').map(encodeURIComponent).join('/')}/`}`;
