import { contact, hasNewCertificate, heardAt, movedTo, now } from '../base/contact.ts';
import { age } from '../base/format.ts';
import { outdated, touchAll } from '../base/live.ts';
import * as t from '../texts/shell/lost.ts';

/** Says what could not be read again, and how old it is. */
function Outdated() {
  const [oldest] = outdated.value;
  if (oldest === undefined) return null;
  return (
    <div class="note warn" role="status">
      <span class="what">{t.someOfThisPageIsOld(age(oldest.at, now.value))}</span>
      <span class="soft grow">{oldest.why}</span>
      <button type="button" onClick={touchAll}>
        {t.readItAgain}
      </button>
    </div>
  );
}

/** Milliseconds without an answer after which the page asks for help: a restart of the daemon takes less. */
const patience = 20_000;

/**
 * Says that the appliance does not answer. A browser refuses a changed certificate without asking until the page is loaded
 * again, and a script cannot tell that from a machine that is off; but the page knows what was changed before.
 */
export function Lost() {
  if (contact.value !== 'lost') return <Outdated />;
  const isMoved = movedTo.value !== '';
  const isCertificate = location.protocol === 'https:' && hasNewCertificate.value;
  if (!isMoved && !isCertificate && now.value - heardAt.value < patience) return null;
  const last = t.itWasLastHeardOfAnd(age(heardAt.value, now.value));
  if (isMoved)
    return (
      <div class="note bad" role="status">
        <span class="what">{t.theApplianceHasLeftThisAddress}</span>
        <span class="soft grow">{t.openItAtItsNewOne}</span>
        <a class="btn" href={movedTo.value}>
          {t.open(movedTo.value)}
        </a>
      </div>
    );
  return (
    <div class="note bad" role="status">
      <span class="what">{isCertificate ? t.theCertificateOfTheApplianceWas : t.theApplianceDoesNotAnswer}</span>
      <span class="soft grow">
        {isCertificate ? t.theBrowserAcceptsTheNewOne : t.ifItsCertificateOrItsAddress(last)}
      </span>
      <button type="button" onClick={() => location.reload()}>
        {t.loadAgain}
      </button>
    </div>
  );
}
