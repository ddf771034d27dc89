import type { Field } from '../../engine/declare/fields.ts';
import { isObject, type Json, type JsonObject } from '../../lib/json.ts';

/** Common values, from general to specific. A field's sample is the first of them that the field accepts. */
const usual: readonly Json[] = [
  'example',
  'US',
  'up',
  'vlan7',
  '192.0.2.7',
  '2001:db8::7',
  '192.0.2.0/24',
  '0.0.0.0:3260',
  '/mnt/tank/example',
  '/example',
  '755',
  '128K',
  '10G',
  'nas.example.com',
  'ldap://ldap.example.com',
  'https://example.com/debian.tar.xz',
  'https://nas.example.com',
  'admin@example.com',
  'dc=example,dc=com',
  'iqn.2026-01.com.example',
  '--bwlimit=1000',
  'a longer text',
  'timeout = 600',
  'ticket_lifetime = 10h',
  'log level = default:info',
  'idle_timelimit 600',
  'trap2sink 192.0.2.9',
  'dummy-ups$Model',
  'fence_ipmilan',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0 nas',
  { vdevtype: 'mirror', disks: ['ada0', 'ada1'] },
  { method: 'DELETE', path: 'tasks/cronjob/1/' },
  { name: 'site.yaml', text: 'holdfast: 1\n' },
  { resources: ['sharing/*'], verbs: ['read', 'update'] },
  '2027-01-31T06:00:00Z',
  2048,
  // A keytab with one key.
  'BQIAAABWAAIAC0VYQU1QTEUuQ09NAANuZnMAD25hcy5leGFtcGxlLmNvbQAAAAEAAAAAAQASACBuZnNuZnNuZnNuZnNuZnNuZnNuZnNuZnNuZnNuZnNuZgAAAAE=',
  Buffer.alloc(32, 'example').toString('base64'),
  Buffer.alloc(64, 'example').toString('base64'),
  true,
  null,
  '',
];

/** An example of a value that clients may send: the field's default when it is informative. */
export function sentSample(field: Field): Json {
  const { initial, schema } = field;
  const own: readonly unknown[] = [
    ...(isInformative(initial) ? [initial] : []),
    ...membersOf(isSchema(schema['items']) ? schema['items'] : schema),
    ...numbersOf(isSchema(schema['items']) ? schema['items'] : schema),
  ];
  const single = own.concat(usual);
  // A list field also accepts a single value; the sample must show a list.
  const candidates =
    schema['type'] === 'array'
      ? [
          ...(isInformative(initial) ? [initial] : []),
          ...single.filter((value) => !Array.isArray(value)).map((candidate) => [candidate]),
        ]
      : single;
  return candidates.filter(isJson).find((candidate) => field.read(candidate).ok && fits(schema, candidate)) ?? null;
}

/** An example of a value that answers contain. */
export function answeredSample(field: Field): Json {
  const reading = field.read(sentSample(field));
  if (reading.ok && isJson(reading.value) && reading.value !== null && fits(field.schema, reading.value))
    return reading.value;
  return sampleOf(field.schema);
}

/** A value that matches a schema, for fields that clients never send. */
export function sampleOf(schema: JsonObject): Json {
  const { type, items, properties, examples } = schema;
  if (Array.isArray(examples)) return examples[0];
  const [member] = membersOf(schema);
  if (member !== undefined) return member;
  const kind = Array.isArray(type) ? type[0] : type;
  const [number] = numbersOf(schema);
  if (number !== undefined) return number;
  if (kind === 'boolean') return true;
  if (kind === 'array') return isSchema(items) ? [sampleOf(items)] : [];
  if (kind === 'object')
    return isSchema(properties)
      ? Object.fromEntries(
          Object.entries(properties).map(([name, property]) => [name, isSchema(property) ? sampleOf(property) : null]),
        )
      : {};
  const among = schema['anyOf'];
  if (Array.isArray(among)) return among.filter(isSchema).map(sampleOf)[0] ?? null;
  return kind === 'null' ? null : 'example';
}

function isInformative(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

/** The informative members of an enum. */
function membersOf({ enum: members, anyOf }: JsonObject): readonly Json[] {
  if (Array.isArray(members)) return members.filter(isInformative).filter(isJson);
  return Array.isArray(anyOf) ? anyOf.filter(isSchema).flatMap(membersOf) : [];
}

function numbersOf(schema: JsonObject): readonly number[] {
  const { type, minimum, anyOf } = schema;
  if (type === 'integer' || (Array.isArray(type) && type[0] === 'integer'))
    return [typeof minimum === 'number' ? Math.max(minimum, 1) : 1];
  return Array.isArray(anyOf) ? anyOf.filter(isSchema).flatMap(numbersOf) : [];
}

/** Whether a value has the schema's type. The field itself has already checked everything else. */
function fits({ type, anyOf, enum: members, pattern, items }: JsonObject, value: Json): boolean {
  if (Array.isArray(value) && isSchema(items)) return value.every((one) => fits(items, one));
  if (Array.isArray(members)) return members.includes(value);
  if (Array.isArray(anyOf)) return anyOf.some((branch) => isSchema(branch) && fits(branch, value));
  if (typeof value === 'string' && typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value)) return false;
  const kind = Array.isArray(value)
    ? 'array'
    : value === null
      ? 'null'
      : Number.isInteger(value)
        ? 'integer'
        : typeof value;
  const expected = Array.isArray(type) ? type : [type];
  return type === undefined || expected.includes(kind) || (kind === 'integer' && expected.includes('number'));
}

function isSchema(value: Json | undefined): value is JsonObject {
  return isObject(value);
}

function isJson(value: unknown): value is Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return true;
  return Array.isArray(value) ? value.every(isJson) : isObject(value) && Object.values(value).every(isJson);
}
