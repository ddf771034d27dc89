import { isDeepStrictEqual } from 'node:util';
import type { Plan } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import type { Medium } from '../../host/ports/network.ts';
import { plugged } from './nics.ts';
import { optionsOf } from './options.ts';

/**
 * What has to be done to a card when the words about it change. It is a step, for what a card is held to can be taken
 * back only by who knows what it was; the network unit sees to it at a start.
 */
export function planMedium(
  plan: Plan,
  facts: Facts,
  nic: string,
  before: string | undefined,
  after: string | undefined,
): void {
  const [from, to] = [before, after].map((words): Medium => optionsOf(words ?? '').medium ?? 'auto');
  if (
    from === undefined ||
    to === undefined ||
    isDeepStrictEqual(from, to) ||
    !plugged(facts).some(({ name }) => name === nic)
  )
    return;
  plan.first({
    title:
      to === 'auto'
        ? `let ${nic} agree on its medium with the other side`
        : `let ${nic} work with ${to.speed} Mbit/s and ${to.duplex} duplex`,
    perform: (host) => host.network.setMedium(nic, to),
    undo: (host) => host.network.setMedium(nic, from),
    left: async (host) => isDeepStrictEqual((await host.network.medium(nic)) ?? 'auto', to),
    touches: ['network'],
  });
}
