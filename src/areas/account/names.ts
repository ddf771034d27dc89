import { quote } from '../../lib/text.ts';

/** The problem with a user or group name (gaps 10.1), or undefined if it is valid. */
export function accountNameProblem(name: string): string | undefined {
  if (name.startsWith('-')) return 'A name must not begin with -.';
  if (name.slice(0, -1).includes('$')) return 'The character "$" is only allowed at the end of a name.';
  const invalid = /[^\x21-\x7e]|[\s,:+&#%^()!@~*?<>=|\\/"';`[\]{}]/.exec(name);
  if (invalid !== null) return `The character ${quote(invalid[0])} is not allowed in a name.`;
  return /^\d+$/.test(name)
    ? 'A name must not consist of digits only, because programs would read it as an id.'
    : undefined;
}

/** The lowest id from 1000 that is not taken. */
export function nextFreeNumber(taken: Iterable<number>): number {
  const used = new Set(taken);
  let number = 1000;
  while (used.has(number)) number += 1;
  return number;
}
