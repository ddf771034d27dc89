/** Bytes that an iSCSI name may have (RFC 3720). */
const longestName = 223;

const longestBasename = 120;

/** What stands for itself on the wire. */
const full = /^(iqn|eui|naa)\./;

/** The name that initiators know a target by; the base name is put in front of short ones only. */
export function nameOnWire(name: string, basename: string): string {
  return full.test(name) ? name : `${basename}:${name}`;
}

/** Whether it would be too long on the wire behind the longest base name there can be. */
export function isTooLong(name: string): boolean {
  return !full.test(name) && name.length > longestName - longestBasename - 1;
}

/** Words that people separate by blanks or line ends. */
export function blankSeparated(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
