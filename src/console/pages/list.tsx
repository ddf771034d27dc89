import { addressOf, entryOf, type Form, formOf } from '../base/catalogue.ts';
import { capital, shown } from '../base/format.ts';
import { type Row, rowIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { useChoices } from '../parts/choices.ts';
import { Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { plainSchema } from '../parts/values.ts';
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
  const title = capital(plural(form.title));
  return (
    <>
      <PageHead title={title} about={form.description}>
        {others.map(({ verb }) => (
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
      <section class="card">
        {canList ? (
          <Table
            label={title}
            address={addressOf(form.path)}
            topics={[`record:${form.path}`, ...(form.owner === 'machine' ? ['machine'] : [])]}
            columns={columnsOf(form)}
            fields={[form.key_field, ...form.columns, ...(form.name_field == null ? [] : [form.name_field])]}
            keyOf={(row) => textIn(row[form.key_field])}
            empty={<p class="soft">{t.thereIsNoYet(form.title)}</p>}
          />
        ) : (
          <p class="soft">{t.itHasNoListChooseWhat}</p>
        )}
      </section>
    </>
  );
}

function columnsOf(form: Form): readonly Column[] {
  const first = form.columns.includes(form.name_field ?? '')
    ? form.columns
    : [...(form.name_field == null ? [] : [form.name_field]), ...form.columns];
  return first.map((wire, index): Column => {
    const field = form.fields.find((one) => one.wire === wire);
    const { schema } = plainSchema(rowIn(field?.schema));
    const isNumber = schema['type'] === 'integer' || schema['type'] === 'number';
    const isScalar =
      isNumber || ['string', 'boolean'].includes(textIn(schema['type'])) || Array.isArray(schema['enum']);
    const refers = field?.by_id === true ? (field.refers_to ?? undefined) : undefined;
    return {
      ...{ name: wire, title: field?.title ?? wire, isNumber: isNumber && refers === undefined, canSort: isScalar },
      canFind: index === 0 && schema['type'] === 'string' && !Array.isArray(schema['enum']),
      cell: (row) =>
        index === 0 ? (
          <a href={link(entryOf(form.path), 'record', { of: form.path, key: textIn(row[form.key_field]) })}>
            {shown(row[wire], null)}
          </a>
        ) : refers !== undefined ? (
          <Named path={refers} value={row[wire]} />
        ) : (
          <Cell row={row} wire={wire} widget={field?.widget ?? null} />
        ),
    };
  });
}

function Cell({ row, wire, widget }: { row: Row; wire: string; widget: string | null }) {
  const text = shown(row[wire], widget);
  return <span title={text.length > 40 ? text : undefined}>{text.length > 60 ? `${text.slice(0, 58)}…` : text}</span>;
}

/** The name of the record that an id belongs to. */
function Named({ path, value }: { path: string; value: unknown }) {
  const choices = useChoices(path);
  const nameOf = (id: unknown) => choices.find((one) => one.id === textIn(id))?.name ?? shown(id, null);
  return <>{Array.isArray(value) ? value.map(nameOf).join(', ') || '–' : nameOf(value)}</>;
}
