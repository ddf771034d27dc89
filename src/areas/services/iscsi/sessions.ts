import { invalid } from '../../../engine/declare/errors.ts';
import type { Plan } from '../../../engine/declare/resource.ts';
import { check } from '../../../engine/plan/steps.ts';
import { sentenceList } from '../../../lib/text.ts';

/**
 * Refuses to remove something from a target while initiators are connected, unless the request forces it (gaps 7.5:
 * with any JSON object that is not empty). A record that is removed together with another one has no request body: the
 * request for the other record was checked.
 */
export function mustBeUnused(plan: Plan, target: string, sent: Readonly<Record<string, unknown>> | undefined): void {
  if (sent === undefined || Object.keys(sent).length > 0) return;
  plan.first(
    check({
      title: `check that no initiator is connected to ${target}`,
      claims: ['targets'],
      async holds({ targets }) {
        const initiators = (await targets.sessions(target)).map(({ initiator }) => initiator);
        if (initiators.length === 0) return;
        throw invalid({
          __all__: [`${target} is in use by ${sentenceList(initiators)}. Send {"force": true} to remove it anyway.`],
        });
      },
    }),
  );
}
