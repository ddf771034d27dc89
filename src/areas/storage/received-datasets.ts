import type { Problem } from '../../engine/declare/problem.ts';
import type { World } from '../../engine/declare/resource.ts';
import { lockedAbove } from './keys.ts';

/**
 * Datasets that a replication received. They are received unmounted and read-only, so that a mount can neither hide
 * folders nor disturb the next receive, and the machine mounts them when it starts.
 */
export function receivedDatasetProblems({ facts }: World): readonly Problem[] {
  const received = [...facts.storage.datasets.values()].filter(
    ({ name, kind, mountpoint, key, properties, inherited }) =>
      kind === 'filesystem' &&
      name.includes('/') &&
      mountpoint === undefined &&
      key !== 'unavailable' &&
      properties.readonly === 'on' &&
      !inherited.includes('readonly') &&
      lockedAbove(name, facts) === undefined,
  );
  const byVolume = Map.groupBy(received, ({ name }) => name.split('/')[0] ?? name);
  return [...byVolume].map(([volume, [first, ...others]]): Problem => {
    const what =
      others.length === 0
        ? `The dataset ${first?.name} was received by a replication and is not mounted`
        : `${others.length + 1} datasets of the volume ${volume}, such as ${first?.name}, were received by a replication and are not mounted`;
    return {
      kind: 'received',
      about: `storage/volume/${volume}`,
      severity: 'info',
      message: `${what}. The next start of the machine mounts what has a mount point, and so does zfs mount -a.`,
    };
  });
}
