/**
 * How a machine of a pair comes to hold the pool, and gives it up. The pool is imported only under the lease: the lease
 * is taken before the import and released after the export, and stays with this machine when either fails.
 */
import type { Host } from '../../host/ports/index.ts';
import type { Lease } from '../../host/ports/lease.ts';
import type { Zfs } from '../../host/ports/zfs.ts';
import type { Pair } from './pair.ts';

type Holding = Pick<Host, 'lease' | 'zfs'>;

/** Whether this machine has the pool and the lease. Without a cluster that runs, the pool alone tells it. */
export async function holds(host: Holding, pair: Pair): Promise<boolean> {
  return (await isImported(host, pair)) && hasLease(host);
}

async function hasLease({ lease }: Holding): Promise<boolean> {
  const state = await lease.look();
  return state === undefined || state.holder === state.self;
}

/**
 * Takes the lease and imports the pool, by force if a machine that failed has it. Does nothing on the holder. A machine
 * that has the pool already, because it is about to become the first of a pair, only takes the lease.
 */
export async function take(host: Holding, pair: Pair): Promise<void> {
  const { guid, pool } = pair;
  const had = await isImported(host, pair);
  if (had && (await hasLease(host))) return;
  try {
    await host.lease.take();
    // By force: the other machine may have failed. The lease says that it is off, or has exported the pool.
    if (!had) await host.zfs.importPool(guid, { mountpoint: `/mnt/${pool}`, takesOver: true, shared: true });
    await host.zfs.carryState(pool);
  } catch (error) {
    // If this fails too, the lease stays: the pool may be imported.
    await (had ? host.lease.release() : release(host, pair)).catch(() => {});
    throw error;
  }
}

/**
 * While another machine is not seen, has ZFS watch the disks of the pool. A take that follows does not wait for that again;
 * whether it may import the pool is decided by the lease, as ever. Returns a function that stops it.
 */
export function watchAhead(
  { lease, zfs }: { readonly lease: Pick<Lease, 'watchOthers'>; readonly zfs: Pick<Zfs, 'watchDisks'> },
  { guid }: Pick<Pair, 'guid'>,
): () => void {
  let end = () => {};
  const stop = lease.watchOthers((isMissing) => {
    end();
    end = isMissing ? zfs.watchDisks(guid) : () => {};
  });
  return () => {
    stop();
    end();
  };
}

/** Exports the pool and releases the lease. Does nothing on a machine that has neither. */
export async function release(host: Holding, pair: Pair): Promise<void> {
  if (await isImported(host, pair)) {
    await host.zfs.dropState(pair.pool);
    await host.zfs.exportPool(pair.pool, { shared: true });
  }
  await host.lease.release();
}

async function isImported({ zfs }: Holding, { guid }: Pair): Promise<boolean> {
  return (await zfs.pools()).some((pool) => pool.guid === guid);
}
