import { collected } from '../../../lib/slices.ts';
import { HostError } from '../../ports/index.ts';
import { type Difference, type Hold, isHidden, type Snapshot, type Snapshots, taskProperty } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { isGone, ofSystem, type Programs } from './programs.ts';
import { readDifference } from './read-differences.ts';
import { readHolds, snapshotColumns, snapshotsIn } from './read-snapshots.ts';
import { markArgv } from './settings.ts';
import { volumeDevice } from './volume-device.ts';

/** How many names one call of a program gets. */
const mostNames = 500;

export function linuxSnapshots(programs: Programs): Snapshots {
  return {
    async snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]> {
      const argv = ['zfs', 'list', '-Hp', '-t', 'snapshot', '-o', snapshotColumns.join(',')];
      if (datasets === undefined) {
        const isSystem = await ofSystem();
        const all = await collected(snapshotsIn((await programs.do(...argv)).stdout));
        return all.filter(({ dataset }) => !isSystem(dataset));
      }
      const found: (readonly Snapshot[])[] = [];
      for (let from = 0; from < datasets.length; from += mostNames) {
        const some = datasets.slice(from, from + mostNames);
        const outcome = await programs.run(...argv, '-d', '1', '--', ...some);
        // A dataset that was removed meanwhile has none; the others are printed regardless.
        if (outcome.status !== 0 && !isGone(outcome)) expectSuccess(outcome, argv);
        found.push(await collected(snapshotsIn(outcome.stdout)));
      }
      return found.flat();
    },

    async createSnapshot(
      name: string,
      { recursive = false, task, mark }: { recursive?: boolean; task?: number; mark?: string | undefined } = {},
    ): Promise<void> {
      const options = [...(task === undefined ? [] : ['-o', `${taskProperty}=${task}`]), ...markArgv(mark)];
      const outside = recursive ? await outsideBins(programs, name) : undefined;
      const chosen = outside ?? [...(recursive ? ['-r'] : []), '--', name];
      await programs.do('zfs', 'snapshot', ...options, ...chosen);
    },

    async destroySnapshot(
      name: string,
      { deferred = false, recursive = false }: { deferred?: boolean; recursive?: boolean } = {},
    ): Promise<void> {
      // zfs would also accept lists and ranges of snapshots.
      if (!/^[^@]+@[^@,%]+$/.test(name)) throw new HostError(`cannot destroy '${name}': it is no snapshot`);
      await programs.patiently('zfs', 'destroy', ...(deferred ? ['-d'] : []), ...(recursive ? ['-r'] : []), '--', name);
    },

    async holds(snapshots: readonly string[]): Promise<readonly Hold[]> {
      if (snapshots.length === 0) return [];
      const argv = ['zfs', 'holds', '-H', '--', ...snapshots.slice(0, mostNames)];
      const outcome = await programs.run(...argv);
      if (outcome.status !== 0 && !isGone(outcome)) expectSuccess(outcome, argv);
      return readHolds(outcome.stdout);
    },

    async cloneSnapshot(snapshot: string, name: string, { mark }: { mark?: string | undefined } = {}): Promise<void> {
      const argv = ['zfs', 'clone', ...markArgv(mark), '--', snapshot, name];
      const outcome = await programs.run(...argv);
      // The clone of a locked dataset is locked.
      if (!/key not loaded\s+filesystem successfully created/.test(outcome.stderr)) expectSuccess(outcome, argv);
      await volumeDevice(programs, name);
    },

    async rollback(snapshot: string, { force = false }: { force?: boolean } = {}): Promise<void> {
      await programs.patiently('zfs', 'rollback', ...(force ? ['-r'] : []), '--', snapshot);
    },

    async differences(from, to, { most, signal }) {
      const dataset = from.split('@')[0] ?? from;
      const snapshots = [from, ...(to === undefined ? [] : [to])];
      const list = ['zfs', 'list', '-H', '-t', 'filesystem,snapshot', '-o', 'mountpoint'];
      // `zfs diff` does not name a snapshot that is missing. Snapshots have no mount point.
      const listed = await programs.do(...list, '--', dataset, ...snapshots);
      const mountpoint = listed.stdout.split('\n').find((line) => line !== '' && line !== '-') ?? '';
      const found: Difference[] = [];
      let isWhole = true;
      const enough = new AbortController();
      const argv = ['zfs', 'diff', '-FH', '--', ...snapshots];
      const outcome = await programs.heard(
        argv,
        (line) => {
          const difference = readDifference(line, mountpoint);
          if (difference === undefined) return;
          if (found.length < most) {
            found.push(difference);
          } else if (isWhole) {
            isWhole = false;
            enough.abort();
          }
        },
        signal === undefined ? enough.signal : AbortSignal.any([signal, enough.signal]),
      );
      if (isWhole) expectSuccess(outcome, argv);
      return { found, isWhole };
    },
  };
}

/** The snapshots of a recursive one, if there is a bin below its dataset: one call takes them all in the same moment. */
async function outsideBins(programs: Programs, snapshot: string): Promise<readonly string[] | undefined> {
  const [dataset = '', name = ''] = snapshot.split('@');
  const argv = ['zfs', 'list', '-H', '-r', '-t', 'filesystem,volume', '-o', 'name', '--', dataset];
  const outcome = await programs.run(...argv);
  const below = outcome.stdout.split('\n').filter((one) => one !== '');
  // ZFS says what is wrong with the snapshot.
  if (outcome.status !== 0 || !below.some(isHidden)) return undefined;
  return ['--', ...below.filter((one) => !isHidden(one)).map((one) => `${one}@${name}`)];
}
