/**
 * One word of a command in a systemd unit, in double quotes: `%` would begin a specifier and `$` a variable, and a
 * backslash or a quote would be read as part of the notation.
 */
export function unitWord(word: string): string {
  return `"${word.replaceAll(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}
