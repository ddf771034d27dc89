import { type Dataset, datasetProperties, type GroupKind, groupKinds } from '../../ports/zfs.ts';
import { isFlag, isNumber, isText, listOf, mapOf, oneOf, optional, shapeOf } from '../state.ts';
import type { Values } from './properties.ts';
import { SnapshotList } from './snapshot-list.ts';

/** The stored state of all imported and exported pools. Everything else is computed from it. */
export type ZfsRecord = RecordOf<SnapshotList>;
export type PoolRecord = PoolOf<SnapshotList>;
export type DatasetRecord = DatasetOf<SnapshotList>;

/** What is in the file. */
type StoredRecord = RecordOf<readonly SnapshotRecord[]>;
type StoredPool = PoolOf<readonly SnapshotRecord[]>;
type StoredDataset = DatasetOf<readonly SnapshotRecord[]>;

interface RecordOf<Snapshots> {
  readonly pools: readonly PoolOf<Snapshots>[];
  /** The condition of disks that are not normal, by name. */
  readonly disks?: Readonly<Record<string, DiskCondition>> | undefined;
}

/** A `broken` disk no longer responds; a `partitioned` one has partitions with foreign data. */
const diskConditions = ['broken', 'partitioned'] as const;
export type DiskCondition = (typeof diskConditions)[number];

interface PoolOf<Snapshots> {
  readonly name: string;
  readonly guid: string;
  readonly exported: boolean;
  /** The other machine that used it last and did not export it. */
  readonly usedBy?: string | undefined;
  /** See `exportPool` of the port. */
  readonly unguarded?: boolean | undefined;
  readonly groups: readonly GroupRecord[];
  /** Parents before children, beginning with the root dataset. */
  readonly datasets: readonly DatasetOf<Snapshots>[];
  /** The last scrub or resilver. */
  readonly scrub: ScrubRecord | undefined;
  /** Whether it lacks features that this version of ZFS supports. */
  readonly outdated?: boolean | undefined;
}

export interface EncryptionRecord {
  /** Digest of the key. */
  readonly digest: string;
  readonly locked: boolean;
}

export interface GroupRecord {
  readonly kind: GroupKind;
  readonly name: string;
  readonly devices: readonly DeviceRecord[];
}

export interface DeviceRecord {
  readonly disk: string;
  readonly guid: string;
  readonly size: number;
  readonly offline?: boolean | undefined;
  /** The guid of the device that it replaces when the resilver is complete. */
  readonly replaces?: string | undefined;
  /** Whether it is a hot spare that stands in for the device of `replaces`, which stays in the group. */
  readonly spare?: boolean | undefined;
}

interface DatasetOf<Snapshots> {
  readonly guid: string;
  readonly name: string;
  readonly kind: Dataset['kind'];
  /** Only properties that were set on the dataset itself. */
  readonly properties: Values;
  readonly comment: string | undefined;
  readonly mountpoint: string | undefined;
  /** The snapshot it was cloned from. */
  readonly origin?: string | undefined;
  /** Only of an encryption root. */
  readonly encryption?: EncryptionRecord | undefined;
  readonly keySlots?: string | undefined;
  /** Whether nothing mounts it until it is moved again. */
  readonly unmounted?: boolean | undefined;
  /** The mark that it was created with. */
  readonly made?: string | undefined;
  /** The oldest first. */
  readonly snapshots?: Snapshots | undefined;
}

export interface SnapshotRecord {
  /** 64 bits in decimal digits. */
  readonly guid: string;
  readonly name: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The properties that belong to the content: the size of a volume, the case sensitivity of a filesystem; if any. */
  readonly properties?: Values | undefined;
  readonly deferred?: boolean | undefined;
  readonly task?: number | undefined;
  readonly made?: string | undefined;
}

/** Times are milliseconds of the machine's clock. */
export interface ScrubRecord {
  readonly kind?: 'scrub' | 'resilver' | undefined;
  readonly startedAt: number;
  readonly duration: number;
  readonly cancelledAt: number | undefined;
}

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(
    ([name, text]) => datasetProperties.some((property) => property === name) && isText(text),
  );

const isGuid = (value: unknown): value is string => isText(value) && /^\d{1,20}$/.test(value);

const isStoredRecord = shapeOf<StoredRecord>({
  pools: listOf(
    shapeOf<StoredPool>({
      name: isText,
      guid: isText,
      exported: isFlag,
      usedBy: optional(isText),
      unguarded: optional(isFlag),
      groups: listOf(
        shapeOf<GroupRecord>({
          kind: oneOf(groupKinds),
          name: isText,
          devices: listOf(
            shapeOf<DeviceRecord>({
              disk: isText,
              guid: isText,
              size: isNumber,
              offline: optional(isFlag),
              replaces: optional(isText),
              spare: optional(isFlag),
            }),
          ),
        }),
      ),
      datasets: listOf(
        shapeOf<StoredDataset>({
          guid: isText,
          name: isText,
          kind: oneOf(['filesystem', 'volume']),
          properties: isValues,
          comment: optional(isText),
          mountpoint: optional(isText),
          origin: optional(isText),
          encryption: optional(shapeOf<EncryptionRecord>({ digest: isText, locked: isFlag })),
          keySlots: optional(isText),
          unmounted: optional(isFlag),
          made: optional(isText),
          snapshots: optional(
            listOf(
              shapeOf<SnapshotRecord>({
                guid: isGuid,
                name: isText,
                created: isNumber,
                properties: optional(isValues),
                deferred: optional(isFlag),
                task: optional(isNumber),
                made: optional(isText),
              }),
            ),
          ),
        }),
      ),
      scrub: optional(
        shapeOf<ScrubRecord>({
          kind: optional(oneOf(['scrub', 'resilver'])),
          startedAt: isNumber,
          duration: isNumber,
          cancelledAt: optional(isNumber),
        }),
      ),
      outdated: optional(isFlag),
    }),
  ),
  disks: optional(mapOf(oneOf(diskConditions))),
});

/** Undefined for what is no content of the file. */
export function readZfsRecord(value: unknown): ZfsRecord | undefined {
  if (!isStoredRecord(value)) return undefined;
  const datasets = ({ datasets: all }: StoredPool) =>
    all.map(({ snapshots, ...rest }) => ({ ...rest, ...(snapshots && { snapshots: SnapshotList.of(snapshots) }) }));
  return { ...value, pools: value.pools.map((pool) => ({ ...pool, datasets: datasets(pool) })) };
}
