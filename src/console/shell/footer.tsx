import { contact, heardAt, now } from '../base/contact.ts';
import { age, when } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { dismiss, notices, undo } from '../base/notices.ts';
import { readRevisions } from '../base/revisions.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/shell/footer.ts';

const states = { connecting: t.connecting, connected: t.connected, lost: t.noConnectionWhatIsShownIs };

/** The connection, and the last change with its way back. */
export function Footer() {
  const { value: revisions = [] } = useLive('last change', ['revisions'], () => readRevisions(1));
  const [last] = revisions;
  const state = contact.value;
  return (
    <footer>
      <span class={`dot ${state === 'connected' ? 'ok' : state === 'lost' ? 'bad' : 'off'}`}>
        {` ${states[state]}`}
        {heardAt.value > 0 && t.heard(age(heardAt.value, now.value))}
      </span>
      <span class="grow" />
      {last !== undefined && (
        <>
          <span class="last">
            {t.lastChangeBy(
              <a href={link('activity', 'revision', { number: String(last.number) })}>{last.title}</a>,
              last.actor,
              when(last.at, now.value),
            )}
          </span>
          <button type="button" class="quiet" disabled={!last.revertible} onClick={() => void undo(last.number)}>
            {t.undo}
          </button>
        </>
      )}
    </footer>
  );
}

/** What was just done, with Undo. Refusals stay until they are dismissed. */
export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map(({ id, text, kind, revision }) => (
        <div key={id} class={`note ${kind === 'done' ? 'ok' : 'bad'}`}>
          <span class="grow">{text}</span>
          {revision !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                void undo(revision);
              }}
            >
              {t.undo}
            </button>
          )}
          <button type="button" class="quiet" aria-label={t.dismissThisNotice} onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
