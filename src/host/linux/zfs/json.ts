import { isObject } from '../../../lib/json.ts';
import { HostError } from '../../ports/index.ts';

/** An object of OpenZFS 2.3's JSON output with `-p` and `-P`: each number is a text of digits, each device a path. */
export type Members = Readonly<Record<string, unknown>>;

export interface Property {
  readonly value: string;
  readonly source: string;
}

export function parse(text: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (error) {
    throw new HostError(`expected JSON from OpenZFS, got: ${text.slice(0, 200)}`, { cause: error });
  }
  return isObject(value) ? value : {};
}

export function memberOf(holder: Members, name: string): Members {
  const member = holder[name];
  return isObject(member) ? member : {};
}

export function entriesOf(holder: Members, name: string): readonly [string, Members][] {
  return Object.entries(memberOf(holder, name)).flatMap(([key, value]): [string, Members][] =>
    isObject(value) ? [[key, value]] : [],
  );
}

export function textOf(holder: Members, name: string): string {
  const value = holder[name];
  return typeof value === 'string' ? value : '';
}

export function propertyOf(properties: Members, name: string): Property | undefined {
  const property = properties[name];
  return isObject(property) && typeof property['value'] === 'string'
    ? { value: property['value'], source: textOf(memberOf(property, 'source'), 'type') }
    : undefined;
}

export function bytesOf(properties: Members, name: string): number {
  return Number(propertyOf(properties, name)?.value ?? 0) || 0;
}
