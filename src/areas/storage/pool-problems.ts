import type { Problem } from '../../engine/declare/problem.ts';
import type { World } from '../../engine/declare/resource.ts';

/** Used share of a pool from which there is a problem. */
const fullness = { warning: 0.8, critical: 0.9 } as const;

/** What is wrong with the pools: their state, locked ones, disks with errors, and little space. */
export function poolProblems({ facts: { storage } }: World): readonly Problem[] {
  const problems: Problem[] = [];
  for (const { name, health: state, size, allocated, groups } of storage.pools.values()) {
    const about = `storage/volume/${name}`;
    if (state !== 'ONLINE')
      problems.push({ kind: 'pool', about, severity: 'critical', message: `The volume ${name} is ${state}.` });
    if (storage.datasets.get(name)?.key === 'unavailable')
      problems.push({
        kind: 'locked',
        about,
        severity: 'warning',
        message: `The volume ${name} is locked, and nothing on it is served. POST /storage/volume/${name}/unlock/ unlocks it.`,
        remedy: { method: 'POST', path: `/api/v1.0/storage/volume/${name}/unlock/` },
      });
    for (const { disk, guid, errors } of groups.flatMap(({ devices }) => devices)) {
      const { read, write, checksum } = errors;
      if (read + write + checksum > 0)
        problems.push({
          kind: 'errors',
          about,
          detail: guid,
          severity: 'warning',
          message: `The disk ${disk} of the volume ${name} has errors: ${read} read, ${write} write and ${checksum} checksum errors. Replace the disk. If the cable was the cause, reset the counters with zpool clear.`,
        });
    }
    const used = size > 0 ? allocated / size : 0;
    if (used > fullness.warning)
      problems.push({
        kind: 'capacity',
        about,
        severity: used > fullness.critical ? 'critical' : 'warning',
        message: `The volume ${name} is ${Math.floor(used * 100)} % full. Writes become slow above ${fullness.warning * 100} %.`,
      });
  }
  return problems;
}
