import { knownKeyboards } from './keyboards.vocabulary.ts';

const layouts: ReadonlyMap<string, readonly string[]> = new Map(
  knownKeyboards
    .trim()
    .split(/\n(?! )/)
    .map((line) => line.split(/\s+/))
    .map(([name = '', ...variants]) => [name, variants]),
);

/** Names in the keymap index of FreeBSD, whose names the document refers to, that differ from those of XKB. */
const otherLayouts: Readonly<Record<string, string>> = {
  uk: 'gb',
  latinamerican: 'latam',
  'ch-fr': 'ch.fr',
  'ca-fr': 'ca',
  brazilian: 'br',
};
const otherVariants: Readonly<Record<string, string>> = {
  noacc: 'nodeadkeys',
  macbook: 'mac',
  dvorakl: 'dvorak-l',
  dvorakr: 'dvorak-r',
};

export interface Keyboard {
  readonly layout: string;
  readonly variant: string;
}

/** Reads `de`, `de.nodeadkeys` or a name of FreeBSD such as `uk` or `de.noacc.kbd`; undefined when it is unknown. */
export function keyboardOf(value: string): Keyboard | undefined {
  const [first = '', ...rest] = value.replace(/\.kbd$/, '').split('.');
  const [layout = '', ...more] = named(otherLayouts, first).split('.');
  // On FreeBSD, the names of layouts with dead keys end in `acc`. XKB's main layouts have them.
  const parts = [...more, ...rest].filter((part) => part !== 'acc').map((part) => named(otherVariants, part));
  const variant = parts.join('_');
  const variants = layouts.get(layout);
  return variants !== undefined && (variant === '' || variants.includes(variant)) ? { layout, variant } : undefined;
}

/** The other name of a word, which may also be one that every object has, such as `constructor`. */
function named(others: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(others, word) ? (others[word] ?? word) : word;
}

/** The problem with the name of a keyboard layout, with those that there are. */
export function keyboardProblem(value: string): string | undefined {
  if (value === '' || keyboardOf(value) !== undefined) return undefined;
  const [first = ''] = value.split('.');
  const variants = layouts.get(named(otherLayouts, first));
  if (variants === undefined) return `Expected a keyboard layout (${[...layouts.keys()].join(', ')}), got "${value}".`;
  return variants.length === 0
    ? `The keyboard layout ${first} has no variants, got "${value}".`
    : `Expected ${first} alone or with one of its variants after a dot (${variants.join(', ')}), got "${value}".`;
}
