import { Fault, failed, invalid } from '../../engine/declare/errors.ts';
import type { Field, Use } from '../../engine/declare/fields.ts';
import { HostError } from '../../host/ports/index.ts';
import type { Dataset, DatasetProperty, DatasetSettings } from '../../host/ports/zfs.ts';
import { changeDataset } from './steps.ts';

/** What datasets and zvols have in common: the ZFS properties, and how to change and restore them. */

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
  'zstd-1',
  'zstd-2',
  'zstd-3',
  'zstd-4',
  'zstd-5',
  'zstd-6',
  'zstd-7',
  'zstd-8',
  'zstd-9',
  'zstd-10',
  'zstd-11',
  'zstd-12',
  'zstd-13',
  'zstd-14',
  'zstd-15',
  'zstd-16',
  'zstd-17',
  'zstd-18',
  'zstd-19',
  'zstd-fast',
] as const;

/** A choice whose answer may be any text: an imported pool may have values that the API does not offer. */
export const openChoice = <U extends Use>(of: Field<string, U>): Field<string, U> => of;

/** Field name in the API to ZFS property. */
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

/** The sent fields as settings. The value `'inherit'` makes a property inherit from the parent. */
export function settingsOf(sent: Sent): DatasetSettings {
  const properties: Partial<Record<DatasetProperty, string>> = {};
  for (const [name, value] of Object.entries(sent)) {
    const property = propertyOf[name];
    if (property !== undefined && value !== undefined) properties[property] = String(value);
  }
  const comments = sent['comments'];
  return { properties, ...(comments === undefined ? {} : { comment: typeof comments === 'string' ? comments : '' }) };
}

/**
 * The settings that change an existing dataset or zvol. A client that sends back what it read does not mean to set the
 * values of the properties in `inherited`: those stay inherited unless their values differ.
 */
export function changedSettings(
  { properties: now }: Dataset,
  sent: Sent,
  inherited: readonly string[],
): DatasetSettings {
  const { properties = {}, ...settings } = settingsOf(sent);
  const changes = ([name, value]: readonly [string, string]) =>
    !inherited.includes(name) ||
    Object.entries(now).every(([property, current]) => property !== name || current !== value);
  return { ...settings, properties: Object.fromEntries(Object.entries(properties).filter(changes)) };
}

/** The settings of a new dataset or zvol: a property is inherited by not being set. */
export function newSettings(sent: Sent): DatasetSettings {
  const { properties, ...settings } = settingsOf(sent);
  return {
    ...settings,
    properties: Object.fromEntries(Object.entries(properties ?? {}).filter(([, value]) => value !== 'inherit')),
  };
}

export function changeStep(before: Dataset, settings: DatasetSettings, what: string) {
  const former = Object.fromEntries(
    Object.keys(settings.properties ?? {}).map((property) => [property, formerValue(before, property)]),
  );
  return changeDataset({
    name: before.name,
    what,
    settings,
    former: JSON.stringify({ properties: former, comment: before.comment ?? '' }),
  });
}

/** ZFS never inherits limits and reservations. */
const limits: readonly string[] = ['quota', 'refquota', 'reservation', 'refreservation'];

/** The value that restores the current state of a property. */
function formerValue({ properties, inherited }: Dataset, name: string): string {
  const value = Object.entries(properties).find(([property]) => property === name)?.[1];
  return value === undefined || (!limits.includes(name) && inherited.some((property) => property === name))
    ? 'inherit'
    : value;
}

/** ZFS errors that do not name the property, and the fields that can cause them. */
const unnamed: readonly (readonly [message: RegExp, fields: readonly string[]])[] = [
  [/dataset already exists/, ['name']],
  [/name is too long/, ['name']],
  [/less than current used/, ['quota', 'refquota']],
  [/greater than available space/, ['reservation', 'refreservation', 'volsize']],
  [/out of space/, ['reservation', 'refreservation', 'volsize']],
];

/** Waits for a change and reports an error of ZFS under the field that caused it, where that is known (gaps 12.2). */
export async function reportUnderField<T>(sent: Sent, change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'failed' || !(error.cause instanceof HostError)) throw error;
    const { message } = error;
    const names = Object.keys(sent).filter((name) => sent[name] !== undefined);
    const named = names.find((name) => propertyOf[name] !== undefined && message.includes(`'${propertyOf[name]}'`));
    const field =
      named ??
      unnamed
        .filter(([pattern]) => pattern.test(message))
        .flatMap(([, fields]) => fields.filter((name) => names.includes(name)))[0];
    throw field === undefined ? error : invalid({ [field]: [message] });
  }
}

export function gone(what: string, name: string): never {
  throw failed(`The change succeeded, but the host does not list the ${what} ${JSON.stringify(name)}.`);
}
