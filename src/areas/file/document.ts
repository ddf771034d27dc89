/** The configuration as a document: canonical, so that equal configurations give equal texts. */
import { isDeepStrictEqual } from 'node:util';
import { exactSize } from '../../lib/size.ts';
import { type FileField, isHosted, type Kind } from './kinds.ts';
import { compare, type FileRecord, type Records } from './state.ts';

export const fileVersion = 1;

export interface Exporting {
  readonly kinds: readonly Kind[];
  readonly state: Records;
  /** That of the fresh system, whose values are left out. */
  readonly fresh: Records;
  /** Whether values that are the default are written too. */
  readonly full: boolean;
  /** Whether records of a new system that are absent are not mentioned. Otherwise the file removes them. */
  readonly onlyAdds?: boolean;
  /** Whether lines for programs, in which people write passwords too, are left as secrets are. */
  readonly hidesRaw?: boolean;
  /** What stands for a secret in the file. */
  readonly secret: (purpose: string, value: unknown) => unknown;
}

/** The document, as a JSON value whose members are in their final order. It is made in pieces, as there can be very many records. */
export function* documentOf(exporting: Exporting): Generator<undefined, Readonly<Record<string, unknown>>> {
  const sections: [string, Members][] = [];
  for (const kind of exporting.kinds.toSorted((a, b) => compare(a.name, b.name))) {
    const content = kind.isSettings ? settingsOf(exporting, kind) : yield* recordsOf(exporting, kind);
    if (Object.keys(content).length > 0) sections.push([kind.name, content]);
    yield;
  }
  return { holdfast: fileVersion, ...Object.fromEntries(sections) };
}

type Members = Readonly<Record<string, unknown>>;

function settingsOf(exporting: Exporting, kind: Kind): Members {
  const [record] = exporting.state.of(kind).values();
  return record === undefined ? {} : bodyOf(exporting, kind, record);
}

function* recordsOf(exporting: Exporting, kind: Kind): Generator<undefined, Members> {
  const { state, fresh, full, onlyAdds = false } = exporting;
  const first = fresh.of(kind);
  const present: (readonly [string, Members])[] = [];
  for (const record of state.of(kind).values()) {
    if (record.isOfJails === true) continue;
    yield;
    const body = bodyOf(exporting, kind, record);
    // What is as on every new system is left out, and so are objects of the host that are only there.
    const isUsual = first.has(record.key) || kind.name === 'disk' || isRoot(kind, record);
    if (!isUsual || full || Object.keys(body).length > 0) present.push([record.key, body]);
  }
  const gone = kind.removes && !onlyAdds ? [...first.keys()].filter((key) => state.find(kind, key) === undefined) : [];
  return Object.fromEntries(
    [...present, ...gone.map((key) => [key, null] as const)].toSorted(([a], [b]) => compare(a, b)),
  );
}

/** The dataset that a pool is. */
const isRoot = ({ name }: Kind, { key }: FileRecord) => name === 'dataset' && !key.includes('/');

function bodyOf(exporting: Exporting, kind: Kind, { key, values }: FileRecord): Members {
  const { fresh, full, secret, hidesRaw = false } = exporting;
  const first = fresh.find(kind, key);
  const body: Record<string, unknown> = {};
  const isWritten = kind.fields.some(({ isLinked }) => isLinked) && hasLinkedChange(exporting);
  for (const field of kind.fields) {
    const value = values[field.wire];
    if (value === undefined || isGivenByKey(kind, field, key, value)) continue;
    const base = baseOf(kind, field, first);
    const isBase = isDeepStrictEqual(value, base) || (isHosted(kind) && (value === null || value === ''));
    const isNeeded =
      (field.isLinked && isWritten) || field.isChosenWith !== undefined || isSwitchedByDomain(exporting, key, field);
    if (isBase && !full && !isNeeded) continue;
    if (field.field.secret) {
      if (!isUnset(value)) body[field.name] = secret(purposeOf(kind, field), value);
    } else if (hidesRaw && field.field.raw === true) body[field.name] = { keep: true };
    else body[field.name] = shownAs(field, value, base);
  }
  return body;
}

/** Whether joining a domain sets the value: it switches SMB on, also where the file means it to be off. */
function isSwitchedByDomain({ kinds, state }: Exporting, key: string, { wire }: FileField): boolean {
  if (wire !== 'srv_enable' || key !== 'smb') return false;
  const domain = kinds.find(({ resource }) => resource.path === 'directoryservice/activedirectory');
  return domain !== undefined && [...state.of(domain).values()].some(({ values }) => values['ad_enable'] === true);
}

/** Whether a record with linked fields is not as on a new system. */
function hasLinkedChange({ kinds, state, fresh }: Exporting): boolean {
  return kinds
    .filter(({ fields }) => fields.some(({ isLinked }) => isLinked))
    .some((kind) =>
      [...state.of(kind).values()].some(({ key, values }) => !isDeepStrictEqual(values, fresh.find(kind, key)?.values)),
    );
}

/** What a field has that the file leaves out or sets to null. */
export function baseOf(kind: Kind, { wire, field }: FileField, first: FileRecord | undefined): unknown {
  if (first !== undefined) return first.values[wire];
  if (isHosted(kind) && !field.required && field.initial === undefined) return 'inherit';
  return field.initial;
}

/** Whether the key is the value of the field, so that the file does not need it twice. */
export function isGivenByKey(kind: Kind, { wire, field, refersTo }: FileField, key: string, value?: unknown): boolean {
  if (isHosted(kind)) return wire === 'name';
  if (kind.keyFields.length !== 1 || kind.keyFields[0] !== wire || refersTo !== undefined) return false;
  if (value === undefined) return true;
  const reading = field.read(key);
  return reading.ok && isDeepStrictEqual(reading.value, value);
}

function shownAs({ isSize, isChosenWith }: FileField, value: unknown, base: unknown): unknown {
  // Null means the default in the file, so a value that is unset against the default is an empty text.
  if (value === null) return base === null && isChosenWith === undefined ? null : '';
  if (!isSize) return value;
  const bytes = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof bytes === 'number' ? exactSize(bytes) : value;
}

export const purposeOf = ({ resource: { path } }: Kind, { wire }: FileField) => `${path} ${wire}`;

export const isUnset = (value: unknown) => value === undefined || value === null || value === '';
