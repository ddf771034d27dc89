import { createHash } from 'node:crypto';
import type { Host } from '../../host/ports/index.ts';
import { isWithin } from '../../lib/path.ts';
import type { Occupant, View, World } from '../declare/resource.ts';
import { type DryPlan, detailedStepsOf } from './dry-run.ts';

/** The header that has the token of a plan, in the answer with the plan and in the request that it is of. */
export const planHeader = 'x-holdfast-plan';

/**
 * A text that is the same as long as a request would do the same: the steps of its plan, and what lies on the pools and
 * datasets that they touch, such as shares with their clients, datasets and snapshots. A client that shows a plan sends it
 * with the request, which is refused if anything of that has changed meanwhile.
 */
export async function tokenOf(plan: DryPlan, { view, facts }: World): Promise<string> {
  const steps = await detailedStepsOf(plan);
  const names = new Set(steps.flatMap(({ touches }) => touches.flatMap((text) => datasetIn(text) ?? [])));
  const touched = await Promise.all(
    [...names].toSorted().map(async (name) => ({
      name,
      occupants: await Promise.all(view.occupants({ dataset: name }).map((one) => usedNow(one, view, plan.host))),
      datasets: [...facts.storage.datasets.keys()]
        .filter((one) => isWithin(one, name))
        .map((one) => {
          const { count, newest } = facts.storage.snapshots.summaryOf(one);
          return [one, count, newest?.name];
        }),
    })),
  );
  return createHash('sha256').update(JSON.stringify({ steps, touched })).digest('base64url');
}

/** `tank/media` for `dataset tank/media and those below`, as steps name what they touch. */
const datasetIn = (subject: string): string | undefined =>
  /^(?:pool|dataset) (.+?)(?: and those below)?$/.exec(subject)?.[1];

async function usedNow({ resource, record }: Occupant, view: View, host: Host) {
  const users = resource.kind === 'collection' ? await resource.usedBy?.(record, view, host) : undefined;
  return [resource.path, record.id, users ?? []];
}
