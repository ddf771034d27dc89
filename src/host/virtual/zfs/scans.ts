import type { Scan } from '../../ports/zfs.ts';
import type { PoolRecord } from './record.ts';
import { viewOf } from './view.ts';

const GiB = 1024 ** 3;

/** Duration of a scrub in milliseconds: a minimum, plus a time for each GiB that it reads. */
const scrubTime = { least: 2000, perGiB: 500 };

export function scanTime(pool: PoolRecord): number {
  return scrubTime.least + Math.floor((viewOf(pool).allocated / GiB) * scrubTime.perGiB);
}

export function scanOf({ scrub }: PoolRecord, now: number): Scan | undefined {
  if (scrub === undefined) return undefined;
  const elapsed = (scrub.cancelledAt ?? now) - scrub.startedAt;
  const percent = Math.min(100, Math.max(0, (elapsed / scrub.duration) * 100));
  const state = scrub.cancelledAt !== undefined ? 'cancelled' : percent >= 100 ? 'finished' : 'running';
  const times = {
    ...(state === 'running' && { began: Math.floor(scrub.startedAt / 1000) }),
    ...(state === 'finished' && { ended: Math.floor((scrub.startedAt + scrub.duration) / 1000) }),
  };
  return Object.freeze({ kind: scrub.kind ?? 'scrub', state, percent, errors: 0, ...times });
}
