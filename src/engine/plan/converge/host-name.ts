import type { Step } from '../../declare/step.ts';
import { type Comparison, difference } from './difference.ts';

export async function hostNameDifferences({ host, desired, applied, known }: Comparison): Promise<readonly Step[]> {
  const { hostname } = desired;
  if (hostname === undefined) return [];
  const actual = applied === undefined ? (known.network ?? (await host.network.look())).hostname : applied.hostname;
  if (hostname === actual) return [];
  return [
    difference({
      title: `give the machine the name ${hostname}`,
      make: ({ network }) => network.rename(hostname),
      touches: ['network'],
      subjects: ['host name'],
    }),
  ];
}
