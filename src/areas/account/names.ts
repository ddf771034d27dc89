import { quote } from '../../lib/text.ts';

/** What keeps a text from being the name of a user or a group (gaps 10.1), or nothing. */
export function accountNameProblem(name: string): string | undefined {
  if (name.startsWith('-')) return 'A name does not begin with a dash.';
  if (name.slice(0, -1).includes('$')) return 'The character "$" can only be the last of a name.';
  const stray = /[^\x21-\x7e]|[\s,:+&#%^()!@~*?<>=|\\/"';`[\]{}]/.exec(name);
  if (stray !== null) return `The character ${quote(stray[0])} has no place in a name.`;
  return /^\d+$/.test(name) ? 'A name of digits only would be taken for a number.' : undefined;
}

/** The first gap at or above 1000 in the numbers that people's accounts have, or the number after the highest. */
export function nextFreeNumber(taken: Iterable<number>): number {
  const used = new Set(taken);
  let number = 1000;
  while (used.has(number)) number += 1;
  return number;
}
