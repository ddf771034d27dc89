import { refused } from '../../engine/declare/errors.ts';
import type { Draft, Operations, World } from '../../engine/declare/resource.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { isWithin } from '../../lib/path.ts';
import { type BinEntry, binEntry } from '../bin/bin-entry.ts';
import * as bin from '../bin/keeping.ts';
import { namingOccupants, removeOccupants } from './occupants.ts';

/** Moves a dataset or zvol to the bin with everything below it, and what only serves it: shares, extents and tasks. */
export async function putDatasetAway({ name, kind }: Dataset, operations: Operations): Promise<void> {
  refuseBinIn(name, operations.world);
  await refuseHeld(name, operations);
  const title = kind === 'volume' ? 'zvol' : 'dataset';
  const removed = { resource: 'storage/dataset', title, name, record: 0 };
  const move = operations.change(`move the ${title} ${name} to the bin`, (draft) => {
    bin.putDatasetAway(draft, removed, operations, () => removeOccupants(draft, { dataset: name }, { cascade: true }));
  });
  await namingOccupants(operations, { dataset: name }, move);
}

/** A hold would keep it from being destroyed at the end. The message is that of ZFS for a DELETE. */
async function refuseHeld(name: string, operations: Operations): Promise<void> {
  const within = operations.world.facts.storage.snapshots.among((dataset) => isWithin(dataset, name));
  const snapshots = Array.from(within, ({ id }) => id);
  const holds = await operations.ask(`look at what holds ${name}`, ({ zfs }) => zfs.holds(snapshots));
  const [first] = holds;
  if (first === undefined) return;
  throw refused(`${name} cannot go to the bin: dataset is busy, ${first.snapshot} is held by ${first.tag}.`, {
    code: 'busy',
    holders: holds.map(({ snapshot, tag }) => ({ kind: 'hold', title: `hold ${tag}`, name: snapshot })),
  });
}

/** What was encrypted with the key of a dataset stays in a bin below that, and would go with it. */
export function refuseBinIn(name: string, { view, facts }: World): void {
  if (![...facts.storage.binned.keys()].some((one) => one.startsWith(`${name}/`))) return;
  const entries = view.all(binEntry).filter(({ kept_as }) => kept_as.startsWith(`${name}/`));
  if (entries.length === 0) return;
  throw refused(
    `${name} cannot be removed: the bin keeps ${entries.map(titleOf).join(' and ')} below it. Restore or destroy that first.`,
    {
      code: 'busy',
      holders: entries.map((entry) => ({ kind: 'record', title: titleOf(entry), name: `bin/${entry.id}` })),
    },
  );
}

const titleOf = ({ id, title, name }: BinEntry) => `the ${title} ${name} (entry ${id})`;

/** The entries of a pool that is destroyed. */
export function removeEntriesOf(guid: string, draft: Draft): void {
  for (const { id, pool } of draft.all(binEntry)) if (pool === guid) draft.remove(binEntry, id);
}
