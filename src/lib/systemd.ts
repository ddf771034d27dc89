/**
 * Quotes one argument of a command in a systemd unit. `%` would begin a specifier and `$` a variable; backslashes and
 * quotes are part of the syntax.
 */
export function unitWord(argument: string): string {
  return `"${argument.replaceAll(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}
