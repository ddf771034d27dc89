import type { Rule } from '../../engine/declare/rule.ts';
import type { Pair } from '../../engine/pair/pair.ts';
import { volumeRecord } from './volumes.ts';

/** The configuration of a pair lies on its pool. */
export const poolStays = ({ guid, pool }: Pair): Rule => ({
  description: 'The volume that has the configuration of a pair is not removed.',
  reads: [volumeRecord],
  check(draft, changed) {
    if (changed.some(({ before, after }) => before?.['vol_guid'] === guid && after === undefined))
      draft.issues.add(
        '__all__',
        `The volume ${pool} has the configuration of this pair of machines, so it cannot be removed.`,
      );
  },
});
