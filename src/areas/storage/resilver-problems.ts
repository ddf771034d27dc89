import type { Problem } from '../../engine/declare/problem.ts';
import type { Facts } from '../../engine/facts/facts.ts';

const hour = 3_600_000;

/** Milliseconds after which the pace of a resilver is known: at first ZFS only looks for what it has to copy. */
const settles = 12 * hour;

/** Milliseconds that a resilver may take. Disks of 20 TB in a busy raidz2 take about two days. */
const longest = 72 * hour;

/** Resilvers that take too long at their pace so far: until they end, the volume survives fewer failures. */
export function resilverProblems({ storage }: Pick<Facts, 'storage'>, now: number): readonly Problem[] {
  return [...storage.pools.values()].flatMap(({ name, scan }): readonly Problem[] => {
    if (scan?.kind !== 'resilver' || scan.state !== 'running' || scan.began === undefined) return [];
    const took = now - scan.began * 1000;
    const takes = (took / scan.percent) * 100;
    if (took < settles || takes <= longest) return [];
    const hours = Math.floor(took / hour);
    const done = `has done ${Math.floor(scan.percent)} % in ${hours} hours`;
    const days = Math.ceil((takes - took) / (24 * hour));
    const rest = Number.isFinite(days) ? `, so that it takes ${days} more ${days === 1 ? 'day' : 'days'}` : '';
    const message = `The resilver of the volume ${name} ${done}${rest}. Until it ends, the volume survives fewer failures of disks. Replace a disk that has errors or fails by SMART, which slows down all others, and reduce what else reads and writes.`;
    return [{ kind: 'resilver', about: `storage/volume/${name}`, severity: 'warning', message }];
  });
}
