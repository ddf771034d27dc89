/** Reads values that the console has no types for: records of whatever resource. */
export type Row = Readonly<Record<string, unknown>>;

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const rowsIn = (value: unknown): readonly Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
export const rowIn = (value: unknown): Row => (isRow(value) ? value : {});
export const textIn = (value: unknown): string =>
  typeof value === 'string' ? value : value == null ? '' : String(value);
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
}

/** Whether two values are the same JSON. */
export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
