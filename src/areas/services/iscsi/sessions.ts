import { invalid } from '../../../engine/declare/errors.ts';
import type { Plan } from '../../../engine/declare/resource.ts';
import { sentenceList } from '../../../lib/text.ts';

/**
 * Refuses to take something from a target while initiators are connected to it, unless the request says that it shall be
 * (gaps 7.5: with any JSON object that is not empty). What goes along with something else was asked for there.
 */
export function mustBeUnused(plan: Plan, target: string, sent: Readonly<Record<string, unknown>> | undefined): void {
  if (sent === undefined || Object.keys(sent).length > 0) return;
  plan.first({
    title: `see that nobody is connected to ${target}`,
    async perform({ targets }) {
      const initiators = (await targets.sessions(target)).map(({ initiator }) => initiator);
      if (initiators.length === 0) return;
      throw invalid({
        __all__: [
          `${target} is in use by ${sentenceList(initiators)}. Send {"force": true} to remove it all the same.`,
        ],
      });
    },
  });
}
