import { isDeepStrictEqual } from 'node:util';
import type { Step } from '../../declare/step.ts';
import { type Comparison, difference } from './difference.ts';

export async function targetDifferences({ host, desired, applied }: Comparison): Promise<readonly Step[]> {
  const { targets: wanted } = desired;
  if (wanted === undefined) return [];
  const known = applied?.targets;
  if (known === undefined) {
    const found = await host.targets.differences(wanted);
    if (found.length === 0) return [];
    return [
      difference({ title: found.join('; '), make: ({ targets }) => targets.apply(wanted), touches: ['targets'] }),
    ];
  }
  if (isDeepStrictEqual(wanted, known)) return [];
  return [
    difference({
      title: 'bring the iSCSI targets into line',
      make: ({ targets }) => targets.apply(wanted, known),
      touches: wanted.serving === known.serving ? [] : ['targets'],
    }),
  ];
}
