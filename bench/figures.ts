/**
 * The table of a bench: each figure with its aim, and with the figure of the last run, which is kept in
 * `bench/results/NAME.json` with the kind of the machine and its load.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isObject } from '../src/lib/json.ts';

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The figure is at least or at most this; undefined without an aim. */
  readonly aim?: { readonly least: number } | { readonly most: number };
}

const folder = fileURLToPath(new URL('./results/', import.meta.url));

/** Prints the figures beside those of the last run, and keeps them instead of those. */
export function report(name: string, figures: readonly Figure[]): void {
  const file = `${folder}${name}.json`;
  const last = lastOf(file);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}`;
  const load = loadavg().map((one) => Number(one.toFixed(1)));
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(`\n${name}: ${machine}, load ${load.join(' ')}`);
  if (last !== undefined) print(`last run: ${last.machine}, load ${last.load}, ${last.at}`);
  const width = Math.max(...figures.map(({ what }) => what.length));
  print(`${''.padEnd(width)}${['now', 'aim', '', 'last'].map((cell) => cell.padStart(11)).join('')}`);
  for (const { what, value, unit, aim } of figures) {
    const before = last?.figures.get(what);
    const cells = [
      shown(value, unit),
      aimOf(aim, unit),
      verdictOf(value, aim),
      before === undefined ? '' : shown(before, unit),
    ];
    print(`${what.padEnd(width)}${cells.map((cell) => cell.padStart(11)).join('')}`);
  }
  mkdirSync(folder, { recursive: true });
  const kept = {
    at: new Date().toISOString(),
    machine,
    load: load.join(' '),
    figures: Object.fromEntries(figures.map(({ what, value }) => [what, Number(value.toPrecision(4))])),
  };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}

function shown(value: number, unit: string): string {
  return `${value.toFixed(Math.abs(value) >= 100 ? 0 : 2)}${unit === '' ? '' : ` ${unit}`}`;
}

function aimOf(aim: Figure['aim'], unit: string): string {
  if (aim === undefined) return '';
  return 'least' in aim ? `≥ ${aim.least} ${unit}`.trim() : `≤ ${aim.most} ${unit}`.trim();
}

function verdictOf(value: number, aim: Figure['aim']): string {
  if (aim === undefined) return '';
  return ('least' in aim ? value >= aim.least : value <= aim.most) ? 'reached' : 'missed';
}

function lastOf(file: string) {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(value) || !isObject(value['figures'])) return undefined;
    const figures = new Map(Object.entries(value['figures']).map(([what, figure]) => [what, Number(figure)]));
    return { at: String(value['at']), machine: String(value['machine']), load: String(value['load']), figures };
  } catch {
    return undefined;
  }
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
