import { contact, heardAt, now } from '../base/contact.ts';
import { age } from '../base/format.ts';

/** Milliseconds without an answer after which the page asks for help: a restart of the daemon takes less. */
const patience = 20_000;

/**
 * Says that the appliance does not answer. A browser refuses a changed certificate without asking until the page is loaded
 * again, and a script cannot tell that from a machine that is off.
 */
export function Lost() {
  if (contact.value !== 'lost' || now.value - heardAt.value < patience) return null;
  return (
    <div class="note bad" role="status">
      <span class="what">The appliance does not answer</span>
      <span class="soft grow">
        It was last heard of {age(heardAt.value, now.value)}, and is asked again every few seconds. If its certificate
        or its address has changed, load the console again.
      </span>
      <button type="button" onClick={() => location.reload()}>
        Load again
      </button>
    </div>
  );
}
