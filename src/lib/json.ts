/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that a text is in JSON; undefined for any other text. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Compact JSON with the keys of every object in alphabetical order, as the API answers it. */
export function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${sortedJson(member)}`);
  }
  return `{${members.join(',')}}`;
}

/**
 * The text of `sortedJson`, in pieces that follow each other without a separator: what lies `levels` below the whole is one
 * piece. Long values are serialized with it in slices. Above that, a list may be any iterable, whose items are made one at a
 * time.
 */
export function* sortedJsonPieces(value: unknown, levels: number): Generator<string> {
  if (levels > 0 && isIterable(value)) {
    yield '[';
    let isFirst = true;
    for (const item of value) {
      if (!isFirst) yield ',';
      isFirst = false;
      yield* sortedJsonPieces(item, levels - 1);
    }
    yield ']';
  } else if (levels > 0 && isObject(value)) {
    const keys = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort();
    yield '{';
    for (const [index, key] of keys.entries()) {
      yield `${index > 0 ? ',' : ''}${JSON.stringify(key)}:`;
      yield* sortedJsonPieces(value[key], levels - 1);
    }
    yield '}';
  } else yield sortedJson(value);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

/**
 * Counts the values and the levels of a JSON text in UTF-8 without parsing it, and stops above either limit. An empty
 * object or list counts as two values. In a text that is not valid JSON it counts what a parser builds before it finds
 * the error, or more.
 */
export function measureJson(
  bytes: Uint8Array,
  most: { readonly values: number; readonly depth: number },
): { readonly values: number; readonly depth: number } {
  let values = 1;
  let level = 0;
  let depth = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte === quotation) {
      index = endOfString(bytes, index);
      continue;
    }
    // Brackets and braces differ in the bit 0x20 only.
    const kind = byte | 0x20;
    if (kind === openObject) {
      level += 1;
      if (level > depth) depth = level;
    } else if (kind === closeObject) level -= 1;
    if (kind === openObject || byte === comma) {
      values += 1;
      if (values > most.values || depth > most.depth) break;
    }
  }
  return { values, depth };
}

const quotation = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * The index of the quotation mark that ends the string which begins at `start`; behind the text if none does. Long strings
 * are the most of a large body, and a search takes a hundredth of the time of a loop.
 */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let index = bytes.indexOf(quotation, start + 1); index !== -1; index = bytes.indexOf(quotation, index + 1)) {
    let before = index;
    while (bytes[before - 1] === backslash) before -= 1;
    if ((index - before) % 2 === 0) return index;
  }
  return bytes.length;
}
