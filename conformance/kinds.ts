/** What the document says a value is. */
export interface Kind {
  readonly description: string;
  fits(value: unknown): boolean;
  /** The members of a closed list, which the document names one by one. */
  readonly members?: readonly (string | number)[];
}

/** The fields of a record, as the document names them. */
export type Shape = Readonly<Record<string, Kind>>;

function kind(description: string, fits: (value: unknown) => boolean): Kind {
  return Object.freeze({ description, fits });
}

export const text = kind('a string', (value) => typeof value === 'string');
export const integer = kind('an integer', (value) => Number.isInteger(value));
export const flag = kind('a boolean', (value) => typeof value === 'boolean');
export const list = kind('a list', (value) => Array.isArray(value));
export const texts = kind(
  'a list of strings',
  (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
);
export const object = kind(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

/** Null when it is unset. */
export function maybe(of: Kind): Kind {
  return Object.freeze({
    ...of,
    description: `${of.description} or null`,
    fits: (value: unknown) => value === null || of.fits(value),
  });
}

export function either(one: Kind, other: Kind): Kind {
  return kind(`${one.description} or ${other.description}`, (value) => one.fits(value) || other.fits(value));
}

/** One of a closed list. */
export function oneOf(...members: readonly (string | number)[]): Kind {
  return Object.freeze({
    description: `one of ${members.join(', ')}`,
    fits: (value: unknown) => members.some((member) => member === value),
    members,
  });
}

/** One of a closed list, or unset. */
export function oneOfOrUnset(...members: readonly (string | number)[]): Kind {
  return Object.freeze({
    ...oneOf(...members),
    fits: (value: unknown) => value === '' || value === null || members.some((member) => member === value),
  });
}

/** The same kind for several fields. */
export function each(of: Kind, ...names: readonly string[]): Shape {
  return Object.fromEntries(names.map((name) => [name, of]));
}

/** The fields of a schedule. */
export function schedule(
  prefix: string,
  ...parts: readonly ('minute' | 'hour' | 'daymonth' | 'month' | 'dayweek')[]
): Shape {
  return each(text, ...parts.map((part) => `${prefix}_${part}`));
}
