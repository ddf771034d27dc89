import { HostError } from '../../ports/index.ts';
import { type Snapshot, type Snapshots, taskProperty } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { isGone, ofSystem, type Programs } from './programs.ts';
import { readSnapshots, snapshotColumns } from './read-snapshots.ts';
import { volumeDevice } from './volume-device.ts';

/** How many names one call of a program gets. */
const mostNames = 500;

export function linuxSnapshots(programs: Programs): Snapshots {
  return {
    async snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]> {
      const argv = ['zfs', 'list', '-Hp', '-t', 'snapshot', '-o', snapshotColumns.join(',')];
      if (datasets === undefined) {
        const isSystem = await ofSystem();
        return readSnapshots((await programs.do(...argv)).stdout).filter(({ dataset }) => !isSystem(dataset));
      }
      const found: Snapshot[] = [];
      for (let from = 0; from < datasets.length; from += mostNames) {
        const some = datasets.slice(from, from + mostNames);
        const outcome = await programs.run(...argv, '-d', '1', '--', ...some);
        // A dataset that was removed meanwhile has none; the others are printed regardless.
        if (outcome.status !== 0 && !isGone(outcome)) expectSuccess(outcome, argv);
        found.push(...readSnapshots(outcome.stdout));
      }
      return found;
    },

    async createSnapshot(
      name: string,
      { recursive = false, task }: { recursive?: boolean; task?: number } = {},
    ): Promise<void> {
      await programs.do(
        'zfs',
        'snapshot',
        ...(recursive ? ['-r'] : []),
        ...(task === undefined ? [] : ['-o', `${taskProperty}=${task}`]),
        '--',
        name,
      );
    },

    async destroySnapshot(
      name: string,
      { deferred = false, recursive = false }: { deferred?: boolean; recursive?: boolean } = {},
    ): Promise<void> {
      // zfs would also accept lists and ranges of snapshots.
      if (!/^[^@]+@[^@,%]+$/.test(name)) throw new HostError(`cannot destroy '${name}': it is no snapshot`);
      await programs.patiently('zfs', 'destroy', ...(deferred ? ['-d'] : []), ...(recursive ? ['-r'] : []), '--', name);
    },

    async cloneSnapshot(snapshot: string, name: string): Promise<void> {
      await programs.do('zfs', 'clone', '--', snapshot, name);
      await volumeDevice(programs, name);
    },

    async rollback(snapshot: string, { force = false }: { force?: boolean } = {}): Promise<void> {
      await programs.patiently('zfs', 'rollback', ...(force ? ['-r'] : []), '--', snapshot);
    },
  };
}
