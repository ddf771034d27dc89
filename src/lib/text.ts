/** Joins lines, each terminated by a line feed as in configuration files. Undefined entries are omitted. */
export function lines(...entries: readonly (string | undefined | readonly (string | undefined)[])[]): string {
  const flat = entries.flat().filter((entry) => entry !== undefined);
  return flat.length === 0 ? '' : `${flat.join('\n')}\n`;
}

/**
 * The first character that is not allowed in a line of text, as `U+000A`: control characters, line and paragraph
 * separators, and halves of surrogate pairs. With `multiline`, line feeds and tabs are allowed.
 */
export function strayCharacter(text: string, options: { multiline?: boolean } = {}): string | undefined {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (options.multiline === true && (code === 0x0a || code === 0x09)) continue;
    const stray =
      code < 0x20 ||
      (code >= 0x7f && code < 0xa0) ||
      code === 0x2028 ||
      code === 0x2029 ||
      (code >= 0xd800 && code < 0xe000);
    if (stray) return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  }
  return undefined;
}

/** Splits a list that is separated by white space or commas. */
export function words(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** `one, two and three`. */
export function sentenceList(items: readonly string[], last = 'and'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;
}

/**
 * `a share`, `an NFS share`: by how the beginning is spoken, so letters that are spelled count by their names. Words that
 * begin with the sound of `you` need `a`, such as user and UPS.
 */
export function withArticle(noun: string): string {
  const isSpelled = /^[FHLMNRSX](?=[A-Z])/.test(noun) && !noun.startsWith('SMART');
  return `${/^[aeio]/i.test(noun) || isSpelled ? 'an' : 'a'} ${noun}`;
}

/** A value for a message: long values are cut, and control characters are escaped. */
export function quote(value: unknown, keep = 60): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const cut = text.length > keep ? `${text.slice(0, keep)}…` : text;
  return typeof value === 'string' ? JSON.stringify(cut) : cut;
}

/** V8 copies shorter parts of a text itself. */
const shortestPart = 13;

/**
 * A part of a text, such as `slice` returns, in memory of its own. Otherwise it refers to the whole text, such as all the
 * output of a program, and retains it.
 */
export function copied(part: string): string {
  return part.length < shortestPart ? part : Buffer.from(part).toString();
}

/** The message of an error; any other thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
