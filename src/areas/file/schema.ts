/** The JSON Schema of the file, for editors. */
import type { JsonObject } from '../../lib/json.ts';
import { fileVersion } from './document.ts';
import type { FileField, Kind } from './kinds.ts';

export function schemaOf(kinds: readonly Kind[]): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of a Holdfast appliance',
    type: 'object',
    properties: {
      holdfast: { const: fileVersion, description: 'Version of the format.' },
      take_over: {
        type: 'array',
        items: { type: 'string' },
        description: 'Subsystems that were configured by hand, and that Holdfast manages from then on.',
      },
      ...Object.fromEntries(kinds.map((kind) => [kind.name, kindSchema(kind)])),
    },
    required: ['holdfast'],
    additionalProperties: false,
    $defs: { secret },
  };
}

const secret: JsonObject = {
  description: 'A secret, which is never in the file itself.',
  oneOf: [
    formOf('keep', { const: true, description: 'It stays as it is.' }),
    formOf('sealed', { type: 'string', description: 'As the appliance has exported it.' }),
    formOf('file', { type: 'string', description: 'The file that has it, where the command is given.' }),
    formOf('env', { type: 'string', description: 'The environment variable that has it.' }),
  ],
};

function formOf(name: string, value: JsonObject): JsonObject {
  return { type: 'object', properties: { [name]: value }, required: [name], additionalProperties: false };
}

function kindSchema(kind: Kind): JsonObject {
  const { title, description } = kind.resource;
  const properties = Object.fromEntries(kind.fields.map((field) => [field.name, fieldSchema(field)]));
  const adopt: JsonObject = kind.name === 'pool' ? { adopt: { const: true } } : {};
  const record: JsonObject = {
    type: ['object', 'null'],
    properties: { ...properties, ...adopt },
    additionalProperties: false,
  };
  if (kind.isSettings) return { ...record, title, description };
  return { title, description, type: ['object', 'null'], additionalProperties: record };
}

/** Null stands for the default, an empty text for no value, and sizes may have units. */
function fieldSchema({ field, refersTo, isSize, kept, wire }: FileField): JsonObject {
  const { description } = field;
  if (field.secret) return { description, anyOf: [{ $ref: '#/$defs/secret' }, { type: 'null' }] };
  if (refersTo !== undefined) {
    const name: JsonObject = { type: 'string' };
    return { description, anyOf: [kept === wire ? name : { type: 'array', items: name }, { type: 'null' }] };
  }
  const unset: readonly JsonObject[] = [{ type: 'null' }, { const: '' }];
  return { description, anyOf: [field.schema, ...(isSize ? [{ type: 'string' }] : []), ...unset] };
}
