import type { Field, Fields } from '../../engine/declare/fields.ts';
import { maySend } from '../../engine/declare/record.ts';
import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import { sampleOf, sentSample } from './samples.ts';

/** The schema of a field, with what clients and people need to know about it. */
export function described(name: string, field: Field, sample: Json): JsonObject {
  const schema = withSamples(field.schema);
  const initial = field.initial;
  const plain =
    initial === null || typeof initial === 'string' || typeof initial === 'number' || typeof initial === 'boolean';
  return {
    ...schema,
    ...(name === '' ? {} : { title: titleOf(name) }),
    description: [field.description, ...field.otherNames.map((other) => `Requests may also call it ${other}.`)].join(
      ' ',
    ),
    examples: [sample],
    ...(plain && !field.secret ? { default: initial } : {}),
    ...(field.use === 'readOnly' || field.use === 'live' ? { readOnly: true } : {}),
    ...(field.use === 'inputOnly' ? { writeOnly: true } : {}),
    ...(field.refers === undefined ? {} : { 'x-refers': field.refers.to }),
    ...(field.secret ? { 'x-widget': 'secret' } : field.widget === undefined ? {} : { 'x-widget': field.widget }),
  };
}

/** `Guest only` for `cifs_guest_only`: the prefix that all fields of a resource have is left out. */
function titleOf(name: string): string {
  const words = name
    .replace(/^(?:[a-z]+_srv|iscsi_target_[a-z]+|iscsi|idmap_[a-z\d]+|[a-z]{2,9})_(?=.)/, '')
    .replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function requestSchema(fields: Fields, mode: 'create' | 'update'): JsonObject {
  const sent = Object.entries(fields).filter(([, field]) => maySend(field) && (mode === 'create' || !field.createOnly));
  const required = mode === 'create' ? sent.filter(([, field]) => field.required).map(([name]) => name) : [];
  return {
    type: 'object',
    properties: Object.fromEntries(sent.map(([name, field]) => [name, described(name, field, sentSample(field))])),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** The schema with an example for each of its fields. */
export function withSamples(schema: JsonObject): JsonObject {
  const { items, properties, anyOf } = schema;
  if (Array.isArray(anyOf))
    return { ...schema, anyOf: anyOf.map((branch: Json) => (isObject(branch) ? withSamples(branch) : branch)) };
  if (isObject(items)) return { ...schema, items: withSamples(items) };
  if (!isObject(properties)) return schema;
  const sampled = Object.entries(properties).map(
    ([name, property]) =>
      [name, isObject(property) ? { examples: [sampleOf(property)], ...withSamples(property) } : property] as const,
  );
  return { ...schema, properties: Object.fromEntries(sampled) };
}

export function jsonBody(schema: JsonObject, required: boolean): JsonObject {
  return { required, content: { 'application/json': { schema } } };
}

export function jsonAnswer(description: string, schema: JsonObject): JsonObject {
  return { description, content: { 'application/json': { schema } } };
}

/** The answers to requests that were not performed, of both interfaces. */
export function faultsOf(changes: boolean): JsonObject {
  return {
    '401': { $ref: '#/components/responses/Unauthorized' },
    '403': { $ref: `#/components/responses/${changes ? 'Foreign' : 'Forbidden'}` },
    '404': { $ref: '#/components/responses/NotFound' },
    '429': { $ref: '#/components/responses/Busy' },
  };
}

const problems: JsonObject = {
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
};

const failure: JsonObject = {
  type: 'object',
  properties: {
    error_message: {
      type: 'string',
      description: 'The error, as the machine reported it.',
      examples: ['the disk ada1 is in use'],
    },
  },
  required: ['error_message'],
};

/** The answers that `faultsOf` and operations refer to. */
export const responses: JsonObject = {
  Invalid: jsonAnswer('The problems, by field. `__all__` has those that belong to no single field.', problems),
  Failed: jsonAnswer('The machine refused or failed the operation. Nothing was changed.', failure),
  Refused: jsonAnswer(
    'The problems by field, the error as the machine reported it, or a sentence. Nothing was changed.',
    { anyOf: [failure, problems, { type: 'string' }] },
  ),
  Unauthorized: {
    description:
      'The credential is missing or wrong. For a key that was accepted once, the body says why and since when it is refused.',
  },
  Busy: {
    description:
      'Too many login attempts: the password was not checked. Clients with a credential that was accepted before never get this answer.',
    headers: {
      'Retry-After': {
        description: 'Seconds to wait before sending the request again.',
        schema: { type: 'integer' },
      },
    },
  },
  Foreign: {
    description:
      'The key lacks the permission that the answer names, or a browser sent the request for a page of another server. Nothing was changed.',
  },
  Forbidden: { description: 'The key lacks the permission that the answer names.' },
  Starting: {
    description: 'The daemon is starting. Nothing was changed; send the request again in a few seconds.',
  },
  Changed: {
    description:
      'The record was changed since the answer that If-Match names; the answer is the record as it is. Nothing was changed.',
  },
  Unchanged: { description: 'Nothing has changed since the answer that If-None-Match names.' },
  NotFound: { description: 'The record does not exist.' },
};
