/** Lines with a line end each, as configuration files want them. Undefined entries are left out. */
export function lines(...entries: readonly (string | undefined | readonly (string | undefined)[])[]): string {
  const flat = entries.flat().filter((entry) => entry !== undefined);
  return flat.length === 0 ? '' : `${flat.join('\n')}\n`;
}

/**
 * The first character that has no place in a line of text, as `U+000A`: control characters, line and paragraph
 * separators, halves of surrogate pairs. With `multiline`, line feeds and tabs are welcome.
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

/** Words of a list that people separate by blanks, tabs or commas. */
export function words(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** `one, two and three`. */
export function sentenceList(items: readonly string[], last = 'and'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;
}

/** A short form of a value for a message: long ones are cut, control characters are shown as escapes. */
export function quote(value: unknown, keep = 60): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const cut = text.length > keep ? `${text.slice(0, keep)}…` : text;
  return typeof value === 'string' ? JSON.stringify(cut) : cut;
}

/** What an error says; whatever else was thrown, as a text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
