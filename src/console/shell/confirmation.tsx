import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { useLive } from '../base/live.ts';
import { notify } from '../base/notices.ts';
import { refusalOf } from '../base/problem.ts';

/** The change that is taken back unless it is kept. It is in every window. */
export function Confirmation() {
  const waiting = useLive('confirmation', ['confirmation'], () => client.get('/api/holdfast/v1/confirmation'));
  if (waiting.value == null) return null;
  const { title, until } = waiting.value;
  const seconds = Math.max(0, Math.round((Date.parse(until) - now.value) / 1000));
  const keep = async () => {
    // Any request of who may change the same confirms it: this one, over the connection that the change has to leave working.
    try {
      await client.get('/api/holdfast/v1/sessions/current');
      notify(`Kept: ${title}.`);
    } catch (error) {
      notify(refusalOf(error).sentence, 'refused');
    }
    waiting.again();
  };
  return (
    <div class="note warn" role="status">
      <span class="what">{title}</span>
      <span class="soft grow">This change is taken back in {seconds} s unless you keep it.</span>
      <button type="button" class="primary" onClick={() => void keep()}>
        Keep
      </button>
    </div>
  );
}
