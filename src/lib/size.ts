const powers: Readonly<Record<string, number>> = { '': 0, b: 0, k: 1, m: 2, g: 3, t: 4, p: 5 };

/**
 * Parses a size with an optional suffix: `10G`, `1.5 TiB`, `64m`, `1073741824b`, `52428800`. Suffixes are powers of
 * 1024 in any letter case; `B` and `iB` are optional. Undefined for other texts, and for sizes above the largest safe
 * integer.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgtp])(?:i?b)?|b)?$/i.exec(text.trim());
  if (match === null) return undefined;
  const bytes = Math.round(Number(match[1]) * 1024 ** (powers[(match[2] ?? '').toLowerCase()] ?? 0));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats a size for messages: `1.2 GiB`, and `12 B` below one KiB. */
export function showSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** The shortest text that `parseSize` reads as exactly this size: `10G`, `1000` if no unit divides it. */
export function exactSize(bytes: number): string | number {
  let value = bytes;
  let unit = 0;
  while (value > 0 && value % 1024 === 0 && unit < 5) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? bytes : `${value}${'KMGTP'[unit - 1]}`;
}
