import type { Permission } from '../../engine/declare/access.ts';
import {
  choice,
  type Field,
  field,
  flag,
  good,
  list,
  nullable,
  readOnly,
  refine,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { flagOf, listOf, stringOf } from '../../engine/declare/schema.ts';
import { parseIp, parseNetwork } from '../../lib/ip.ts';
import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';
import { isPattern } from './patterns.ts';
import { roleNames } from './roles.ts';

const strings = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.length <= 100 && value.every((one) => typeof one === 'string') ? value : undefined;

/** One permission, as an object with lists of texts. */
const permission: Field<Permission> = field<Permission>({
  description: 'What may be done with some resources.',
  schema: {
    type: 'object',
    properties: {
      resources: listOf(stringOf('One pattern.'), 'Patterns of resources or records, such as sharing/*.'),
      verbs: listOf(stringOf('One of them.'), 'Verbs and names of actions; * for all.'),
      fields: listOf(stringOf('Name of a field.'), 'The fields that may be sent; empty for all.'),
      raw: flagOf('Whether it includes what amounts to root: raw lines, commands, accounts, keys.'),
    },
    required: ['resources', 'verbs'],
  },
  read(sent) {
    if (!isObject(sent)) return wrong(`Expected an object such as {"resources": [], "verbs": []}, got ${quote(sent)}.`);
    const unknown = Object.keys(sent).find((name) => !['resources', 'verbs', 'fields', 'raw'].includes(name));
    // An unknown member could be a limit that would not hold.
    if (unknown !== undefined) return wrong(`Expected resources, verbs, fields and raw, got ${quote(unknown)}.`);
    const [resources, verbs, fields] = [
      strings(sent['resources']),
      strings(sent['verbs']),
      strings(sent['fields'] ?? []),
    ];
    const raw = sent['raw'] ?? false;
    if (resources === undefined || resources.length === 0)
      return wrong(`Expected resources to be a list of patterns such as sharing/*, got ${quote(sent['resources'])}.`);
    const odd = resources.find((pattern) => !isPattern(pattern));
    if (odd !== undefined)
      return wrong(
        `Expected a path below the API with * for one part and ** at the end for the rest, got ${quote(odd)}.`,
      );
    if (verbs === undefined || verbs.length === 0 || !verbs.every((verb) => /^(\*|[\w-]{1,40})$/.test(verb)))
      return wrong(`Expected verbs to be a list such as read, create, update, got ${quote(sent['verbs'])}.`);
    if (fields === undefined || !fields.every((name) => /^\w{1,60}$/.test(name)))
      return wrong(`Expected fields to be a list of names, got ${quote(sent['fields'])}.`);
    if (typeof raw !== 'boolean') return wrong(`Expected raw to be true or false, got ${quote(raw)}.`);
    return good(Object.freeze({ resources, verbs, fields, raw }));
  },
});

const time = (description: string) =>
  refine(text({ description, max: 40 }), (value) =>
    value === '' || (/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(value) && !Number.isNaN(Date.parse(value)))
      ? undefined
      : `Expected a time such as 2027-01-31T06:00:00Z, got ${quote(value)}.`,
  );

/** What a client sets of the rights of a key or an account. */
export const rightsFields = {
  role: choice(['', ...roleNames], { description: 'Ready-made permissions; empty for none.', initial: '' }),
  permissions: list(permission, {
    description: 'What it may do in addition to its role: any of these permissions suffices.',
    max: 100,
  }),
  dataset: text({
    description:
      'A dataset: only what is below it can be changed, and shares and LUNs of that. Empty for no such limit.',
    max: 255,
    pattern: /^[A-Za-z][\w.:-]*(\/[A-Za-z0-9][\w.: -]*)*$/,
    rule: 'Expected the full name of a dataset, such as tank/containers.',
  }),
  addresses: list(
    refine(text({ description: 'An address or a network.', max: 50 }), (value) =>
      parseIp(value) === undefined && parseNetwork(value) === undefined
        ? `Expected an address or a network such as 192.0.2.0/24, got ${quote(value)}.`
        : undefined,
    ),
    { description: 'Addresses and networks that it may be used from; all when empty.', max: 100 },
  ),
  expires: time('When it expires; never when empty.'),
  enabled: flag(true, { description: 'Whether it is accepted.' }),
} as const;

/** Where such rights come from, and since when they are disabled. */
export const originFields = {
  created: readOnly(text({ description: 'When it was made.', max: 40 })),
  created_by: readOnly(text({ description: 'Account or key that made it.', max: 80 })),
  disabled: readOnly(nullable(text({ description: 'Since when it is disabled; null while enabled.', max: 40 }))),
} as const;

export type Rights = Omit<RecordOf<typeof rightsFields>, 'id'>;
