import { allResources, type Brief, entries, entryOf } from '../base/catalogue.ts';
import { capital } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/pages/area.ts';

/** The page made by hand that most people look for in an area. */
const makers: Readonly<Record<string, readonly [page: string, title: string]>> = {
  block: ['new-target', t.aDiskForAClient],
  protection: ['new-replication', t.replicateToAnotherMachine],
  accounts: ['join', t.joinADomain],
  system: ['new-certificate', t.newCertificate],
};

/** Everything that belongs to an entry of the menu: its lists, its settings, and what it can do. */
export default function AreaPage({ place: { entry } }: { place: Place }) {
  const title = entries.find(({ name }) => name === entry)?.title ?? t.nothingIsHere;
  const made = makers[entry];
  return (
    <>
      <PageHead title={title}>
        {entry === 'system' && (
          <>
            <a class="btn" href={link('system', 'migrate')}>
              {t.moveFromAnOldAppliance}
            </a>
            <a class="btn" href={link('overview', 'first-hour')}>
              {t.theFirstHour}
            </a>
          </>
        )}
        {made !== undefined && (
          <a class="btn primary" href={link(entry, made[0])}>
            {made[1]}
          </a>
        )}
      </PageHead>
      <Resources entry={entry} />
    </>
  );
}

export function Resources({ entry }: { entry: string }) {
  const all = useLive('resources', [], allResources);
  if (all.value === undefined) return <Waiting refused={all.refused} what={t.whatThereIs} />;
  const own = all.value.filter(({ path }) => entryOf(path) === entry);
  return (
    <div class="cards three">
      <Kind title={t.lists} some={own.filter(({ kind }) => kind === 'records')} />
      <Kind title={t.settings} some={own.filter(({ kind }) => kind === 'settings')} />
      <Kind title={t.actions} some={own.filter(({ kind }) => kind === 'actions')} />
    </div>
  );
}

function Kind({ title, some }: { title: string; some: readonly Brief[] }) {
  if (some.length === 0) return null;
  return (
    <section class="card">
      <h2>{title}</h2>
      <ul class="entries">
        {some.map(({ path, title: one, description, kind }) => (
          <li key={path}>
            <a href={link(entryOf(path), kind === 'settings' ? 'record' : 'list', { of: path })}>
              {capital(kind === 'records' ? plural(one) : one)}
            </a>
            <span class="soft">{description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
