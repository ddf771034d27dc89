import { isDeepStrictEqual } from 'node:util';
import type { Step } from '../../declare/step.ts';
import { type Comparison, difference } from './difference.ts';

export async function endpointDifferences({ host, desired, applied }: Comparison): Promise<readonly Step[]> {
  const { endpoints } = desired;
  if (endpoints === undefined) return [];
  if (isDeepStrictEqual(endpoints, applied === undefined ? await host.web.served() : applied.endpoints)) return [];
  return [
    difference({
      title: 'serve the interface where the settings say',
      make: ({ web }) => web.serve(endpoints),
      subjects: ['HTTP endpoints'],
    }),
  ];
}
