import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../../host/ports/index.ts';
import type { TargetModel } from '../../../host/ports/targets.ts';
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
      difference({
        title: found.join('; '),
        make: ({ targets }) => targets.apply(wanted),
        touches: ['targets'],
        subjects: ['iSCSI targets'],
      }),
    ];
  }
  if (isDeepStrictEqual(wanted, known)) return [];
  return [
    difference({
      title: 'bring the iSCSI targets into line',
      make: ({ targets }) => targets.apply(wanted, known),
      touches: wanted.serving === known.serving ? [] : ['targets'],
      subjects: ['iSCSI targets'],
      show: async (machine) => ({ sessions: await sessionsOf(machine, gone(known, wanted)) }),
    }),
  ];
}

/** The names of the targets that are no longer served. */
function gone(known: TargetModel, wanted: TargetModel): readonly string[] {
  const names = new Set(wanted.targets.map(({ name }) => name));
  return known.targets.map(({ name }) => name).filter((name) => !names.has(name));
}

async function sessionsOf({ targets }: Host, names: readonly string[]): Promise<readonly string[]> {
  const sessions = await Promise.all(names.map((name) => targets.sessions(name)));
  return sessions.flatMap((ofOne, index) => ofOne.map(({ initiator }) => `${initiator} at ${names[index]}`));
}
