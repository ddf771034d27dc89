import {
  commentProperty,
  type Dataset,
  type DatasetProperty,
  datasetProperties,
  keySlotsProperty,
} from '../../ports/zfs.ts';
import { bytesOf, entriesOf, memberOf, type Property, parse, propertyOf } from './json.ts';

/** The columns of `zfs list` that describe a dataset. */
export const datasetColumns: readonly string[] = [
  'name',
  'type',
  'used',
  'available',
  'referenced',
  'mountpoint',
  'mounted',
  ...datasetProperties,
  commentProperty,
  'keystatus',
  'encryptionroot',
  keySlotsProperty,
  'guid',
  'origin',
  'snapshots_changed',
  'usedbysnapshots',
  'usedbydataset',
  'logicalused',
  'written',
  'compressratio',
];

/**
 * The datasets, from `zfs list -jp` with the columns above, printed at the time `now` in seconds. ZFS reports the
 * second in which a dataset last got or lost a snapshot. While that second is recent, more changes may follow within
 * it, so the stamp then contains a value that never repeats.
 */
export function readDatasets(
  list: string,
  { now, look }: { readonly now: number; readonly look: number } = { now: Number.MAX_SAFE_INTEGER, look: 0 },
): readonly Dataset[] {
  return entriesOf(parse(list), 'datasets').map(([name, dataset]) => {
    const properties = memberOf(dataset, 'properties');
    const values: Partial<Record<DatasetProperty, string>> = {};
    const inherited: DatasetProperty[] = [];
    for (const property of datasetProperties) {
      const { value = '-', source } = propertyOf(properties, property) ?? {};
      // The property does not apply. Its source is then a leftover of the property before.
      if (value === '-') continue;
      values[property] = value;
      if (source === 'DEFAULT' || source === 'INHERITED') inherited.push(property);
    }
    const comment = propertyOf(properties, commentProperty);
    const text = (property: string) => (propertyOf(properties, property)?.value ?? '-').replace(/^-$/, '');
    const slots = propertyOf(properties, keySlotsProperty);
    return Object.freeze({
      name,
      kind: propertyOf(properties, 'type')?.value === 'volume' ? 'volume' : 'filesystem',
      used: bytesOf(properties, 'used'),
      available: bytesOf(properties, 'available'),
      referenced: bytesOf(properties, 'referenced'),
      figures: Object.freeze({
        logicalUsed: bytesOf(properties, 'logicalused'),
        usedByDataset: bytesOf(properties, 'usedbydataset'),
        usedBySnapshots: bytesOf(properties, 'usedbysnapshots'),
        written: bytesOf(properties, 'written'),
        compression: Number.parseFloat(text('compressratio')) || 1,
      }),
      mountpoint:
        propertyOf(properties, 'mounted')?.value === 'yes' ? propertyOf(properties, 'mountpoint')?.value : undefined,
      properties: Object.freeze(values),
      inherited: Object.freeze(inherited),
      // An inherited comment describes the parent.
      comment:
        comment !== undefined && isOwn(comment) && comment.value !== '-' && comment.value !== ''
          ? comment.value
          : undefined,
      key:
        text('keystatus') === 'available'
          ? 'available'
          : text('keystatus') === 'unavailable'
            ? 'unavailable'
            : undefined,
      encryptionRoot: text('encryptionroot') === '' ? undefined : text('encryptionroot'),
      // Inherited key slots are of the encryption root above.
      keySlots: slots !== undefined && isOwn(slots) && slots.value !== '-' ? slots.value : undefined,
      origin: text('origin') === '' ? undefined : text('origin'),
      // The space that snapshots use alone changes with the contents that they share with the dataset.
      snapshotStamp: [
        text('guid'),
        text('origin'),
        text('snapshots_changed'),
        text('usedbysnapshots'),
        bytesOf(properties, 'snapshots_changed') > now - settling ? look : '',
      ].join(' '),
      isUntouched: text('snapshots_changed') === '',
    });
  });
}

/** Seconds after which the time of a dataset's last snapshot change is final. */
const settling = 3;

/**
 * The properties that a dataset itself sets, by name, from `zfs get -jp`; properties that do not apply are left out.
 */
export function readOwnSettings(got: string, name: string): ReadonlyMap<string, string | undefined> {
  const dataset = new Map(entriesOf(parse(got), 'datasets')).get(name) ?? {};
  return new Map(
    entriesOf(dataset, 'properties').flatMap(([property]) => {
      const found = propertyOf(memberOf(dataset, 'properties'), property);
      return found === undefined ? [] : [[property, isOwn(found) ? found.value : undefined] as const];
    }),
  );
}

function isOwn({ source }: Property): boolean {
  return source === 'LOCAL' || source === 'RECEIVED';
}

/**
 * Comments by dataset, from `zfs get -H -o name,value` for datasets with a comment of their own. A comment may contain
 * line breaks; a line that does not begin with the next name belongs to the comment before it.
 */
export function readComments(text: string, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  let current: string | undefined;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const at = line.indexOf('\t');
    const name = at < 0 ? '' : line.slice(0, at);
    if (names.has(name) && !comments.has(name)) {
      current = name;
      comments.set(name, line.slice(at + 1));
    } else if (current !== undefined) {
      comments.set(current, `${comments.get(current) ?? ''}\n${line}`);
    }
  }
  return comments;
}
