import {
  commentProperty,
  type Dataset,
  type DatasetProperty,
  datasetProperties,
  keySlotsProperty,
} from '../../ports/zfs.ts';
import type { Properties } from './properties.ts';

/** The properties that describe a dataset. */
export const describing: readonly string[] = [
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

/** When properties were printed, in seconds since 1970, and a number that no other look has, also of other runs. */
export interface Look {
  readonly now: number;
  readonly look: number;
}

/**
 * A dataset, from its properties. ZFS reports the second in which a dataset last got or lost a snapshot. While that second
 * is recent, more changes may follow within it, so the stamp then contains the number of the look.
 */
export function readDataset(name: string, found: Properties, { now, look }: Look): Dataset {
  /** Empty for what does not apply or is not set. */
  const text = (property: string) => (found.get(property)?.value ?? '-').replace(/^-$/, '');
  const number = (property: string) => Number(text(property)) || 0;
  /** What is inherited describes another dataset. */
  const own = (property: string) => ownValue(found, property) || undefined;
  const values: Partial<Record<DatasetProperty, string>> = {};
  const inherited: DatasetProperty[] = [];
  for (const property of datasetProperties) {
    const { value, source } = found.get(property) ?? { value: '-', source: '-' };
    // The property does not apply.
    if (value === '-') continue;
    values[property] = value;
    if (source === 'default' || source.startsWith('inherited from ')) inherited.push(property);
  }
  const status = text('keystatus');
  return Object.freeze({
    name,
    kind: text('type') === 'volume' ? 'volume' : 'filesystem',
    used: number('used'),
    available: number('available'),
    referenced: number('referenced'),
    figures: Object.freeze({
      logicalUsed: number('logicalused'),
      usedByDataset: number('usedbydataset'),
      usedBySnapshots: number('usedbysnapshots'),
      written: number('written'),
      compression: Number.parseFloat(text('compressratio')) || 1,
    }),
    mountpoint: text('mounted') === 'yes' ? text('mountpoint') : undefined,
    properties: Object.freeze(values),
    inherited: Object.freeze(inherited),
    comment: own(commentProperty),
    key: status === 'available' || status === 'unavailable' ? status : undefined,
    encryptionRoot: text('encryptionroot') || undefined,
    // Those of the encryption root are inherited by what is below.
    keySlots: own(keySlotsProperty),
    origin: text('origin') || undefined,
    snapshotStamp: [
      text('guid'),
      text('origin'),
      text('snapshots_changed'),
      number('snapshots_changed') > now - settling ? look : '',
    ].join(' '),
    isUntouched: text('snapshots_changed') === '',
  });
}

/** Seconds after which the time of a dataset's last snapshot change is final. */
const settling = 3;

/** The value that the dataset itself has for a property; undefined for one that it inherits or that is not set. */
export function ownValue(found: Properties, property: string): string | undefined {
  const { value, source } = found.get(property) ?? { value: '-', source: '-' };
  return source === 'local' || source === 'received' ? value : undefined;
}
