import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The results of lab/build. */
export const built = join(
  resolve(process.env['LAB'] ?? fileURLToPath(new URL('../../../.lab', import.meta.url))),
  'out',
);

/** The files and numbers of a machine on this side. */
export interface Place {
  readonly name: string;
  readonly folder: string;
  /** The payload as one file. */
  readonly payload: string | undefined;
  /** The layers over the image: the package, and what its first start wrote. */
  readonly layers: readonly string[];
  readonly taps: readonly string[];
  /** The number of the machine, from 0. */
  readonly number: number;
}

/** The unique hardware address of a machine's interface. */
export function macOf(number: number, index: number): string {
  return `02:00:00:00:${hex(index)}:${hex(15 + number)}`;
}

const hex = (number: number) => number.toString(16).padStart(2, '0');
