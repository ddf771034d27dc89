import { type Field, field, text } from '../../../engine/declare/fields.ts';

/** Highest number of bytes in an iSCSI name (RFC 3720). */
const longestName = 223;

const longestBasename = 120;

/** A full iSCSI name, which gets no base name. */
const full = /^(iqn|eui|naa)\./;

/** The full iSCSI name of a target. Only a short name is prefixed with the base name. */
export function nameOnWire(name: string, basename: string): string {
  return full.test(name) ? name : `${basename}:${name}`;
}

/** Whether the full name would be too long with a base name of the highest permitted length. */
export function isTooLong(name: string): boolean {
  return !full.test(name) && name.length > longestName - longestBasename - 1;
}

/** A text whose upper case letters become lower case, which iSCSI requires of names. */
export function lowerCase(options: Parameters<typeof text>[0]): Field<string, 'plain'> {
  const plain = text(options);
  return field({ ...plain, read: (sent) => plain.read(typeof sent === 'string' ? sent.toLowerCase() : sent) });
}

/** The entries of a list that is separated by spaces, line breaks or commas. */
export function entriesOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}
