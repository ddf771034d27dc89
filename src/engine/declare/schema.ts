/** JSON Schemas of answers. Every member has a description, as fields have. */
import type { JsonObject } from '../../lib/json.ts';

export const stringOf = (description: string): JsonObject => ({ type: 'string', description });
export const integerOf = (description: string): JsonObject => ({ type: 'integer', description });
export const numberOf = (description: string): JsonObject => ({ type: 'number', description, examples: [20.4] });
export const flagOf = (description: string): JsonObject => ({ type: 'boolean', description });

export const timeOf = (description: string): JsonObject => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-01-31T06:00:00.000Z'],
});

export const choiceOf = (values: readonly string[], description: string): JsonObject => ({
  type: 'string',
  enum: [...values],
  description,
});

/** An object whose members depend on what it is about. */
export const anyObject = (description: string): JsonObject => ({ type: 'object', description });

export const listOf = (items: JsonObject, description?: string): JsonObject => ({
  type: 'array',
  items,
  ...(description === undefined ? {} : { description }),
});

/** The same value, or null. */
export function orNull({ description, ...schema }: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'null' }], ...(description === undefined ? {} : { description }) };
}

type Members = Readonly<Record<string, JsonObject>>;

/** An object with members that it always has, and those that it may have. Generated clients call it by its title. */
export const objectOf = (title: string, always: Members, sometimes: Members = {}): JsonObject => ({
  type: 'object',
  title,
  properties: { ...always, ...sometimes },
  required: Object.keys(always),
});
