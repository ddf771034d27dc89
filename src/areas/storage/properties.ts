import { Fault, failed, invalid } from '../../engine/declare/errors.ts';
import type { Field, Use } from '../../engine/declare/fields.ts';
import type { Step } from '../../engine/declare/resource.ts';
import { HostError } from '../../host/ports/index.ts';
import type { Dataset, DatasetProperty, DatasetSettings } from '../../host/ports/zfs.ts';

/** What datasets and zvols have in common: the properties of ZFS, and how they are changed and taken back. */

export const onOff = ['inherit', 'on', 'off'] as const;
export const syncs = ['inherit', 'standard', 'always', 'disabled'] as const;
export const dedups = ['inherit', 'on', 'verify', 'off'] as const;
export const compressions = [
  'inherit',
  'off',
  'on',
  'lz4',
  'gzip',
  'gzip-1',
  'gzip-2',
  'gzip-3',
  'gzip-4',
  'gzip-5',
  'gzip-6',
  'gzip-7',
  'gzip-8',
  'gzip-9',
  'zle',
  'lzjb',
  'zstd',
] as const;

/** A choice whose answer may be any word: a pool from elsewhere may have values that cannot be chosen here. */
export const open = <U extends Use>(of: Field<string, U>): Field<string, U> => of;

/** The interface's names for ZFS's properties. */
const propertyOf: Readonly<Record<string, DatasetProperty>> = {
  sync: 'sync',
  compression: 'compression',
  atime: 'atime',
  readonly: 'readonly',
  exec: 'exec',
  dedup: 'dedup',
  recordsize: 'recordsize',
  case_sensitivity: 'casesensitivity',
  quota: 'quota',
  refquota: 'refquota',
  reservation: 'reservation',
  refreservation: 'refreservation',
  blocksize: 'volblocksize',
  volsize: 'volsize',
};

type Sent = Readonly<Record<string, unknown>>;

/** What was sent as settings. `'inherit'` gives a property back to the parent. */
export function settingsOf(sent: Sent): DatasetSettings {
  const properties: Partial<Record<DatasetProperty, string>> = {};
  for (const [name, value] of Object.entries(sent)) {
    const property = propertyOf[name];
    if (property !== undefined && value !== undefined) properties[property] = String(value);
  }
  const comments = sent['comments'];
  return { properties, ...(comments === undefined ? {} : { comment: typeof comments === 'string' ? comments : '' }) };
}

/** The settings of something new: what is to be inherited is inherited by not being set. */
export function newSettings(sent: Sent): DatasetSettings {
  const { properties, ...settings } = settingsOf(sent);
  return {
    ...settings,
    properties: Object.fromEntries(Object.entries(properties ?? {}).filter(([, value]) => value !== 'inherit')),
  };
}

export function changeStep(before: Dataset, settings: DatasetSettings, what: string): Step {
  const former = Object.fromEntries(
    Object.keys(settings.properties ?? {}).map((property) => [property, formerValue(before, property)]),
  );
  return {
    title: `change the ${what} ${before.name}`,
    perform: (host) => host.zfs.changeDataset(before.name, settings),
    // To set again what is set is no fault, so there is no need to look.
    left: async () => true,
    undo: (host) => host.zfs.changeDataset(before.name, { properties: former, comment: before.comment ?? '' }),
    // What lies below inherits them.
    touches: [{ dataset: before.name, below: true }],
  };
}

/** Limits and reservations are never inherited: ZFS takes their value only. */
const limits: readonly string[] = ['quota', 'refquota', 'reservation', 'refreservation'];

/** What gives a property back the value it has now. */
function formerValue({ properties, inherited }: Dataset, name: string): string {
  const value = Object.entries(properties).find(([property]) => property === name)?.[1];
  return value === undefined || (!limits.includes(name) && inherited.some((one) => one === name)) ? 'inherit' : value;
}

/** What ZFS says without naming the property that it is about. */
const unnamed: readonly (readonly [words: RegExp, fields: readonly string[]])[] = [
  [/dataset already exists/, ['name']],
  [/name is too long/, ['name']],
  [/less than current used/, ['quota', 'refquota']],
  [/greater than available space/, ['reservation', 'refreservation', 'volsize']],
  [/out of space/, ['reservation', 'refreservation', 'volsize']],
];

/** Waits for a change; what ZFS refuses is told under the name of the field that it is about (gaps 12.2), where that can be told. */
export async function blaming<T>(sent: Sent, change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'failed' || !(error.cause instanceof HostError)) throw error;
    const { message } = error;
    const names = Object.keys(sent).filter((name) => sent[name] !== undefined);
    const named = names.find((name) => propertyOf[name] !== undefined && message.includes(`'${propertyOf[name]}'`));
    const blamed =
      named ??
      unnamed
        .filter(([words]) => words.test(message))
        .flatMap(([, fields]) => fields.filter((name) => names.includes(name)))[0];
    throw blamed === undefined ? error : invalid({ [blamed]: [message] });
  }
}

export function gone(what: string, name: string): never {
  throw failed(`It was done, but the machine does not show the ${what} ${JSON.stringify(name)}.`);
}
