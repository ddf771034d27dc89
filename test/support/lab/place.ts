import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What lab/build made. */
export const built = join(
  resolve(process.env['LAB'] ?? fileURLToPath(new URL('../../../.lab', import.meta.url))),
  'out',
);

/** What a machine is made of on this side. */
export interface Place {
  readonly name: string;
  readonly folder: string;
  /** The payload as one file. */
  readonly payload: string | undefined;
  /** What lies over the image. */
  readonly layer: string | undefined;
  readonly taps: readonly string[];
  /** Machines are counted from 0 on. */
  readonly number: number;
}

/** The hardware address of a machine's interface; no other has it. */
export function macOf(number: number, index: number): string {
  return `02:00:00:00:${hex(index)}:${hex(15 + number)}`;
}

const hex = (number: number) => number.toString(16).padStart(2, '0');
