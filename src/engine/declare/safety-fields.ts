import { sentenceList } from '../../lib/text.ts';

/**
 * Fields that ask for protection, such as `encryption` or `passphrase`. A resource ignores the fields that it does not
 * have, as the original does (gaps 1.5). With these, ignoring would be dangerous: the client would read 201 and believe
 * that its data is encrypted.
 */
const protecting = new Set(['encrypt', 'encrypted', 'encryption', 'passphrase', 'keyfile', 'keyformat', 'keylocation']);
/** These protect something only as the whole name: programs send `webdav_password` to resources without it (gaps 1.5). */
const credentials = new Set(['password', 'passwd', 'pass', 'secret', 'key']);
const qualifiers = new Set(['new', 'old', 'current', 'confirm', 'confirmation', 'repeat', 'user', 'recovery', 'hex']);

/** Whether an unknown field with this value asks for protection. `false`, `null` and empty values ask for nothing. */
export function asksForProtection(name: string, value: unknown): boolean {
  if (isEmpty(value)) return false;
  const words = wordsOf(name);
  return (
    words.some((word) => protecting.has(word)) ||
    (words.some((word) => credentials.has(word)) &&
      words.every((word) => credentials.has(word) || qualifiers.has(word)))
  );
}

/** The refusal of such a field. `fields` are those that the client may send here. */
export function protectionProblem(name: string, fields: readonly string[]): string {
  const words = wordsOf(name);
  const similar = fields.filter((field) => wordsOf(field).some((word) => words.includes(word)));
  const instead = similar.length === 0 ? '' : ` Fields of it with a similar name: ${sentenceList(similar)}.`;
  return (
    'There is no such field here, so nothing would be protected by it.' +
    `${instead} Leave it out to have this done without that protection.`
  );
}

/** `encryptionKey2` consists of `encryption`, `key`. */
function wordsOf(name: string): readonly string[] {
  return name
    .slice(0, 200)
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true;
  if (typeof value === 'string')
    return ['false', '0', 'off', 'no', 'none', 'null'].includes(value.trim().toLowerCase());
  return typeof value === 'object' && Object.keys(value).length === 0;
}
