import type { Problem } from '../../engine/declare/problem.ts';
import type { WebhookState } from '../../engine/services.ts';
import { type Webhook, webhookPath } from './webhook.ts';

/** Milliseconds of failures that are not yet a problem. */
const patience = 10 * 60_000;

export function problemsOf(
  { id, name, url, enabled, give_up_after }: Webhook,
  { failing, problem, deadLetters, hasLost }: WebhookState,
  now: number,
): readonly Problem[] {
  const about = `${webhookPath}/${id}`;
  const path = `/api/holdfast/v1/webhooks/${id}`;
  const found: Problem[] = [];
  if (enabled && failing !== null && now - failing >= patience)
    found.push({
      ...{ kind: 'not accepted', about, severity: 'warning', since: failing },
      message: `The webhook ${name} cannot deliver events to ${new URL(url).host}. ${problem} Events that it cannot deliver for ${give_up_after} hours go to its dead letters.`,
      remedy: { method: 'POST', path: `${path}/test` },
    });
  if (deadLetters > 0)
    found.push({
      ...{ kind: 'dead letters', about, severity: 'warning' },
      message: `The webhook ${name} gave up ${deadLetters} ${deadLetters === 1 ? 'event' : 'events'}. GET ${path}/dead lists them; POST ${path}/dead/retry sends them again, DELETE ${path}/dead forgets them.`,
      remedy: { method: 'POST', path: `${path}/dead/retry` },
    });
  if (hasLost)
    found.push({
      ...{ kind: 'events lost', about, severity: 'warning' },
      message: `The journal dropped events that the webhook ${name} had not delivered. The receiver has to read the current state. DELETE ${path}/dead confirms that.`,
      remedy: { method: 'DELETE', path: `${path}/dead` },
    });
  return found;
}
