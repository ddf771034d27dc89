/** An invisible character (word joiner) that separates two others. */
export const wordJoiner = '\u2060';

/**
 * Inserts an invisible character after each percent sign that could begin a macro (`%U`, `%{env:HOME}`, `%$(HOME)`),
 * for daemons whose configuration has no escape for it.
 */
export function withoutMacros(text: string): string {
  return text.replaceAll(/%(?=[A-Za-z$({])/g, `%${wordJoiner}`);
}
