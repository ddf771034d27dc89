import type { Facts, Touched } from '../../engine/upkeep/facts.ts';
import type { Storage } from '../../engine/upkeep/storage-facts.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { lastElement } from '../../lib/path.ts';

/** A node of a volume's `children` (gaps 11.1). Its id is a running number and means nothing. */
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

/** A dataset with all below it. Those whose name begins with a dot are the system's own and left out. */
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
 * What is different once a dataset has been destroyed with all below it: also the datasets that it and those below were
 * cloned from, whose deferred snapshots go with their last clone.
 */
export function touchedByDestroying(name: string, { datasets }: Storage): readonly Touched[] {
  const going = [...datasets.values()].filter((one) => one.name === name || one.name.startsWith(`${name}/`));
  const origins = going.flatMap(({ origin }) => origin?.split('@')[0] ?? []);
  return [{ dataset: name, below: true }, ...[...new Set(origins)].map((dataset) => ({ dataset }))];
}
