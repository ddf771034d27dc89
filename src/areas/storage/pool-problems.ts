import type { Problem } from '../../engine/declare/problem.ts';
import type { World } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { Pool } from '../../host/ports/zfs.ts';
import { showSize } from '../../lib/size.ts';
import { binUse } from '../bin/space.ts';
import { sparesOf } from './spares.ts';

/** Used share of a pool from which there is a problem. */
const fullness = { warning: 0.8, critical: 0.9 } as const;

/** What is wrong with the pools: their state, locked ones, disks with errors, their spares, and little space. */
export function poolProblems({ facts }: World): readonly Problem[] {
  const { storage } = facts;
  const problems: Problem[] = [];
  for (const pool of storage.pools.values()) {
    const { name, health: state, size, allocated, groups } = pool;
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
    problems.push(...spareProblems(pool, about, facts));
    const used = size > 0 ? allocated / size : 0;
    if (used > fullness.warning)
      problems.push({
        kind: 'capacity',
        about,
        severity: used > fullness.critical ? 'critical' : 'warning',
        message: `The volume ${name} is ${Math.floor(used * 100)} % full. Writes become slow above ${fullness.warning * 100} %.${binOf(name, storage)}`,
      });
  }
  return problems;
}

/** What destroying the bin would free, if that is something. */
function binOf(pool: string, { binned }: Facts['storage']): string {
  const used = binUse(pool, binned);
  return used === 0
    ? ''
    : ` The bin occupies ${showSize(used)} of it: GET /api/holdfast/v1/bin lists its entries, and DELETE destroys one.`;
}

function spareProblems(pool: Pool, about: string, { services }: Facts): readonly Problem[] {
  const { name } = pool;
  const spares = sparesOf(pool);
  const problems = spares.flatMap(({ disk, guid, health }): Problem[] => {
    if (health === 'AVAIL') return [];
    const message =
      health === 'INUSE'
        ? `The spare ${disk} stands in for a disk of the volume ${name}. Replace that disk, and the spare is available again; or detach it, and the spare takes its place.`
        : `The spare ${disk} of the volume ${name} is ${health} and cannot replace a disk. Remove it, and add another one.`;
    return [{ kind: 'spare', about, detail: guid, severity: 'warning', message }];
  });
  if (spares.length === 0 || services.get('zfs-zed')?.running !== false) return problems;
  const message = `The volume ${name} has spares, but zfs-zed, which puts them in place of failed disks, does not run. Its log shows why; systemctl start zfs-zed starts it.`;
  return [...problems, { kind: 'event daemon', about, severity: 'critical', message }];
}
