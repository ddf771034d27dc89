import type { Zfs } from '../../ports/zfs.ts';
import { explainedOrPassed, explaining } from '../../shared/zfs-messages.ts';
import { virtualDatasets } from './datasets.ts';
import { virtualDevices } from './devices.ts';
import type { Incidents } from './incidents.ts';
import { virtualIncidents } from './incidents.ts';
import { virtualKeys } from './keys.ts';
import type { Lookups } from './lookups.ts';
import { virtualLookups } from './lookups.ts';
import { virtualPools } from './pools.ts';
import { virtualSnapshots } from './snapshots.ts';
import { PoolStore, type PoolStoreOptions } from './store.ts';

/** OpenZFS of the virtual host. */
export type VirtualZfs = Zfs & Incidents & Lookups;

export function virtualZfs(path: string, options: PoolStoreOptions): VirtualZfs {
  const store = new PoolStore(path, options);
  const zfs: VirtualZfs = {
    ...virtualPools(store),
    ...virtualDevices(store),
    ...virtualKeys(store),
    ...virtualDatasets(store),
    ...virtualSnapshots(store),
    ...virtualIncidents(store),
    ...virtualLookups(store),
    // Nothing outside of Holdfast can change this machine.
    watch: () => () => {},
  };
  return explaining(zfs, explainedOrPassed);
}
