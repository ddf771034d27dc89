/** An invisible character that keeps two others apart. */
export const wordJoiner = '\u2060';

/**
 * The text with an invisible character behind each percent sign that a daemon without escapes could take for the
 * beginning of a macro (`%U`, `%{env:HOME}`, `%$(HOME)`).
 */
export function withoutMacros(text: string): string {
  return text.replaceAll(/%(?=[A-Za-z$({])/g, `%${wordJoiner}`);
}
