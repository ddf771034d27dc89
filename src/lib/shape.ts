import { objectIn } from './json.ts';

/**
 * Makes objects that have these keys, in this order. V8 keeps objects of one shape as their values alone. An object that
 * gets its keys one by one, by computed names, may become a hash table of its own when there are more than about fifteen:
 * four times as large, and slower to read, to copy and to write as JSON.
 */
export function shapeOf(names: readonly string[]): () => Record<string, unknown> {
  // What is read from JSON has its values within the object.
  const blank = objectIn(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))));
  return () => ({ ...blank });
}
