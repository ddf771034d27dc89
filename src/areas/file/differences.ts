/** What has to be done so that the configuration is as files say. */
import { isDeepStrictEqual } from 'node:util';
import { inSlices } from '../../lib/slices.ts';
import { quote } from '../../lib/text.ts';
import { type FileField, isHosted, type Kind } from './kinds.ts';
import type { FileRecord, State } from './state.ts';
import { mostProblems } from './text.ts';
import { type Place, type Problem, titleOf, type Wanted, type WantedRecord, type WantedValue } from './wanted.ts';

export interface Difference extends Place {
  readonly kind: Kind;
  readonly key: string;
  readonly what: 'create' | 'change' | 'remove';
  /** The record as it is, unless it is created. */
  readonly record: FileRecord | undefined;
  readonly values: readonly WantedValue[];
}

export interface Comparison {
  readonly differences: readonly Difference[];
  readonly problems: readonly Problem[];
}

/** Compares the wanted records of these kinds with the configuration, in pieces. */
export function comparisonOf(
  kinds: readonly Kind[],
  wanted: Wanted,
  state: State,
  options: Comparing = {},
): Promise<Comparison> {
  return inSlices(comparing(kinds, wanted, state, options));
}

interface Comparing {
  /** The configuration before, where an earlier request of the same file may have made a record. */
  readonly earlier?: State;
  /** Kinds whose secrets always count as different. */
  readonly guarded?: ReadonlySet<Kind>;
}

function* comparing(
  kinds: readonly Kind[],
  { records }: Wanted,
  state: State,
  { earlier = state, guarded = new Set() }: Comparing,
): Generator<undefined, Comparison> {
  const differences: Difference[] = [];
  const problems: Problem[] = [];
  for (const kind of kinds)
    for (const wanted of inOrderOfNumbers([...(records.get(kind)?.values() ?? [])])) {
      yield;
      if (problems.length >= mostProblems) return { differences, problems };
      const record = state.find(kind, wanted.key);
      const { file, line } = wanted;
      const refuse = (message: string, at: Place = wanted) =>
        problems.push({ file: at.file, line: at.line, message: `${titleOf(kind, wanted.key)}: ${message}` });
      const found = { ...{ file, line, kind, record, key: wanted.key }, values: [] };
      if (wanted.isAbsent) {
        if (record !== undefined) differences.push({ ...found, what: 'remove' });
      } else if (record === undefined) {
        const whole = creationOf(wanted, refuse);
        if (whole !== undefined) differences.push({ ...found, what: 'create', values: whole });
      } else {
        const isNew = earlier.find(kind, wanted.key) === undefined;
        const all = isNew ? [...wanted.values, ...defaultsOf(wanted)] : wanted.values;
        const isUnknown = ({ field: { field }, isKept }: WantedValue) =>
          !isKept && guarded.has(kind) && (field.secret || field.raw === true);
        const changed = all.filter((value) => isUnknown(value) || isChanged(value, record));
        const values =
          changed.length === 0 ? [] : all.filter((value) => changed.includes(value) || value.field.isLinked);
        const fixed = values.filter(({ field }) => !kind.changes || field.field.createOnly);
        for (const one of fixed)
          refuse(`${one.field.name} is given when it is made, and cannot be changed. Remove it first.`, one);
        if (values.length > fixed.length) differences.push({ ...found, what: 'change', values });
      }
    }
  return { differences, problems };
}

/** What a new record has where the file is silent: one that came with another, such as the row of a VLAN, may have more. */
function defaultsOf({ kind, file, line, values }: WantedRecord): readonly WantedValue[] {
  return kind.fields
    .filter(
      ({ kept, wire, field }) => kept === wire && field.initial !== undefined && !field.createOnly && !field.secret,
    )
    .filter((field) => !values.some((value) => value.field === field))
    .map((field) => ({ file, line, field, value: field.field.initial, isKept: false, isHashed: false }));
}

/** The appliance gives numbers to link aggregates in the order in which they are made: lagg2 before lagg10. */
function inOrderOfNumbers(wanted: readonly WantedRecord[]): readonly WantedRecord[] {
  const numberOf = ({ key }: WantedRecord) => Number(/^lagg(\d+)$/.exec(key)?.[1] ?? 0);
  return wanted[0]?.kind.resource.path === 'network/lagg'
    ? wanted.toSorted((a, b) => numberOf(a) - numberOf(b))
    : wanted;
}

function creationOf(wanted: WantedRecord, refuse: (message: string, at?: Place) => void) {
  const { kind, values, key } = wanted;
  if (kind.makes === undefined) {
    refuse(
      kind.name === 'pool'
        ? `There is no such pool. A file never makes one: create or import it first.`
        : `There is no ${quote(key)}, and a file cannot make one.`,
    );
    return undefined;
  }
  // Only a record that exists has a secret that can be kept.
  const kept = values.filter(({ isKept }) => isKept);
  for (const one of kept)
    refuse(`${one.field.name}: There is nothing to keep. Give the secret as sealed, file or env.`, one);
  const missing = kind.fields.filter(
    ({ field, wire }) =>
      field.required && !(isHosted(kind) && wire === 'name') && !values.some((value) => value.field.wire === wire),
  );
  for (const { name } of missing) refuse(`${name} is required.`);
  return missing.length + kept.length > 0 ? undefined : values;
}

function isChanged({ field, value, isKept, isHashed }: WantedValue, record: FileRecord): boolean {
  if (isKept) return false;
  if (field.hashes !== undefined) return !isHashed || !isDeepStrictEqual(record.values[field.wire], value);
  // What is only sent, such as the permissions of a new folder, is for the creation.
  if (field.kept === undefined || field.isForCreation) return false;
  const now = record.values[field.wire];
  // A property that is inherited has no value of its own.
  const isOwn = value !== 'inherit' && value !== null && value !== '' && !isDeepStrictEqual(value, field.field.initial);
  return now === undefined ? isOwn : !isDeepStrictEqual(now, value) && !isDeepStrictEqual(readAgain(field, now), value);
}

/** A value as a request would give it: the text of a certificate ends without a line feed then. */
function readAgain({ field }: FileField, now: unknown): unknown {
  const reading = now === null ? undefined : field.read(now);
  return reading?.ok === true ? reading.value : now;
}

/** The fields of a difference for people: secrets are masked, and lines for programs too if `hidesRaw`. */
export function shownDifference({ kind, key, what, record, values, file, line }: Difference, hidesRaw: boolean) {
  const shown = (field: FileField, value: unknown) =>
    (field.field.secret || (hidesRaw && field.field.raw === true)) &&
    value !== undefined &&
    value !== null &&
    value !== ''
      ? '********'
      : (value ?? null);
  return {
    ...{ kind: kind.name, name: kind.isSettings ? '' : key, what, file, line },
    fields: values
      .filter(({ field }) => what !== 'create' || !kind.keyFields.includes(field.wire))
      .map(({ field, value }) => ({
        name: field.name,
        before: record === undefined ? null : shown(field, record.values[field.wire]),
        after: shown(field, value),
      })),
  };
}
