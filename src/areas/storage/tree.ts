import type { Facts, Touched } from '../../engine/facts/facts.ts';
import type { Storage } from '../../engine/facts/storage-facts.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { isWithin, lastElement } from '../../lib/path.ts';

/** A node of a volume's `children` (gaps 11.1). The id is a running number and not stable. */
interface Child {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly type: 'dataset' | 'zvol';
  readonly status: '-';
  readonly mountpoint?: string;
  readonly used: number;
  readonly avail: number;
  readonly used_pct: number;
  readonly children: readonly Child[];
}

/** A dataset with its descendants. Datasets whose name begins with a dot belong to the system and are left out. */
export function childTree(root: Dataset, { storage }: Facts): Child {
  const byParent = Map.groupBy(
    [...storage.datasets.values()].filter(
      ({ name }) => name.startsWith(`${root.name}/`) && !lastElement(name).startsWith('.'),
    ),
    ({ name }) => name.slice(0, name.lastIndexOf('/')),
  );
  let last = 0;
  const node = (dataset: Dataset): Child => {
    last += 1;
    return {
      id: last,
      name: lastElement(dataset.name),
      path: dataset.name,
      type: dataset.kind === 'volume' ? 'zvol' : 'dataset',
      status: '-',
      ...(dataset.kind === 'volume' ? {} : { mountpoint: dataset.mountpoint ?? '' }),
      used: dataset.used,
      avail: dataset.available,
      used_pct: Math.round((100 * dataset.used) / Math.max(1, dataset.used + dataset.available)),
      children: (byParent.get(dataset.name) ?? []).map(node),
    };
  };
  return node(root);
}

/**
 * What destroying a dataset and its descendants changes. This includes the datasets they were cloned from: a deferred
 * snapshot there disappears with its last clone.
 */
export function touchedByDestroying(name: string, { datasets }: Storage): readonly Touched[] {
  const destroyed = [...datasets.values()].filter((dataset) => isWithin(dataset.name, name));
  const origins = destroyed.flatMap(({ origin }) => origin?.split('@')[0] ?? []);
  return [{ dataset: name, below: true, isGone: true }, ...[...new Set(origins)].map((dataset) => ({ dataset }))];
}
