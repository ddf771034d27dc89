import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';

/** The results of earlier requests of a transaction, by their names. */
export type Results = ReadonlyMap<string, unknown>;

/** A reference that names nothing. */
export class UnknownReference extends Error {
  override readonly name = 'UnknownReference';
}

/** The value of a reference such as `share.id`: a member of the result with this name. */
function referred(reference: string, results: Results): unknown {
  const [name = '', ...members] = reference.split('.');
  if (!results.has(name))
    throw new UnknownReference(`Expected the name of an earlier request in ${quote(reference)}, got ${quote(name)}.`);
  return members.reduce((value, member) => {
    const inside = isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined;
    if (inside === undefined)
      throw new UnknownReference(`The result of ${quote(name)} has no ${quote(members.join('.'))}.`);
    return inside;
  }, results.get(name));
}

/** A body in which each `{"$ref": "share.id"}` is replaced by the value that it refers to. */
export function bodyWith(body: unknown, results: Results): unknown {
  if (Array.isArray(body)) return body.map((entry) => bodyWith(entry, results));
  if (!isObject(body)) return body;
  const { $ref: reference, ...others } = body;
  if (typeof reference === 'string' && Object.keys(others).length === 0) return referred(reference, results);
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, bodyWith(value, results)]));
}

/** A path in which each `{share.id}` is replaced by the text or number that it refers to. */
export function pathWith(path: string, results: Results): string {
  return path.replaceAll(/\{([^{}]+)\}/g, (_, reference: string) => {
    const value = referred(reference, results);
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new UnknownReference(`Expected a text or a number as ${quote(reference)}, got ${quote(value)}.`);
    return encodeURIComponent(value);
  });
}

/** The names of earlier requests that a path and a body refer to. */
export function namesIn(path: string, body: unknown): ReadonlySet<string> {
  const names = new Set([...path.matchAll(/\{([^{}.]+)[^{}]*\}/g)].map(([, name = '']) => name));
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const entry of value) look(entry);
    else if (isObject(value)) {
      if (typeof value['$ref'] === 'string') names.add(value['$ref'].split('.')[0] ?? '');
      for (const member of Object.values(value)) look(member);
    }
  };
  look(body);
  return names;
}
