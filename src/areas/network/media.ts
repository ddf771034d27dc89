import { isDeepStrictEqual } from 'node:util';
import type { Plan } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { Medium } from '../../host/ports/network.ts';
import { plugged } from './nics.ts';
import { optionsOf } from './options.ts';
import { setMedium } from './steps.ts';

/**
 * Adds a step that changes the medium of a network interface when its options change. It is a step of the plan because
 * an undo requires the previous medium. At a start, the network subsystem sets the medium.
 */
export function planMedium(
  plan: Plan,
  facts: Facts,
  nic: string,
  before: string | undefined,
  after: string | undefined,
): void {
  const [from, to] = [before, after].map((options): Medium => optionsOf(options ?? '').medium ?? 'auto');
  if (
    from === undefined ||
    to === undefined ||
    isDeepStrictEqual(from, to) ||
    !plugged(facts).some(({ name }) => name === nic)
  )
    return;
  plan.first(setMedium(nic, from, to));
}
