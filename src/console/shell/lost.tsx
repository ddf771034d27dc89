import { contact, hasNewCertificate, heardAt, movedTo, now } from '../base/contact.ts';
import { age } from '../base/format.ts';

/** Milliseconds without an answer after which the page asks for help: a restart of the daemon takes less. */
const patience = 20_000;

/**
 * Says that the appliance does not answer. A browser refuses a changed certificate without asking until the page is loaded
 * again, and a script cannot tell that from a machine that is off; but the page knows what was changed before.
 */
export function Lost() {
  if (contact.value !== 'lost') return null;
  const isMoved = movedTo.value !== '';
  const isCertificate = location.protocol === 'https:' && hasNewCertificate.value;
  if (!isMoved && !isCertificate && now.value - heardAt.value < patience) return null;
  const last = `It was last heard of ${age(heardAt.value, now.value)}, and is asked again every few seconds.`;
  if (isMoved)
    return (
      <div class="note bad" role="status">
        <span class="what">The appliance has left this address</span>
        <span class="soft grow">
          Open it at its new one and press Keep there. Otherwise it comes back to this one by itself.
        </span>
        <a class="btn" href={movedTo.value}>
          Open {movedTo.value}
        </a>
      </div>
    );
  return (
    <div class="note bad" role="status">
      <span class="what">
        {isCertificate ? 'The certificate of the appliance was changed' : 'The appliance does not answer'}
      </span>
      <span class="soft grow">
        {isCertificate
          ? 'The browser accepts the new one only when the console is loaded again, and may ask you about it then.'
          : `${last} If its certificate or its address has changed, load the console again.`}
      </span>
      <button type="button" onClick={() => location.reload()}>
        Load again
      </button>
    </div>
  );
}
