import type { Due, Task } from '../../engine/declare/resource.ts';
import { check } from '../../engine/plan/steps.ts';
import type { Pool, PoolDevice } from '../../host/ports/zfs.ts';
import { replaceDevice } from './device-steps.ts';
import { isData } from './layout.ts';

/** Milliseconds before a spare that could not be put in is tried again. */
const pause = 3_600_000;

const isGone = ({ health }: PoolDevice) => health === 'UNAVAIL' || health === 'FAULTED' || health === 'REMOVED';

export function sparesOf({ groups }: Pick<Pool, 'groups'>): readonly PoolDevice[] {
  return groups.filter(({ kind }) => kind === 'spare').flatMap(({ devices }) => devices);
}

/**
 * The failed disks of a pool that no spare stands in for. ZFS lists a spare that stands in behind its disk, in the same
 * group.
 */
export function uncovered(pool: Pick<Pool, 'groups'>): readonly PoolDevice[] {
  const spares = new Set(sparesOf(pool).map(({ guid }) => guid));
  return pool.groups
    .filter((group) => isData(group) && group.health === 'DEGRADED')
    .flatMap(({ devices }) =>
      devices.filter((device, index) => isGone(device) && !spares.has(devices[index + 1]?.guid ?? '')),
    );
}

/**
 * Puts a spare in place of a failed disk. The ZFS Event Daemon does this when a disk fails, but not when a disk is
 * missing at the import or while that daemon does not run.
 */
export function stepIn(
  { id, vol_name: name }: { readonly id: number; readonly vol_name: string },
  { facts, runs, at }: Due,
): Task | undefined {
  const pool = facts.storage.pools.get(name);
  if (pool === undefined || pairs(pool).length === 0) return undefined;
  const subject = `holdfast/volumes/${id}`;
  const last = runs.last(subject);
  if (last?.state === 'failed' && at - Date.parse(last.ended ?? last.started) < pause) return undefined;
  return {
    title: `put a spare in place of a failed disk of ${name}`,
    subject,
    alone: true,
    locks: [`pool:${name}`],
    async run(work) {
      const current = () =>
        work.ask(`look for failed disks of ${name}`, async ({ zfs }) => (await zfs.pools([name])).flatMap(pairs));
      const done: { disk: string; spare: string }[] = [];
      for (const { device, spare } of await current()) {
        try {
          await work.step(replaceDevice({ pool: name, guid: device.guid, disk: spare.disk, force: false }));
          done.push({ disk: device.disk, spare: spare.disk });
        } catch (error) {
          // The ZFS Event Daemon may have been faster.
          if ((await current()).some((pair) => pair.device.guid === device.guid)) throw error;
        }
      }
      // The ZFS Event Daemon was faster, and what is known of the pool is older.
      if (done.length === 0)
        await work.step(
          check({ title: `look at ${name} again`, holds: async () => {}, touches: [{ pool: name }, 'disks'] }),
        );
      return { replaced: done };
    },
  };
}

/** Each failed disk with a spare for it, as long as there are spares. */
function pairs(pool: Pool): readonly { readonly device: PoolDevice; readonly spare: PoolDevice }[] {
  const free = sparesOf(pool).filter(({ health }) => health === 'AVAIL');
  return uncovered(pool).flatMap((device, index) => {
    const spare = free[index];
    return spare === undefined ? [] : [{ device, spare }];
  });
}
