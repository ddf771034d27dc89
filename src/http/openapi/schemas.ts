import { errorCodes } from '../../engine/declare/error-codes.ts';
import type { Field, Fields } from '../../engine/declare/fields.ts';
import { formOf } from '../../engine/declare/form.ts';
import { maySend } from '../../engine/declare/record.ts';
import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import { sampleOf, sentSample } from './samples.ts';

/** The schema of a field, with what clients and people need to know about it. */
export function described(name: string, field: Field, sample: Json): JsonObject {
  const schema = withSamples(field.schema);
  const form = formOf(name, field);
  const initial = field.initial;
  const plain =
    initial === null || typeof initial === 'string' || typeof initial === 'number' || typeof initial === 'boolean';
  return {
    ...schema,
    ...(name === '' ? {} : { title: form.title }),
    description: [field.description, ...field.otherNames.map((other) => `Requests may also call it ${other}.`)].join(
      ' ',
    ),
    examples: [sample],
    ...(plain && !field.secret ? { default: initial } : {}),
    ...(field.use === 'readOnly' || field.use === 'live' ? { readOnly: true } : {}),
    ...(field.use === 'inputOnly' ? { writeOnly: true } : {}),
    ...(name === '' ? {} : { 'x-group': form.group, 'x-rank': form.rank }),
    ...(form.refersTo === undefined ? {} : { 'x-refers-to': form.refersTo }),
    ...(form.widget === undefined ? {} : { 'x-widget': form.widget }),
  };
}

export function requestSchema(fields: Fields, mode: 'create' | 'update'): JsonObject {
  const sent = Object.entries(fields).filter(([, field]) => maySend(field) && (mode === 'create' || !field.createOnly));
  const required = mode === 'create' ? sent.filter(([, field]) => field.required).map(([name]) => name) : [];
  return {
    type: 'object',
    properties: Object.fromEntries(
      sent.map(([name, field]) => {
        const schema = described(name, field, sentSample(field));
        // What an update does not send keeps its value.
        return [name, mode === 'create' ? schema : withoutDefault(schema)];
      }),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

function withoutDefault({ default: _, ...schema }: JsonObject): JsonObject {
  return schema;
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

/** An answer to a list request. A second content type would make generated clients ask which of the two they got. */
export function listAnswer(description: string, schema: JsonObject): JsonObject {
  return {
    description: `${description} With Accept: application/x-ndjson, the JSON of one record in each line.`,
    headers: {
      Link: {
        description:
          'The address of the next page, as <...>; rel="next", if there is one and a word of the query chose the page.',
        schema: { type: 'string' },
      },
    },
    content: { 'application/json': { schema } },
  };
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

/** The answers of our own interface to requests that were not performed. */
export function problemsOf(changes: boolean): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...faultsOf(changes), '400': { $ref: '#/components/responses/Refused' } }).map(
      ([status, reference]) => [status, { $ref: `${isObject(reference) ? String(reference['$ref']) : ''}Problem` }],
    ),
  );
}

/** RFC 9457. */
export const errorAnswer: JsonObject = {
  type: 'object',
  title: 'ErrorAnswer',
  description: [
    'Why a request was not performed, and what helps. The codes:',
    ...Object.entries(errorCodes).map(([code, meaning]) => `- \`${code}\`: ${meaning}`),
  ].join('\n'),
  properties: {
    type: { type: 'string', description: 'The code as a URN.', examples: ['urn:holdfast:problem:busy'] },
    title: { type: 'string', description: 'The meaning of the code.' },
    status: { type: 'integer', description: 'Status of the answer.' },
    code: {
      type: 'string',
      enum: Object.keys(errorCodes),
      description: 'By what programs decide. It keeps its meaning.',
    },
    detail: { type: 'string', description: 'What was expected, what was sent, and what to do.' },
    request: { type: 'string', description: 'Id of the request, as in its header X-Request-Id and in the log.' },
    fields: {
      ...problems,
      description: 'The problems of each field; __all__ has those that belong to no single field.',
    },
    cause: { type: 'string', description: 'What the machine said, where detail says it in other words.' },
    holders: {
      type: 'array',
      description: 'What uses what the request is about.',
      items: {
        type: 'object',
        title: 'Holder',
        properties: {
          kind: {
            type: 'string',
            enum: ['record', 'session', 'process', 'hold', 'clone', 'job'],
            description: 'What kind of user it is.',
          },
          title: { type: 'string', description: 'What it is, for people.' },
          name: {
            type: 'string',
            description:
              'Path of the record below /api/v1.0/ or of the job below /api/holdfast/v1/; otherwise the initiator, the number of the process, or the name of the snapshot or clone.',
          },
        },
        required: ['kind', 'title', 'name'],
      },
    },
    help: {
      type: 'object',
      title: 'HelpfulRequest',
      description: 'A request that helps, such as the one that unlocks a dataset or lists what there is.',
      properties: {
        method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'DELETE'], description: 'Its method.' },
        path: { type: 'string', description: 'Its path.' },
        body: { type: 'object', description: 'Its body. What only a person knows, such as a passphrase, is left out.' },
      },
      required: ['method', 'path'],
    },
    retry_after: { type: 'integer', description: 'Seconds after which the same request can succeed.' },
    methods: { type: 'array', items: { type: 'string' }, description: 'The methods that the path has.' },
    record: { type: 'object', description: 'The record as it is, after another client changed it.' },
    problems: {
      type: 'array',
      items: { type: 'object' },
      description: 'Of a transaction: the refused requests by their index, each with its answer.',
    },
  },
  required: ['type', 'title', 'status', 'code', 'detail', 'request'],
};

const problemContent: JsonObject = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/ErrorAnswer' } },
};

/** The answers that `faultsOf` and operations refer to. */
const documented: JsonObject = {
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

/** The same answers as problems, for our own interface. */
export const responses: JsonObject = {
  ...documented,
  ...Object.fromEntries(
    ['Refused', 'Unauthorized', 'Forbidden', 'Foreign', 'NotFound', 'Busy', 'Starting'].map((name) => {
      const answer = documented[name];
      return [`${name}Problem`, { ...(isObject(answer) ? answer : {}), content: problemContent }];
    }),
  ),
};
