import type { Disk } from '../../ports/disks.ts';
import type { Zfs } from '../../ports/zfs.ts';
import { explainedOrPassed, explaining } from '../../shared/zfs-messages.ts';
import type { Runner } from '../runner.ts';
import type { Tree } from '../tree.ts';
import { watchProgram } from '../watch.ts';
import { linuxDatasets } from './datasets.ts';
import { linuxDevices } from './devices.ts';
import { zfsEventLines, zfsEventReader, zfsEvents } from './events.ts';
import { linuxKeys } from './keys.ts';
import { MountPoints } from './mount-points.ts';
import type { PoolStates } from './pool-states.ts';
import { linuxPools } from './pools.ts';
import { Programs } from './programs.ts';
import type { FoundLabel } from './read-labels.ts';
import { linuxSnapshots } from './snapshots.ts';

/** OpenZFS, through its programs. */
export function linuxZfs({
  runner,
  tree,
  disks,
  labels,
  states,
}: {
  runner: Runner;
  tree: Tree;
  disks: () => Promise<readonly Disk[]>;
  labels: () => Promise<readonly FoundLabel[]>;
  states: PoolStates;
}): Zfs {
  const programs = new Programs(runner, states);
  const datasets = linuxDatasets(programs);
  const mountPoints = new MountPoints(programs, tree);
  const pools = linuxPools(programs, { disks, labels, mountPoints, runner });
  const zfs: Zfs = {
    ...pools,
    ...linuxDevices(programs, pools),
    ...linuxKeys(programs, mountPoints),
    ...datasets,
    ...linuxSnapshots(programs),
    watch: (changed) => watchProgram(runner, zfsEvents, { only: zfsEventLines, reader: zfsEventReader, changed }),
  };
  return explaining(zfs, explainedOrPassed);
}
