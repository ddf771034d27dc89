/** The table of the records of a resource, with the columns that it declares. */
import { addressOf, entryOf, type Form } from '../base/catalogue.ts';
import { capital, shown } from '../base/format.ts';
import { type Row, rowIn, textIn } from '../base/json.ts';
import { link } from '../base/route.ts';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/parts/record-table.ts';
import { Named } from './named.tsx';
import { type Column, Table } from './table.tsx';
import { plainSchema } from './values.ts';

export function RecordTable({ form, only }: { form: Form; only?: string | undefined }) {
  return (
    <Table
      label={capital(plural(form.title))}
      address={addressOf(form.path)}
      topics={[`record:${form.path}`, ...(form.owner === 'machine' ? ['machine'] : [])]}
      {...{ only }}
      columns={columnsOf(form)}
      fields={[form.key_field, ...form.columns, ...(form.name_field == null ? [] : [form.name_field])]}
      keyOf={(row) => textIn(row[form.key_field])}
      empty={<p class="soft">{t.thereIsNoYet(form.title)}</p>}
    />
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
