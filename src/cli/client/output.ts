import type { FieldWords } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { showSize } from '../../lib/size.ts';
import { usage } from './failure.ts';
import type { Terminal } from './terminal.ts';

export const formats = ['table', 'wide', 'json', 'yaml', 'csv', 'name'] as const;
export type Format = (typeof formats)[number];

export function formatOf(option: string | true | undefined): Format {
  const format = formats.find((one) => one === (option ?? 'table'));
  if (format === undefined) throw usage(`-o: Expected one of ${formats.join(', ')}, got "${String(option)}".`);
  return format;
}

/** A record with the names of people, in the order of its fields. */
export type Shown = Readonly<Record<string, unknown>>;

export interface Column {
  readonly name: string;
  readonly isSize: boolean;
}

/** A value in a cell of a table. */
export function cell(value: unknown, isSize = false): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isSize && (typeof value === 'number' || /^\d+$/.test(String(value)))) return showSize(Number(value));
  if (Array.isArray(value)) return value.map((one) => cell(one)).join(',');
  if (isObject(value)) return JSON.stringify(value);
  return String(value).replaceAll(/\p{Cc}/gu, ' ');
}

const gap = 2;
const narrowest = 6;

/**
 * A table that fits the terminal: columns that do not fit are left out from the right, then the widest one is cut. In a
 * file or a pipe, nothing is left out.
 */
export function table(columns: readonly Column[], records: readonly Shown[], width: number | undefined): string {
  const rows = [
    columns.map(({ name }) => name.toUpperCase()),
    ...records.map((record) => columns.map(({ name, isSize }) => cell(record[name], isSize))),
  ];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => lengthOf(row[index] ?? ''))));
  const kept = width === undefined ? widths : fitting(widths, width);
  return rows
    .map((row) =>
      kept
        .map((most, index) => pad(cut(row[index] ?? '', most), index === kept.length - 1 ? 0 : most))
        .join(' '.repeat(gap))
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

function fitting(widths: readonly number[], width: number): readonly number[] {
  const total = (list: readonly number[]) => list.reduce((sum, one) => sum + one + gap, -gap);
  let kept = [...widths];
  while (kept.length > 2 && total(kept) > width) {
    const longest = Math.max(...kept);
    // A column that is much longer than the others is cut before another is left out.
    if (longest <= width / 3) kept = kept.slice(0, -1);
    else kept = kept.map((one) => (one === longest ? Math.max(narrowest, Math.floor(width / 3)) : one));
  }
  const over = total(kept) - width;
  return over <= 0 ? kept : kept.map((one) => (one === Math.max(...kept) ? Math.max(narrowest, one - over) : one));
}

const lengthOf = (text: string) => [...text].length;
const pad = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - lengthOf(text)));
const cut = (text: string, most: number) =>
  lengthOf(text) <= most ? text : `${[...text].slice(0, Math.max(1, most - 1)).join('')}…`;

/** One record, a line for each field. */
export function details(fields: readonly Column[], record: Shown): string {
  const widest = Math.max(0, ...fields.map(({ name }) => name.length));
  return fields
    .map(({ name, isSize }) => {
      const value = record[name];
      const text = typeof value === 'string' && value.includes('\n') ? value.trimEnd() : cell(value, isSize);
      return `${name.padEnd(widest)}  ${text.replaceAll('\n', `\n${' '.repeat(widest + 2)}`)}`.trimEnd();
    })
    .map((line) => `${line}\n`)
    .join('');
}

export function csv(columns: readonly Column[], records: readonly Shown[]): string {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const plain = (value: unknown) => (typeof value === 'string' ? value : cell(value));
  return [columns.map(({ name }) => name), ...records.map((record) => columns.map(({ name }) => plain(record[name])))]
    .map((row) => `${row.map(quoted).join(',')}\n`)
    .join('');
}

/** YAML 1.2 of a JSON value. A JSON string is a string of YAML too. */
export function yaml(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]\n';
    return value.map((one) => `${indent}- ${nested(one, `${indent}  `).trimStart()}`).join('');
  }
  if (isObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    if (members.length === 0) return '{}\n';
    return members
      .map(([key, member]) => {
        const isNested =
          (Array.isArray(member) ? member.length : isObject(member) ? Object.keys(member).length : 0) > 0;
        const name = scalar(key);
        return isNested
          ? `${indent}${name}:\n${yaml(member, `${indent}  `)}`
          : `${indent}${name}: ${nested(member, '')}`;
      })
      .join('');
  }
  return `${scalar(value)}\n`;
}

function nested(value: unknown, indent: string): string {
  return typeof value === 'object' && value !== null ? yaml(value, indent) : `${scalar(value)}\n`;
}

/** Plain where no reader of YAML 1.1 or 1.2 takes it for something else. */
function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null);
  const isPlain =
    /^[A-Za-z/][\w./@+-]*(?: [\w./@+-]+)*$/.test(value) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}

export function writeRecords(
  terminal: Terminal,
  format: Format,
  records: readonly Shown[],
  { columns, all, nameOf }: { columns: readonly Column[]; all: readonly Column[]; nameOf: (record: Shown) => string },
): void {
  const chosen = (record: Shown) => Object.fromEntries(columns.map(({ name }) => [name, record[name]]));
  if (format === 'json') terminal.out(`${JSON.stringify(records.map(chosen), null, 2)}\n`);
  else if (format === 'yaml') terminal.out(yaml(records.map(chosen)));
  else if (format === 'csv') terminal.out(csv(columns, records));
  else if (format === 'name') for (const record of records) terminal.out(`${nameOf(record)}\n`);
  else if (format === 'wide') terminal.out(table(all, records, undefined));
  else terminal.out(table(columns, records, terminal.columns));
}

export function columnOf({ name, kind }: FieldWords): Column {
  return { name, isSize: kind === 'size' };
}
