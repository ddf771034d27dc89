import { type Dataset, datasetProperties, type GroupKind, groupKinds } from '../ports/zfs.ts';
import { isFlag, isNumber, isText, listOf, mapOf, oneOf, optional, shapeOf } from './state.ts';
import type { Values } from './zfs-properties.ts';

/** What is remembered of pools, imported and exported. Everything else is worked out from it. */
export interface ZfsRecord {
  readonly pools: readonly PoolRecord[];
  /** What became of disks, by name. */
  readonly disks?: Readonly<Record<string, DiskCondition>> | undefined;
}

/** `broken` answers nothing any more; `partitioned` has somebody's partitions on it. */
const diskConditions = ['broken', 'partitioned'] as const;
export type DiskCondition = (typeof diskConditions)[number];

export interface PoolRecord {
  readonly name: string;
  readonly guid: string;
  readonly exported: boolean;
  readonly groups: readonly GroupRecord[];
  /** Parents before children, the root dataset first. */
  readonly datasets: readonly DatasetRecord[];
  /** The last one, of either kind. */
  readonly scrub: ScrubRecord | undefined;
  /** Whether it lacks features that this ZFS knows. */
  readonly outdated?: boolean | undefined;
  readonly encryption?: EncryptionRecord | undefined;
  readonly keySlots?: string | undefined;
}

export interface EncryptionRecord {
  /** Of its key. */
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
  /** The guid of the device whose place it takes when the resilver is through. */
  readonly replaces?: string | undefined;
}

export interface DatasetRecord {
  readonly guid: string;
  readonly name: string;
  readonly kind: Dataset['kind'];
  /** Only what was set on the dataset itself. */
  readonly properties: Values;
  readonly comment: string | undefined;
  readonly mountpoint: string | undefined;
  /** The snapshot it was cloned from. */
  readonly origin?: string | undefined;
  /** The oldest first. */
  readonly snapshots?: readonly SnapshotRecord[] | undefined;
}

export interface SnapshotRecord {
  readonly guid: string;
  readonly name: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The properties that belong to the contents: the size of a volume, the letter case of a filesystem. */
  readonly properties: Values;
  readonly deferred?: boolean | undefined;
  readonly task?: number | undefined;
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
  Object.entries(value).every(([name, text]) => datasetProperties.some((one) => one === name) && isText(text));

export const isZfsRecord = shapeOf<ZfsRecord>({
  pools: listOf(
    shapeOf<PoolRecord>({
      name: isText,
      guid: isText,
      exported: isFlag,
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
            }),
          ),
        }),
      ),
      datasets: listOf(
        shapeOf<DatasetRecord>({
          guid: isText,
          name: isText,
          kind: oneOf(['filesystem', 'volume']),
          properties: isValues,
          comment: optional(isText),
          mountpoint: optional(isText),
          origin: optional(isText),
          snapshots: optional(
            listOf(
              shapeOf<SnapshotRecord>({
                guid: isText,
                name: isText,
                created: isNumber,
                properties: isValues,
                deferred: optional(isFlag),
                task: optional(isNumber),
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
      encryption: optional(shapeOf<EncryptionRecord>({ digest: isText, locked: isFlag })),
      keySlots: optional(isText),
    }),
  ),
  disks: optional(mapOf(oneOf(diskConditions))),
});
