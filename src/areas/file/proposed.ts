/** Records that were read elsewhere, as the file has them: each value is judged by its field. */
import type { NotCarried, Origin, ProposedRecord } from '../../engine/declare/proposal.ts';
import { quote } from '../../lib/text.ts';
import { isHosted, type Kind } from './kinds.ts';
import type { Remark } from './proposal.ts';
import { type FileRecord, keyFrom } from './state.ts';

export interface Proposed {
  readonly records: ReadonlyMap<Kind, ReadonlyMap<string, FileRecord>>;
  readonly notCarried: readonly NotCarried[];
  /** Where each record was read. */
  readonly origins: readonly Remark[];
  /** The record that was read at this place. */
  keyAt(origin: NotCarried): { readonly kind: Kind; readonly key: string } | undefined;
}

export function proposedFrom(kinds: readonly Kind[], found: readonly ProposedRecord[]): Proposed {
  const records = new Map<Kind, Map<string, FileRecord>>();
  const notCarried: NotCarried[] = [];
  const origins: Remark[] = [];
  const places: (Origin & { readonly kind: Kind; readonly key: string })[] = [];
  for (const { resource, values, file, line } of found) {
    const kind = kinds.find((one) => one.resource.path === resource);
    if (kind === undefined) continue;
    const { kept, lost, isWhole } = judged(kind, values);
    const plain = keyFrom(kind, { ...givenKey(kind, values), ...kept });
    const title = kind.isSettings ? kind.name : `${kind.name} ${plain}`;
    for (const { name, value, sentence } of lost)
      notCarried.push({
        ...{ file, line, text: `${title}: ${name} ${quote(value)}`, reason: sentence },
        toDo: isWhole ? `Add ${name} with another value.` : 'Create the record by hand.',
      });
    if (!isWhole) continue;
    const ofKind = records.get(kind) ?? new Map<string, FileRecord>();
    records.set(kind, ofKind);
    const before = ofKind.get(plain);
    if (kind.isSettings && before !== undefined) {
      ofKind.set(plain, { ...before, values: { ...before.values, ...kept } });
      continue;
    }
    const key = freeKey(plain, ofKind);
    ofKind.set(key, { key, id: undefined, values: kept, path: '' });
    places.push({ kind, key, file, line });
    origins.push({ kind, key, text: line > 0 ? `from ${file}:${line}` : `from ${file}` });
  }
  return {
    ...{ records, notCarried, origins },
    keyAt: ({ file, line, within = line }) =>
      places.find((place) => place.file === file && place.line === within && within > 0),
  };
}

/** The parts of a key that the appliance gives to a new record, such as the number of an aggregate. */
function givenKey({ keyFields, fields }: Kind, values: ProposedRecord['values']) {
  const given = keyFields.filter((wire) => !fields.some((field) => field.wire === wire));
  return Object.fromEntries(given.map((wire) => [wire, values[wire]]));
}

/** Of records with the same key, the second is `key~2`. */
function freeKey(key: string, records: ReadonlyMap<string, FileRecord>): string {
  for (let number = 1; ; number += 1) {
    const one = number === 1 ? key : `${key}~${number}`;
    if (!records.has(one)) return one;
  }
}

function judged(kind: Kind, values: ProposedRecord['values']) {
  const kept: Record<string, unknown> = {};
  const lost: { name: string; value: unknown; sentence: string }[] = [];
  let isWhole = true;
  for (const { wire, name, field, refersTo, hashes } of kind.fields) {
    const value = values[wire];
    if (value === undefined) continue;
    // The field of a name takes its last element, and the file has the whole.
    const isWholeName = isHosted(kind) && wire === 'name';
    const isTaken = isWholeName || refersTo !== undefined || hashes !== undefined;
    const reading = isTaken ? { ok: true as const, value } : field.read(value);
    if (reading.ok) kept[wire] = reading.value;
    else {
      lost.push({ name, value: field.secret ? '********' : value, sentence: reading.wrong });
      isWhole &&= !field.required;
    }
  }
  return { kept, lost, isWhole };
}
