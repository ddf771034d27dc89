import { messageOf } from '../../lib/text.ts';
import type { Log } from '../declare/log.ts';
import { type FactKeeper, type Touched, topicOf } from '../facts/facts.ts';

/** Reads facts again after an operation. A failure, after one retry, is logged and does not fail the operation. */
export type Renewal = (touched: ReadonlySet<Touched>) => Promise<void>;

export function renewal(facts: FactKeeper, log: Log): Renewal {
  return async (touched) => {
    if (touched.size === 0) return;
    try {
      await facts.renew(...touched).catch(() => facts.renew(...touched));
    } catch (error) {
      const topics = [...new Set([...touched].map(topicOf))].join(', ');
      log.warn({ error: messageOf(error) }, `facts: reading ${topics} failed`);
    }
  };
}
