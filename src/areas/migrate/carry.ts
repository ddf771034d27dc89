/** Carries the rows of the old database to records, and keeps account of every column. */
import type { Field } from '../../engine/declare/fields.ts';
import type { Json } from '../../lib/json.ts';
import { isObject } from '../../lib/json.ts';
import { inSlices } from '../../lib/slices.ts';
import type { FileField, Kind } from '../file/kinds.ts';
import { type FileRecord, keyFrom } from '../file/state.ts';
import { isFlagSet, type OldDatabase, type Row } from './database.ts';
import { type Column, isStay, type Mapping, part, type Stay, stay, type Target } from './mapping.ts';
import { unreadable } from './secrets.ts';

/** What was not carried, or needs a look. */
export interface Left extends Stay {
  readonly table: string;
  /** Empty for a whole table. */
  readonly row: string;
  /** Empty for a whole row. */
  readonly column: string;
  /** The record that it would belong to. */
  readonly kind: Kind | undefined;
  readonly key: string;
}

/** What became of a column of a row. */
export type Outcome = 'carried' | 'named' | 'usual' | 'no meaning';

export interface Carried {
  readonly records: ReadonlyMap<Kind, ReadonlyMap<string, FileRecord>>;
  readonly left: readonly Left[];
  /** By `table row column`. */
  readonly account: ReadonlyMap<string, Outcome>;
}

/** In pieces, because a database can have as many rows as it likes. */
export async function carry(
  old: OldDatabase,
  mappings: readonly Mapping[],
  kinds: readonly Kind[],
  target: Omit<Target, 'old' | 'keyOf'>,
): Promise<Carried> {
  const carrier = new Carrier(old, kinds, target);
  for (const mapping of mappings) await inSlices(carrier.carry(mapping));
  await inSlices(carrier.nameUnknown(new Set(mappings.map(({ table }) => table))));
  return { records: carrier.records, left: carrier.left, account: carrier.account };
}

export const cellName = (row: Row, column: string) => `${row.table} ${row.id} ${column}`;

class Carrier {
  readonly records = new Map<Kind, Map<string, FileRecord>>();
  readonly left: Left[] = [];
  readonly account = new Map<string, Outcome>();
  readonly #old: OldDatabase;
  readonly #kinds: readonly Kind[];
  readonly #target: Target;
  readonly #keys = new Map<string, string>();
  /** How many records of a kind have the same key. */
  readonly #same = new Map<string, number>();
  /** Whether rows are read for the second time: what became of their cells is noted already. */
  #isSecond = false;

  constructor(old: OldDatabase, kinds: readonly Kind[], target: Omit<Target, 'old' | 'keyOf'>) {
    this.#old = old;
    this.#kinds = kinds;
    this.#target = { ...target, old, keyOf: (table, id) => this.#keys.get(`${table} ${id}`) };
  }

  *carry(mapping: Mapping): Generator<undefined, void> {
    const rows = this.#old.rows(mapping.table);
    const kindFor = (row: Row) => this.#kindAt(mapping.toFor?.(row) ?? mapping.to);
    if (mapping.isSecondReading === true) {
      this.#isSecond = true;
      for (const row of rows) {
        this.#readAgain(mapping, kindFor(row), row);
        yield;
      }
      this.#isSecond = false;
      return;
    }
    // Failed upgrades have left further rows of settings. The old appliance took the last one.
    const last = rows.at(-1);
    for (const row of rows) {
      if (mapping.isState === true || (mapping.isSettings === true && row !== last)) this.#settle(row, 'no meaning');
      else this.#row(mapping, kindFor(row), row);
      yield;
    }
  }

  #kindAt(path: string | undefined): Kind | undefined {
    return this.#kinds.find(({ resource }) => resource.path === path);
  }

  *nameUnknown(known: ReadonlySet<string>): Generator<undefined, void> {
    for (const [table, rows] of this.#old.tables) {
      if (known.has(table) || rows.length === 0) continue;
      for (const row of rows) {
        this.#settle(row, 'named');
        yield;
      }
      const count = rows.length === 1 ? '1 row' : `${rows.length} rows`;
      this.left.push({
        ...{ table, row: '', column: '', kind: undefined, key: '' },
        ...stay(`The table has ${count} that this version does not know.`, 'Look there for what you still need.'),
      });
    }
  }

  #settle(row: Row, outcome: Outcome): void {
    for (const column of row.columns) {
      const name = cellName(row, column);
      if (!this.account.has(name)) this.account.set(name, outcome);
    }
  }

  #row(mapping: Mapping, kind: Kind | undefined, row: Row): void {
    const existing = mapping.isRecord?.(row, this.#target);
    if (existing !== undefined) {
      this.#keys.set(`${row.table} ${row.id}`, existing);
      this.#settle(row, 'carried');
      return;
    }
    if (mapping.isUsual?.(row, this.#target) === true) {
      this.#settle(row, 'usual');
      return;
    }
    const why = mapping.stays?.(row, this.#target);
    if (why === undefined) this.#carried(mapping, kind, row);
    else this.#leaveRow(row, kind, why);
  }

  /** What becomes of a row has been noted, and stays so: only what is wrong with the second record is added. */
  #readAgain(mapping: Mapping, kind: Kind | undefined, row: Row): void {
    const name = `${row.table} ${row.id}`;
    const key = this.#keys.get(name);
    if (key === undefined) return;
    const used = Object.fromEntries(row.columns.map((column) => [column, mapping.columns[column] ?? part]));
    this.#row({ ...mapping, columns: used }, kind, row);
    this.#keys.set(name, key);
  }

  #carried(mapping: Mapping, kind: Kind | undefined, row: Row): void {
    const values: Record<string, unknown> = {};
    const left: { readonly column: string; readonly why: Stay }[] = [];
    const outcomes = new Map<string, Outcome>();
    for (const column of row.columns) {
      const found = this.#column(mapping.columns[column], row, column, kind);
      outcomes.set(column, found.outcome);
      if (found.why !== undefined) left.push({ column, why: found.why });
      else if (found.field !== undefined) values[found.field] = found.value;
    }
    for (const [name, value] of Object.entries(mapping.values?.(row, this.#target) ?? {})) {
      const reading = isStay(value) || value === undefined ? value : this.#read(kind, name, value);
      if (isStay(reading)) left.push({ column: name, why: reading });
      else if (reading !== undefined) values[name] = reading;
    }
    // A record that is there already is only changed.
    const isNew =
      kind !== undefined && !kind.isSettings && this.#target.state.find(kind, keyFrom(kind, values)) === undefined;
    const missing = kind?.fields.find(({ field, wire }) => isNew && field.required && values[wire] === undefined);
    if (kind !== undefined && missing !== undefined) {
      const cause = left.find(({ column }) => column === missing.wire || mapping.columns[column] !== undefined);
      this.#leaveRow(
        row,
        kind,
        cause?.why ?? stay(`It has no ${missing.name}, which is required.`, 'Make it by hand.'),
      );
      return;
    }
    const key = kind === undefined ? '' : this.#add(kind, row, values, mapping.key?.(row, this.#target));
    for (const [column, outcome] of outcomes) this.#note(row, column, outcome);
    for (const { column, why: reason } of left) this.#leave(row, column, kind, key, reason);
    for (const { column = '', ...remark } of mapping.remarks?.(row, this.#target) ?? [])
      this.#leave(row, column, kind, key, remark);
  }

  #column(
    declared: Column | undefined,
    row: Row,
    column: string,
    kind: Kind | undefined,
  ): {
    readonly outcome: Outcome;
    readonly field?: string;
    readonly value?: unknown;
    readonly why?: Stay;
  } {
    const cell = row.cell(column);
    const isEmpty = cell === null || cell === '';
    if (declared === undefined)
      return column === 'id' || isEmpty
        ? { outcome: column === 'id' ? 'no meaning' : 'usual' }
        : { outcome: 'named', why: stay('The column is not known to this version.', 'Look what it means there.') };
    if (declared.does === 'part') return { outcome: 'carried' };
    if (declared.does === 'nothing') return { outcome: 'no meaning' };
    if (declared.does === 'stays')
      return isEmpty || (cell !== unreadable && declared.usual.includes(String(cell)))
        ? { outcome: 'usual' }
        : { outcome: 'named', why: declared.stay };
    if (cell === unreadable) return { outcome: 'named', why: unreadableSecret(this.#old.hasKey) };
    const name = declared.field ?? column;
    const field = kind?.fields.find(({ wire }) => wire === name);
    const converted =
      declared.convert === undefined ? natural(field, row, column) : declared.convert(row, this.#target, column);
    if (isStay(converted)) return { outcome: 'named', why: converted };
    if (converted === undefined) return { outcome: 'usual' };
    const reading = this.#read(kind, name, converted);
    return isStay(reading)
      ? { outcome: 'named', why: reading }
      : { outcome: 'carried', ...(reading !== undefined && { field: name, value: reading }) };
  }

  /** The value as the field reads it. */
  #read(kind: Kind | undefined, name: string, value: unknown): unknown {
    const found = kind?.fields.find(({ wire }) => wire === name);
    if (found === undefined)
      return stay('There is no such field here.', `If it matters, look how ${kind?.name ?? 'it'} is set up here.`);
    if (found.refersTo !== undefined || found.hashes !== undefined) return value;
    const reading = found.field.read(value);
    if (reading.ok) return reading.value;
    // What a field says of a secret may repeat it.
    const sentence = found.field.secret ? 'Its value is not one that the field takes.' : reading.wrong;
    return stay(sentence, `Set ${found.name} by hand, if the default does not suit you.`);
  }

  #add(kind: Kind, row: Row, values: Readonly<Record<string, unknown>>, given: string | undefined): string {
    const records = this.records.get(kind) ?? new Map<string, FileRecord>();
    this.records.set(kind, records);
    const base = given ?? (kind.isSettings ? 'unnamed' : keyFrom(kind, values));
    const counted = `${kind.name} ${base}`;
    let key = base;
    for (let n = this.#same.get(counted) ?? 2; records.has(key) && !kind.isSettings; n += 1) {
      key = `${base}~${n}`;
      this.#same.set(counted, n + 1);
    }
    const before = kind.isSettings ? records.get(key)?.values : undefined;
    records.set(key, { key, id: undefined, values: { ...before, ...values }, path: '' });
    this.#keys.set(`${row.table} ${row.id}`, key);
    return key;
  }

  #leaveRow(row: Row, kind: Kind | undefined, why: Stay): void {
    this.#settle(row, 'named');
    this.#leave(row, '', kind, '', why);
  }

  #leave(row: Row, column: string, kind: Kind | undefined, key: string, why: Stay): void {
    this.left.push({ table: row.table, row: row.id, column, kind, key, reason: why.reason, remedy: why.remedy });
    if (column !== '' && row.has(column)) this.#note(row, column, 'named');
  }

  #note(row: Row, column: string, outcome: Outcome): void {
    const name = cellName(row, column);
    if (!this.#isSecond || !this.account.has(name)) this.account.set(name, outcome);
  }
}

export function unreadableSecret(hasKey: boolean): Stay {
  return hasKey
    ? stay('It is a secret that cannot be read with this key.', 'Enter it by hand.')
    : stay(
        'It is a secret that the old appliance encrypted, and its key was not given.',
        'Export with the option to include the password secret seed, or copy /data/pwenc_secret and give it too; otherwise enter it by hand.',
      );
}

/** The cell as the type that the field has. */
function natural(found: FileField | undefined, row: Row, column: string): unknown {
  const cell = row.cell(column);
  if (cell === null || cell === unreadable) return undefined;
  const types = found === undefined ? new Set<string>() : typesOf(found.field);
  const text = String(cell);
  if (types.has('boolean')) return text === '' ? undefined : isFlagSet(text);
  if (types.has('integer') && !types.has('string')) {
    if (text.trim() === '') return undefined;
    return /^-?\d{1,15}$/.test(text.trim()) ? Number(text) : text;
  }
  return text;
}

function typesOf({ schema }: Field): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: Json | undefined): void => {
    if (!isObject(value)) return;
    const type = value['type'];
    for (const one of [type].flat()) if (typeof one === 'string') found.add(one);
    const any = value['anyOf'];
    if (Array.isArray(any)) for (const one of any) visit(one);
  };
  visit(schema);
  return found;
}
