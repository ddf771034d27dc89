import { confirmWithin, longestConfirm } from '../engine/change/confirm.ts';
import type { Field, Fields } from '../engine/declare/fields.ts';
import { isAnswered, maySend } from '../engine/declare/record.ts';
import type { Action, Profile, Resource } from '../engine/declare/resource.ts';
import { isObject, type Json, type JsonObject } from '../lib/json.ts';
import type { Method, Operation, Route } from './routes.ts';
import { answeredSample, sampleOf, sentSample } from './samples.ts';

/** Generates the OpenAPI 3.1 document of the API from the catalogue alone. */
export function openApi(
  routes: readonly Route[],
  options: { readonly version: string; readonly root: string; readonly profile: Profile },
): JsonObject {
  const resources = [...new Set(routes.map(({ resource }) => resource))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: options.version,
      description: `Management of a storage appliance. Profile of this server: ${options.profile}.`,
    },
    servers: [{ url: options.root }],
    security: [{ basic: [] }],
    tags: resources.map((resource) => ({ name: resource.path, description: resource.description })),
    paths: Object.fromEntries(routes.map((route) => [`/${route.pattern.replaceAll('*}', '}')}/`, pathItem(route)])),
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: Object.fromEntries(resources.map((resource) => [schemaName(resource), recordSchema(resource)])),
      responses: {
        Invalid: {
          description: 'The problems, by field. `__all__` has those that belong to no single field.',
          content: {
            'application/json': {
              schema: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
            },
          },
        },
        Failed: {
          description: 'The machine refused or failed the operation. Nothing was changed.',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  error_message: {
                    type: 'string',
                    description: 'The error, as the machine reported it.',
                    examples: ['the disk ada1 is in use'],
                  },
                },
              },
            },
          },
        },
        Unauthorized: { description: 'The credential is missing or wrong.' },
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
        Foreign: { description: 'A browser sent the request for a page of another server. Nothing was changed.' },
        NotFound: { description: 'The record does not exist.' },
      },
    },
  };
}

/** The schema's name, from the path, because paths are unique: `SharingCifs` for `sharing/cifs`. */
function schemaName({ path }: Resource): string {
  return path
    .split('/')
    .filter((part) => !part.startsWith('{'))
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
}

function recordSchema(resource: Resource): JsonObject {
  const answered = Object.entries(resource.fields).filter(([, field]) => isAnswered(field));
  const id: readonly [string, JsonObject][] =
    resource.kind === 'hosted' ? [] : [['id', { type: 'integer', description: 'Id of the record.', examples: [1] }]];
  const properties = [
    ...id,
    ...answered.map(([name, field]) => [name, described(field, field.schema, answeredSample(field))] as const),
  ];
  const always = [...id, ...answered.filter(([, field]) => field.sometimes !== true)].map(([name]) => name);
  return { type: 'object', title: resource.title, properties: Object.fromEntries(properties), required: always };
}

function described(field: Field, plainSchema: JsonObject, sample: Json): JsonObject {
  const schema = withSamples(plainSchema);
  const initial = field.initial;
  const plain =
    initial === null || typeof initial === 'string' || typeof initial === 'number' || typeof initial === 'boolean';
  return {
    ...schema,
    description: field.description,
    examples: [sample],
    ...(plain && !field.secret ? { default: initial } : {}),
    ...(field.use === 'readOnly' || field.use === 'live' ? { readOnly: true } : {}),
    ...(field.use === 'inputOnly' ? { writeOnly: true } : {}),
  };
}

function requestSchema(fields: Fields, mode: 'create' | 'update'): JsonObject {
  const sent = Object.entries(fields).filter(([, field]) => maySend(field) && (mode === 'create' || !field.createOnly));
  const required = mode === 'create' ? sent.filter(([, field]) => field.required).map(([name]) => name) : [];
  return {
    type: 'object',
    properties: Object.fromEntries(
      sent.map(([name, field]) => [name, described(field, field.accepts, sentSample(field))]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

function pathItem(route: Route): JsonObject {
  const names = [...route.pattern.matchAll(/\{(\w+)(\*?)\}/g)].map(([, name = '', slashes = '']) => ({
    name,
    slashes: slashes === '*',
  }));
  return {
    parameters: names.map(({ name, slashes }) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
      description:
        name === 'key'
          ? `Id or name of the ${route.resource.title}${slashes ? ', which may contain slashes' : ''}.`
          : `Id or name of the ${name}.`,
    })),
    ...Object.fromEntries(
      [...route.operations].map(([method, operation]) => [
        method.toLowerCase(),
        operationObject(route, method, operation),
      ]),
    ),
  };
}

function operationObject(route: Route, method: Method, operation: Operation): JsonObject {
  const { resource } = route;
  const common = {
    operationId: `${method.toLowerCase()} ${route.pattern}`.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/_$/, ''),
    tags: [resource.path],
  };
  const changes = method !== 'GET' || 'action' in operation;
  const faults = {
    '401': { $ref: '#/components/responses/Unauthorized' },
    ...(changes && { '403': { $ref: '#/components/responses/Foreign' } }),
    '404': { $ref: '#/components/responses/NotFound' },
    '429': { $ref: '#/components/responses/Busy' },
  };
  if ('action' in operation)
    return {
      ...common,
      ...actionObject(operation.action),
      responses: { ...actionAnswer(operation.action), ...faults, '400': { $ref: '#/components/responses/Failed' } },
    };
  const record = { $ref: `#/components/schemas/${schemaName(resource)}` };
  const invalid = String(resource.quirks.invalid ?? 409);
  const confirming = resource.kind === 'hosted' ? {} : { parameters: confirmParameters };
  const writing = {
    ...faults,
    '400': { $ref: '#/components/responses/Failed' },
    [invalid]: { $ref: '#/components/responses/Invalid' },
  };
  switch (operation.verb) {
    case 'list':
      return {
        ...common,
        summary: `Lists every ${resource.title}.`,
        parameters: listParameters(resource),
        responses: { '200': jsonAnswer('A page of records.', { type: 'array', items: record }), ...faults },
      };
    case 'read':
      return {
        ...common,
        summary: `Reads the ${resource.title}.`,
        responses: { '200': jsonAnswer('The record.', record), ...faults },
      };
    case 'create':
      return {
        ...common,
        ...confirming,
        summary: `Creates a ${resource.title}.`,
        requestBody: jsonBody(requestSchema(resource.fields, 'create')),
        responses: { [String(resource.quirks.created ?? 201)]: jsonAnswer('The new record.', record), ...writing },
      };
    case 'update':
      return {
        ...common,
        ...confirming,
        summary: `Changes the ${resource.title}. Fields that are not sent keep their values.`,
        requestBody: jsonBody(requestSchema(resource.fields, 'update')),
        responses: { [String(resource.quirks.updated ?? 200)]: jsonAnswer('The record.', record), ...writing },
      };
    case 'remove': {
      const removal = resource.kind === 'hosted' ? resource.removal : undefined;
      return {
        ...common,
        ...confirming,
        summary: `Removes the ${resource.title}.`,
        ...(removal ? { requestBody: { ...jsonBody(requestSchema(removal, 'create')), required: false } } : {}),
        responses: { '204': { description: 'The record was removed.' }, ...writing },
      };
    }
    case 'clear':
      return {
        ...common,
        ...confirming,
        summary: `Removes every ${resource.title}.`,
        responses: { '204': { description: 'All records were removed.' }, ...writing },
      };
  }
}

/** Every change of records accepts a time within which it must be confirmed. */
const confirmParameters: readonly JsonObject[] = [
  {
    name: 'confirm_within',
    in: 'query',
    required: false,
    schema: { type: 'integer', minimum: 0, maximum: longestConfirm },
    description: `Seconds after which the change is reverted unless another request confirms it; 0 keeps it without confirmation. The default is ${confirmWithin} for changes that could cut off the client, and 0 for all others.`,
  },
];

function listParameters(resource: Resource): readonly JsonObject[] {
  const query = (name: string, schema: JsonObject, description: string) => ({
    name,
    in: 'query',
    required: false,
    schema,
    description,
  });
  const filters = resource.kind === 'singleton' ? [] : resource.filters;
  return [
    query('offset', { type: 'integer', minimum: 0, default: 0 }, 'Number of records to skip.'),
    query(
      'limit',
      { type: 'integer', minimum: 0, default: 20 },
      'Maximum number of records. Values above 1000 count as 1000; 0 returns all records.',
    ),
    ...filters.map((name) => query(name, { type: 'string' }, `Return only records whose ${name} has this value.`)),
  ];
}

function actionObject(action: Action): JsonObject {
  const body = action.items
    ? { type: 'array', items: described(action.items, action.items.accepts, sentSample(action.items)) }
    : action.fields
      ? requestSchema(action.fields, 'create')
      : undefined;
  return { summary: action.title, ...(body === undefined ? {} : { requestBody: jsonBody(body) }) };
}

function actionAnswer({ status, answers }: Action): JsonObject {
  if (answers === 'nothing') return { [String(status)]: { description: 'The action was performed.' } };
  if (answers === 'text')
    return {
      [String(status)]: {
        description: 'The result as text.',
        content: { 'text/html': { schema: { type: 'string' } } },
      },
    };
  return { [String(status)]: jsonAnswer('The result.', withSamples(answers)) };
}

/** The schema with an example for each of its fields. */
function withSamples(schema: JsonObject): JsonObject {
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

function jsonBody(schema: JsonObject): JsonObject {
  return { required: true, content: { 'application/json': { schema } } };
}

function jsonAnswer(description: string, schema: JsonObject): JsonObject {
  return { description, content: { 'application/json': { schema } } };
}
