import { confirmWithin, longestConfirm } from '../../engine/change/confirm.ts';
import { wordsOf } from '../../engine/declare/listing.ts';
import type { Section } from '../../engine/declare/operation.ts';
import { isAnswered } from '../../engine/declare/record.ts';
import type { Action, Profile, Resource } from '../../engine/declare/resource.ts';
import type { JsonObject } from '../../lib/json.ts';
import { collected } from '../../lib/slices.ts';
import { readableList } from '../lists.ts';
import type { Method, Operation, Route } from '../routes.ts';
import { managementOf } from './management.ts';
import { nameOf, operationNameOf } from './names.ts';
import { answeredSample, sentSample } from './samples.ts';
import {
  described,
  errorAnswer,
  faultsOf,
  jsonAnswer,
  jsonBody,
  listAnswer,
  requestSchema,
  responses,
  withSamples,
} from './schemas.ts';
import { servedPaths, servedTags } from './served.ts';

interface Options {
  readonly version: string;
  /** Root of the API that the document defines, and that of our own. */
  readonly roots: { readonly document: string; readonly management: string };
  readonly profile: Profile;
}

/** Generates the OpenAPI 3.1 document of the API from the catalogue alone. */
export function openApi(routes: readonly Route[], sections: readonly Section[], options: Options): JsonObject {
  return assembled(routes, options, [...partsOf(routes, sections, options)]);
}

/** The same, while the daemon answers other requests: the whole takes 100 ms. */
export async function openApiInSlices(
  routes: readonly Route[],
  sections: readonly Section[],
  options: Options,
): Promise<JsonObject> {
  return assembled(routes, options, await collected(partsOf(routes, sections, options)));
}

/** What one resource, route or section adds to the document. */
interface Part {
  readonly tags?: readonly JsonObject[];
  readonly paths?: JsonObject;
  readonly schemas?: JsonObject;
}

function* partsOf(
  routes: readonly Route[],
  sections: readonly Section[],
  { roots }: Options,
): Generator<Part, undefined> {
  for (const route of routes)
    yield { paths: { [`${roots.document}/${route.pattern.replaceAll('*}', '}')}/`]: pathItem(route) } };
  for (const resource of resourcesOf(routes)) yield { schemas: Object.fromEntries(schemasOf(resource)) };
  for (const section of sections) yield managementOf([section], roots.management);
}

const resourcesOf = (routes: readonly Route[]) => [...new Set(routes.map(({ resource }) => resource))];

function assembled(routes: readonly Route[], options: Options, parts: readonly Part[]): JsonObject {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: options.version,
      description: [
        `Management of a storage appliance. Profile of this server: ${options.profile}.`,
        'Schemas have the canonical type of each field. Requests may also send a number or a boolean as text, a boolean as 0 or 1, a size with a unit, such as 10G, a single value for a list, and null for a field that is unset.',
        'Errors below /api/holdfast/v1/, and for clients that name application/problem+json in Accept all errors, are answered as ErrorAnswer, whose description lists the codes.',
        'Answers have an ETag; send it as If-None-Match with a GET (304 if nothing has changed) or as If-Match with a change (412 if another client has changed the record). With an Idempotency-Key, a change is carried out once and a repetition gets the same answer for 24 hours (422 if it is another request). With Prefer: wait=10 or respond-async, a change that takes longer is answered 202, with the address of a job as Location.',
      ].join(' '),
    },
    servers: [{ url: '/' }],
    security: [{ basic: [] }, { bearer: [] }, { session: [] }],
    tags: [
      ...resourcesOf(routes).map((resource) => ({ name: resource.path, description: resource.description })),
      ...parts.flatMap(({ tags = [] }) => tags),
      ...servedTags,
    ],
    paths: Object.assign({}, servedPaths, ...parts.map(({ paths }) => paths)),
    components: {
      securitySchemes: {
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'root or an account with rights and its password, or the name of a key and the key.',
        },
        bearer: { type: 'http', scheme: 'bearer', description: 'A key, as POST keys shows it.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'holdfast',
          description: 'A session, as POST sessions begins it.',
        },
      },
      schemas: Object.assign({ ErrorAnswer: withSamples(errorAnswer) }, ...parts.map(({ schemas }) => schemas)),
      responses,
    },
  };
}

/** The records of each resource, and the bodies of requests that create and change them. */
function schemasOf(resource: Resource): readonly (readonly [string, JsonObject])[] {
  const name = nameOf(resource);
  return [
    [name, recordSchema(resource)],
    ...(resource.verbs.includes('create')
      ? [[`${name}Create`, requestSchema(resource.fields, 'create')] as const]
      : []),
    ...(resource.verbs.includes('update')
      ? [[`${name}Update`, requestSchema(resource.fields, 'update')] as const]
      : []),
  ];
}

function recordSchema(resource: Resource): JsonObject {
  const answered = Object.entries(resource.fields).filter(([, field]) => isAnswered(field));
  const id: readonly [string, JsonObject][] =
    resource.kind === 'hosted' ? [] : [['id', { type: 'integer', description: 'Id of the record.', examples: [1] }]];
  const properties = [
    ...id,
    ...answered.map(([name, field]) => [name, described(name, field, answeredSample(field))] as const),
  ];
  const always = [...id, ...answered.filter(([, field]) => field.sometimes !== true)].map(([name]) => name);
  return { type: 'object', title: resource.title, properties: Object.fromEntries(properties), required: always };
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
    operationId: operationNameOf(route, method, operation),
    tags: [resource.path],
  };
  const changes = method !== 'GET' || 'action' in operation;
  const faults = faultsOf(changes);
  if ('action' in operation)
    return {
      ...common,
      ...actionObject(operation.action),
      responses: { ...actionAnswer(operation.action), ...faults, '400': { $ref: '#/components/responses/Failed' } },
    };
  const record = { $ref: `#/components/schemas/${nameOf(resource)}` };
  const body = (mode: 'Create' | 'Update') =>
    jsonBody({ $ref: `#/components/schemas/${nameOf(resource)}${mode}` }, true);
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
        responses: {
          '200': listAnswer('A page of records.', { type: 'array', items: record }),
          ...unchanged,
          ...faults,
        },
      };
    case 'read':
      return {
        ...common,
        summary: `Reads the ${resource.title}.`,
        responses: { '200': jsonAnswer('The record.', record), ...unchanged, ...faults },
      };
    case 'create':
      return {
        ...common,
        ...confirming,
        summary: `Creates a ${resource.title}.`,
        requestBody: body('Create'),
        responses: { [String(resource.quirks.created ?? 201)]: jsonAnswer('The new record.', record), ...writing },
      };
    case 'update':
      return {
        ...common,
        ...confirming,
        summary: `Changes the ${resource.title}. Fields that are not sent keep their values.`,
        requestBody: body('Update'),
        responses: {
          [String(resource.quirks.updated ?? 200)]: jsonAnswer('The record.', record),
          ...writing,
          ...changed,
        },
      };
    case 'remove': {
      const removal = resource.kind === 'hosted' ? resource.removal : undefined;
      return {
        ...common,
        ...confirming,
        summary: `Removes the ${resource.title}.`,
        ...(removal ? { requestBody: jsonBody(requestSchema(removal, 'create'), false) } : {}),
        responses: { '204': { description: 'The record was removed.' }, ...writing, ...changed },
      };
    }
    case 'clear':
      return {
        ...common,
        ...confirming,
        summary: `Removes every ${resource.title}.`,
        responses: { '204': { description: 'All records were removed.' }, ...writing, ...changed },
      };
  }
}

/** If-Match and If-None-Match are no parameters: generated functions would get one more argument each. */
const changed = { '412': { $ref: '#/components/responses/Changed' } };
const unchanged = { '304': { $ref: '#/components/responses/Unchanged' } };

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
      'Maximum number of records. Values above 1000 count as 1000; 0 returns all records, as NDJSON does by default.',
    ),
    ...Object.entries(wordsOf(readableList(resource, false)))
      .filter(([name]) => name !== 'limit')
      .map(([name, { schema, description }]) => query(name, schema, description)),
    ...filters.map((name) => query(name, { type: 'string' }, `Return only records whose ${name} has this value.`)),
  ];
}

function actionObject(action: Action): JsonObject {
  const body = action.items
    ? { type: 'array', items: described('', action.items, sentSample(action.items)) }
    : action.fields
      ? requestSchema(action.fields, 'create')
      : undefined;
  return { summary: action.title, ...(body === undefined ? {} : { requestBody: jsonBody(body, true) }) };
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
