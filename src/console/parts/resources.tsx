/** Everything that belongs to an entry of the menu: its lists, its settings, and what it can do. */
import { allResources, type Brief, entries, entryOf } from '../base/catalogue.ts';
import { capital } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/parts/resources.ts';
import { Waiting } from './common.tsx';

export function Resources({ entry }: { entry: string }) {
  const all = useLive('resources', [], allResources);
  if (all.value === undefined) return <Waiting refused={all.refused} what={t.whatThereIs} />;
  const first = entries.find(({ name }) => name === entry)?.first ?? [];
  const rankOf = ({ path }: Brief) => (first.indexOf(path) + first.length + 1) % (first.length + 1);
  const own = all.value.filter(({ path }) => entryOf(path) === entry).toSorted((a, b) => rankOf(a) - rankOf(b));
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
