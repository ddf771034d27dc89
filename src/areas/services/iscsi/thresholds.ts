import type { Problem } from '../../../engine/declare/problem.ts';
import type { View } from '../../../engine/declare/resource.ts';
import { datasetOf } from '../../../engine/facts/places.ts';
import type { Storage } from '../../../engine/facts/storage-facts.ts';
import { quote } from '../../../lib/text.ts';
import { type ExtentRecord, iscsiExtent, zvolOf } from './extent.ts';
import { iscsiSettings } from './globalconfiguration.ts';

/** Pools and datasets with less free space than the thresholds of the records. */
export function spaceProblems(view: View, storage: Storage): readonly Problem[] {
  const { iscsi_pool_avail_threshold: ofPools } = view.only(iscsiSettings);
  const extents = view.all(iscsiExtent);
  const pools = new Set(extents.flatMap((record) => zvolOf(record)?.split('/')[0] ?? []));
  const shortage = { kind: 'threshold', severity: 'warning' } as const;
  return [
    ...[...pools].flatMap((name) =>
      ofPools !== null && isShort(storage, name, ofPools)
        ? [
            {
              ...shortage,
              about: `storage/volume/${name}`,
              message: `The pool ${name} has less than ${ofPools} % of its space free. It holds zvols that are iSCSI extents.`,
            },
          ]
        : [],
    ),
    ...extents.flatMap((record) => {
      const { id, iscsi_target_extent_avail_threshold: threshold, iscsi_target_extent_name: name } = record;
      const dataset = threshold === null ? undefined : holderOf(record, storage);
      if (threshold === null || dataset === undefined || !isShort(storage, dataset, threshold)) return [];
      return [
        {
          ...shortage,
          about: `${iscsiExtent.path}/${id}`,
          message: `The dataset ${dataset} of the iSCSI extent ${quote(name)} has less than ${threshold} % of its space free.`,
        },
      ];
    }),
  ];
}

/** The datasets whose free space is compared with a threshold. */
export function measuredDatasets(view: View, storage: Storage): readonly string[] {
  const measured = view
    .all(iscsiExtent)
    .filter((record) => record.iscsi_target_extent_avail_threshold !== null)
    .map((record) => holderOf(record, storage));
  return [...new Set(measured.filter((name) => name !== undefined))];
}

function isShort({ datasets }: Storage, name: string, threshold: number): boolean {
  const dataset = datasets.get(name);
  return dataset !== undefined && 100 * dataset.available < threshold * (dataset.used + dataset.available);
}

/** The dataset that contains the zvol or the file of an extent. */
function holderOf(record: ExtentRecord, storage: Storage): string | undefined {
  const zvol = zvolOf(record);
  if (zvol !== undefined) return zvol.slice(0, zvol.lastIndexOf('/'));
  return datasetOf(record.iscsi_target_extent_path ?? '', storage);
}
