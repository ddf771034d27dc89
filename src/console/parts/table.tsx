import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { client } from '../base/client.ts';
import { isRow, type Row, rowsIn } from '../base/json.ts';
import { type Topic, useLive } from '../base/live.ts';
import * as t from '../texts/parts/table.ts';
import { Waiting } from './common.tsx';

export interface Column {
  readonly name: string;
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether the appliance can order by it and look for a text in it. */
  readonly canSort?: boolean;
  readonly canFind?: boolean;
  cell(row: Row): ComponentChildren;
}

interface TableProps {
  readonly label: string;
  /** Address of the list. */
  readonly address: string;
  readonly topics: readonly Topic[];
  readonly columns: readonly Column[];
  /** Further fields that cells need. */
  readonly fields: readonly string[];
  readonly keyOf: (row: Row) => string;
  /** What stands there if the list is empty. */
  readonly empty: ComponentChildren;
  readonly order?: string;
  /** What is chosen from the list, such as `bsdusr_builtin=false`. */
  readonly only?: string | undefined;
}

/** Height of a row, which the style sheet has too. */
const height = 33;
/** Rows beyond the visible part that are in the page. */
const spare = 8;
const pageSize = 200;

interface Rows {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/** Reads so many pages of a list, each from where the one before ended. */
async function readPages(address: string, words: URLSearchParams, pages: number): Promise<Rows> {
  const rows: Row[] = [];
  let next: string | undefined = `${address}?${words}`;
  for (let page = 0; page < pages && next !== undefined; page += 1) {
    const { body, headers }: { body: unknown; headers: Headers } = await client.exchange('GET', next);
    rows.push(...(isRow(body) ? [body] : rowsIn(body)));
    next = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  return { rows, hasMore: next !== undefined };
}

/**
 * A list of any length: the appliance orders, filters and pages it, and the page has the rows only that are in sight. The
 * arrow keys move from row to row.
 */
export function Table({ label, address, topics, columns, fields, keyOf, empty, order: first = '', only }: TableProps) {
  const order = useSignal(first);
  const text = useSignal('');
  const find = useSignal('');
  const pages = useSignal(1);
  const findable = columns.find(({ canFind }) => canFind === true);
  useEffect(() => {
    const timer = setTimeout(() => {
      find.value = text.value.trim();
      pages.value = 1;
    }, 200);
    return () => clearTimeout(timer);
  }, [text.value, find, pages]);
  const words = new URLSearchParams({ limit: String(pageSize), fields: [...new Set(fields)].join(',') });
  if (only !== undefined) words.append('filter', only);
  if (order.value !== '') words.set('order', order.value);
  if (find.value !== '' && findable !== undefined) words.append('filter', `${findable.name}~${find.value}`);
  const shown = useLive(`${address} ${words} ${pages.value}`, topics, () => readPages(address, words, pages.value));
  const kept = useRef<Rows | undefined>(undefined);
  if (shown.value !== undefined) kept.current = shown.value;
  const value = shown.value ?? kept.current;
  const sort = (name: string) => {
    order.value = order.value === name ? `-${name}` : name;
    pages.value = 1;
  };
  return (
    <div class="list">
      {findable !== undefined && (find.value !== '' || text.value !== '' || value?.rows.length !== 0) && (
        <div class="row tools">
          <input
            type="text"
            class="filter"
            aria-label={t.filterBy(findable.title)}
            placeholder={t.filterBy(findable.title.toLowerCase())}
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
          <span class="soft" role="status">
            {value === undefined ? '' : `${value.rows.length}${value.hasMore ? t.orMore : ''}`}
          </span>
        </div>
      )}
      {value === undefined || (shown.refused !== undefined && value.rows.length === 0) ? (
        <Waiting refused={shown.refused} what={label} />
      ) : value.rows.length === 0 ? (
        <div class="empty">{find.value === '' ? empty : t.nothingHereContains(find.value)}</div>
      ) : (
        <Window
          {...{ label, columns, keyOf, order: order.value, sort }}
          rows={value.rows}
          more={value.hasMore && shown.value !== undefined ? () => (pages.value += 1) : undefined}
        />
      )}
    </div>
  );
}

interface WindowProps extends Pick<TableProps, 'label' | 'columns' | 'keyOf'> {
  readonly rows: readonly Row[];
  readonly order: string;
  sort(name: string): void;
  readonly more: (() => void) | undefined;
}

/** The rows in sight, between two that are as high as all others. */
function Window({ label, columns, keyOf, rows, order, sort, more }: WindowProps) {
  const top = useSignal(0);
  const room = useSignal(600);
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const measure = () => (room.value = box.current?.clientHeight ?? room.value);
    measure();
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, [room]);
  const from = Math.max(0, Math.floor(top.value / height) - spare);
  const to = Math.min(rows.length, Math.ceil((top.value + room.value) / height) + spare);
  useEffect(() => {
    if (to >= rows.length - spare) more?.();
  }, [to, rows.length, more]);
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const row = event.target instanceof HTMLElement ? event.target.closest('tr') : null;
    if (step === 0 || row === null) return;
    const near = step === 1 ? row.nextElementSibling : row.previousElementSibling;
    const link = near?.querySelector<HTMLElement>('a, button');
    if (link == null) return;
    event.preventDefault();
    link.focus();
  };
  return (
    <section
      class="window"
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
      tabIndex={0}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={move}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map(({ name, title, isNumber, canSort }) => (
              <th
                key={name}
                class={isNumber === true ? 'num' : ''}
                aria-sort={order === name ? 'ascending' : order === `-${name}` ? 'descending' : undefined}
              >
                {canSort === true ? (
                  <button type="button" class="sort" onClick={() => sort(name)}>
                    {title}
                    <span aria-hidden="true">{order === name ? ' ▴' : order === `-${name}` ? ' ▾' : ''}</span>
                  </button>
                ) : (
                  title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {from > 0 && <Gap rows={from} />}
          {rows.slice(from, to).map((row, index) => (
            <tr key={keyOf(row)} aria-rowindex={from + index + 2}>
              {columns.map((column) => (
                <td key={column.name} class={column.isNumber === true ? 'num' : ''}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {to < rows.length && <Gap rows={rows.length - to} />}
        </tbody>
      </table>
    </section>
  );
}

/** Stands for rows that are not in the page. */
function Gap({ rows }: { rows: number }) {
  return <tr class="gap" style={{ height: `${rows * height}px` }} />;
}
