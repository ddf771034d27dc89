/** Reads an OpenAPI document, for tests that compare answers with it. */
import Schema from 'typebox/schema';
import { isObject } from '../../src/lib/json.ts';

type Tree = Readonly<Record<string, unknown>>;

/** The value at a path of names. */
export function at(tree: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), tree);
}

export function members(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : [];
}

/** Every value in the tree, with its place. */
export function* walk(value: unknown, place: string): Generator<readonly [string, unknown]> {
  yield [place, value];
  if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) yield* walk(member, `${place}/${name}`);
}

/** References resolved, so that each schema stands for itself. */
function resolved(description: Tree, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => resolved(description, one));
  if (!isObject(value)) return value;
  const to = value['$ref'];
  if (typeof to === 'string') return resolved(description, at(description, ...to.replace(/^#\//, '').split('/')));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolved(description, member)]));
}

/** A function that returns what is wrong with a value by a schema of the description; undefined if nothing is. */
export function checker(
  description: Tree,
  schema: unknown,
  /** Closed: an object has only the members that are described. */
  objects: 'open' | 'closed' = 'open',
): (value: unknown) => string | undefined {
  const whole = resolved(description, schema);
  if (!isObject(whole)) throw new Error('no schema');
  const validator = Schema.Compile(objects === 'closed' ? closed(whole) : whole);
  return (value) => {
    const [good, errors] = validator.Errors(value);
    return good ? undefined : JSON.stringify(errors.slice(0, 2));
  };
}

function closed(schema: Tree): Tree {
  const inside = Object.entries(schema).map(([name, value]) => [name, closedIn(value)] as const);
  return {
    ...Object.fromEntries(inside),
    ...(isObject(schema['properties']) && schema['type'] === 'object' ? { additionalProperties: false } : {}),
  };
}

function closedIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedIn);
  return isObject(value) ? closed(value) : value;
}
