import { client, keepChange } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { capital } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { notify } from '../base/notices.ts';
import { refusalOf } from '../base/problem.ts';
import * as t from '../texts/shell/confirmation.ts';

/** The change that is taken back unless it is kept. It is in every window. */
export function Confirmation() {
  const waiting = useLive('confirmation', ['confirmation'], () => client.get('/api/holdfast/v1/confirmation'));
  if (waiting.value == null) return null;
  const { title, until } = waiting.value;
  const seconds = Math.max(0, Math.round((Date.parse(until) - now.value) / 1000));
  const keep = async () => {
    try {
      if (await keepChange()) notify(t.kept(title));
      else notify(t.thisWindowReachesTheApplianceBy, 'refused');
    } catch (error) {
      notify(refusalOf(error).sentence, 'refused');
    }
    waiting.again();
  };
  return (
    <div class="note warn" role="status">
      <span class="what">{capital(title)}</span>
      <span class="soft grow">{t.thisChangeIsTakenBackIn(seconds)}</span>
      <button type="button" class="primary" onClick={() => void keep()}>
        {t.keep}
      </button>
    </div>
  );
}
