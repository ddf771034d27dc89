import type { Operation, Section } from '../../engine/declare/operation.ts';
import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import { sentSample } from './samples.ts';
import { jsonAnswer, jsonBody, listAnswer, problemsOf, requestSchema, withSamples } from './schemas.ts';

/** What the OpenAPI document says about the management interface. */
export function managementOf(
  sections: readonly Section[],
  root: string,
): { readonly tags: readonly JsonObject[]; readonly paths: JsonObject; readonly schemas: JsonObject } {
  const schemas = new Map<string, JsonObject>();
  const all = sections.flatMap((section) => section.operations.map((operation) => ({ section, operation })));
  const paths = [...Map.groupBy(all, ({ operation }) => operation.path)].map(([path, ofPath]) => [
    `${root}/${path}`,
    {
      parameters: parametersOf(ofPath.map(({ operation }) => operation)),
      ...Object.fromEntries(
        ofPath.map(({ section, operation }) => [
          operation.method.toLowerCase(),
          operationObject(operation, tagOf(section), schemas),
        ]),
      ),
    },
  ]);
  return {
    tags: sections.map((section) => ({ name: tagOf(section), description: section.description })),
    paths: Object.fromEntries(paths),
    schemas: Object.fromEntries(schemas),
  };
}

const tagOf = ({ name }: Section) => `holdfast/${name}`;

function parametersOf(operations: readonly Operation[]): readonly JsonObject[] {
  return Object.entries(operations[0]?.params ?? {}).map(([name, field]) => ({
    name,
    in: 'path',
    required: true,
    description: field.description,
    schema: field.schema,
  }));
}

function operationObject(operation: Operation, tag: string, schemas: Map<string, JsonObject>): JsonObject {
  const { name, title, method, body, query, answer, list, status, example } = operation;
  const parameters = Object.entries(query).map(([key, field]) => ({
    name: key,
    in: 'query',
    required: field.required,
    description: field.description,
    schema: { ...field.schema, ...(typeof field.initial === 'number' ? { default: field.initial } : {}) },
    example: example.query?.[key] ?? sentSample(field),
  }));
  const fields = Object.values(body);
  const success =
    answer === 'nothing'
      ? { description: 'It was done.' }
      : answer === 'events'
        ? eventStream
        : (list === undefined ? jsonAnswer : listAnswer)('The answer.', hoisted(withSamples(answer), schemas));
  return {
    operationId: name,
    tags: [tag],
    summary: title,
    ...(operation.alone === undefined ? {} : { description: `Cannot be part of a transaction. ${operation.alone}` }),
    ...(parameters.length > 0 || answer === 'events'
      ? { parameters: [...parameters, ...(answer === 'events' ? [lastEvent] : [])] }
      : {}),
    ...(fields.length > 0
      ? {
          requestBody: jsonBody(
            requestSchema(body, 'create'),
            fields.some((field) => field.required),
          ),
        }
      : {}),
    responses: {
      [String(status)]: success,
      ...problemsOf(method !== 'GET'),
      ...(operation.awaitsStart ? { '503': { $ref: '#/components/responses/StartingProblem' } } : {}),
    },
  };
}

const eventStream: JsonObject = {
  description: 'Events: the name of each in `event`, its number in `id`, and its time and payload as JSON in `data`.',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
};

const lastEvent: JsonObject = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'Number of the last event that the client received; those after it are sent first.',
  schema: { type: 'integer' },
};

/** Objects with a title become components of that name, so that generated clients have one type for each. */
function hoisted(schema: JsonObject, schemas: Map<string, JsonObject>): JsonObject {
  const inside: JsonObject = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === 'examples' ? value : hoistedIn(value, schemas)]),
  );
  const { title, description } = inside;
  if (typeof title !== 'string') return inside;
  schemas.set(title, inside);
  const reference = { $ref: `#/components/schemas/${title}` };
  return typeof description === 'string' ? { ...reference, description } : reference;
}

function hoistedIn(value: Json, schemas: Map<string, JsonObject>): Json {
  if (Array.isArray(value)) return value.map((member) => hoistedIn(member, schemas));
  return isSchema(value) ? hoisted(value, schemas) : value;
}

function isSchema(value: Json): value is JsonObject {
  return isObject(value);
}
