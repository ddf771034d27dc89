import { isObject } from '../../../lib/json.ts';
import { HostError } from '../../ports/index.ts';

/** An object of OpenZFS 2.3's JSON output with `-p` and `-P`: each number is a text of digits, each device a path. */
export type Members = Readonly<Record<string, unknown>>;

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

/** The value of a property; undefined if it is not there. */
export function propertyOf(properties: Members, name: string): string | undefined {
  const value = memberOf(properties, name)['value'];
  return typeof value === 'string' ? value : undefined;
}

export function bytesOf(properties: Members, name: string): number {
  return Number(propertyOf(properties, name) ?? 0) || 0;
}
