import { type Command, entryOf, type Form, formOf } from '../base/catalogue.ts';
import { capital } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RecordTable } from '../parts/record-table.tsx';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/pages/list.ts';

/** The records of any resource. */
export default function ListPage({ place: { words, entry } }: { place: Place }) {
  const path = words.get('of') ?? '';
  const form = useLive(`form ${path}`, [], () => formOf(path));
  if (form.value === undefined)
    return <Waiting refused={form.refused ?? (form.at > 0 ? t.thereIsNoResource(path) : undefined)} what={t.theList} />;
  if (form.value.kind === 'settings') {
    go(link(entry, 'record', { of: path }));
    return null;
  }
  return <Records form={form.value} />;
}

function Records({ form }: { form: Form }) {
  const entry = entryOf(form.path);
  const canList = form.commands.some(({ verb }) => verb === 'list');
  const others = form.commands.filter(
    ({ on_record: on, method, verb }) => !on && method !== 'GET' && verb !== 'create' && verb !== 'clear',
  );
  const canCreate = form.commands.some(({ verb }) => verb === 'create');
  const isAction =
    canCreate && !form.commands.some(({ verb, path }) => verb === 'create' && path === `api/v1.0/${form.path}/`);
  const title = capital(canList ? plural(form.title) : form.title);
  return (
    <>
      <PageHead title={title} about={form.description}>
        {(canList ? others : []).map(({ verb }) => (
          <a key={verb} class="btn" href={link(entry, 'command', { of: form.path, verb })}>
            {capital(verb.replaceAll('-', ' '))}…
          </a>
        ))}
        {canCreate && (
          <a
            class="btn primary"
            href={
              isAction
                ? link(entry, 'command', { of: form.path, verb: 'create' })
                : link(entry, 'record', { of: form.path, new: '1' })
            }
          >
            {t.newIt(form.title)}
          </a>
        )}
      </PageHead>
      <section class="card">{canList ? <RecordTable form={form} /> : <Commands {...{ form, others }} />}</section>
    </>
  );
}

/** What can be done where there is no list. */
function Commands({ form, others }: { form: Form; others: readonly Command[] }) {
  return (
    <ul class="entries">
      {others.map(({ verb, title }) => (
        <li key={verb}>
          <a href={link(entryOf(form.path), 'command', { of: form.path, verb })}>
            {capital(verb.replaceAll('-', ' '))}…
          </a>
          <span class="soft">{title}</span>
        </li>
      ))}
    </ul>
  );
}
