import { isDeepStrictEqual } from 'node:util';
import { ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Medium } from '../../host/ports/network.ts';

interface MediumChange extends Texts<'nic' | 'from' | 'to'> {
  readonly title: string;
}

const mediumIn = (text: string): Medium => JSON.parse(text);

const changeMedium = ensure<'nic' | 'from' | 'to', MediumChange>({
  kind: 'set medium',
  keeps: ['nic', 'from', 'to'],
  isExclusive: true,
  title: ({ title }) => title,
  is: async ({ network }, { nic, to }) => isDeepStrictEqual((await network.medium(nic)) ?? 'auto', mediumIn(to)),
  make: ({ network }, { nic, to }) => network.setMedium(nic, mediumIn(to)),
  unmake: ({ network }, { nic, from }) => network.setMedium(nic, mediumIn(from)),
  touches: () => ['network'],
  foresees: ({ nic, to }, { media }) => ({ media: new Map([...media, [nic, mediumIn(to)]]) }),
});

/** Changes the medium of a network interface. */
export function setMedium(nic: string, from: Medium, to: Medium) {
  const title =
    to === 'auto' ? `set ${nic} to autonegotiation` : `set ${nic} to ${to.speed} Mbit/s and ${to.duplex} duplex`;
  return changeMedium({ nic, from: JSON.stringify(from), to: JSON.stringify(to), title });
}

export const networkStepKinds: readonly StepKind[] = [changeMedium.stepKind];
