/** A table of any length: the rows in sight are in the page, and their pages are read when they come into sight. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Row } from '../base/json.ts';
import type { Pages } from './pages.ts';

export interface LongColumn {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly order?: string;
  cell(row: Row): ComponentChildren;
}

interface LongListProps {
  readonly label: string;
  readonly pages: Pages;
  /** The first column is a button that chooses the row. */
  readonly columns: readonly LongColumn[];
  readonly keyOf: (row: Row) => string;
  readonly chosen: string | undefined;
  readonly order: string;
  sort(order: string): void;
  choose(row: Row): void;
}

/** A row as it was drawn last. */
interface Drawn {
  readonly row: Row | undefined;
  readonly isChosen: boolean;
  readonly columns: readonly LongColumn[];
  readonly shown: ComponentChildren;
}

/** Height of a row, which the style sheet has too. */
const height = 33;
/** Rows beyond the visible part; the window moves by as many at once, so that most frames of a scroll change nothing. */
const spare = 12;
const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

export function LongList({ label, pages, columns, keyOf, chosen, order, sort, choose }: LongListProps) {
  const box = useRef<HTMLElement>(null);
  const room = useSignal(600);
  const from = useSignal(0);
  const active = useRef<number | undefined>(undefined);
  const drawn = useRef<ReadonlyMap<number, Drawn>>(new Map());
  const length = pages.length.value ?? 0;
  void pages.version.value;
  useEffect(() => {
    const measure = () => (room.value = box.current?.clientHeight ?? room.value);
    measure();
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, [room]);
  const shownRows = Math.ceil(room.value / height);
  const span = shownRows + 3 * spare;
  const to = Math.min(length, from.value + span);
  useEffect(() => pages.show(from.value, to), [pages, from.value, to]);
  // The row that the arrow keys lead to may come into the page only now.
  useEffect(() => {
    const focused = document.activeElement;
    if (active.current === undefined || (focused !== document.body && box.current?.contains(focused) !== true)) return;
    const button = box.current?.querySelector<HTMLElement>(`[data-index="${active.current}"] button`);
    if (button == null) box.current?.focus({ preventScroll: true });
    else if (document.activeElement !== button) button.focus({ preventScroll: true });
  });
  const scrolled = () => {
    const first = Math.floor((box.current?.scrollTop ?? 0) / height) - spare;
    from.value = Math.max(0, Math.floor(first / spare) * spare);
  };
  const move = (event: KeyboardEvent) => {
    const page = Math.max(1, shownRows - 2);
    const step = steps[event.key] ?? (event.key === 'PageDown' ? page : event.key === 'PageUp' ? -page : 0);
    const isEnd = event.key === 'Home' || event.key === 'End';
    if (step === 0 && !isEnd) return;
    event.preventDefault();
    const before = active.current ?? Math.floor((box.current?.scrollTop ?? 0) / height) - 1;
    const next = event.key === 'Home' ? 0 : event.key === 'End' ? length - 1 : before + step;
    active.current = Math.max(0, Math.min(length - 1, next));
    const place = active.current * height;
    const element = box.current;
    if (element === null) return;
    if (place < element.scrollTop) element.scrollTop = place;
    if (place > element.scrollTop + element.clientHeight - 3 * height)
      element.scrollTop = place - element.clientHeight + 3 * height;
    scrolled();
    box.current?.querySelector<HTMLElement>(`[data-index="${active.current}"] button`)?.focus({ preventScroll: true });
  };
  const drawing = new Map<number, Drawn>();
  const rowAt = (index: number) => {
    const row = pages.row(index);
    const isChosen = row !== undefined && chosen === keyOf(row);
    const before = drawn.current.get(index);
    // What has not changed is passed on as it was, which Preact does not compare again.
    if (before?.row === row && before?.isChosen === isChosen && before.columns === columns) {
      drawing.set(index, before);
      return before.shown;
    }
    const shown = (
      // The elements of rows that leave the window are used for those that come.
      <tr key={index % span} data-index={index} aria-rowindex={index + 2} class={isChosen ? 'chosen' : ''}>
        {columns.map(({ title, isNumber, cell }, at) => (
          <td key={title} class={isNumber === true ? 'num' : ''}>
            {row === undefined ? (
              at === 0 && '…'
            ) : at === 0 ? (
              <button
                type="button"
                class="quiet"
                aria-pressed={isChosen}
                onClick={() => {
                  active.current = index;
                  choose(row);
                }}
              >
                {cell(row)}
              </button>
            ) : (
              cell(row)
            )}
          </td>
        ))}
      </tr>
    );
    drawing.set(index, { row, isChosen, columns, shown });
    return shown;
  };
  const rows = Array.from({ length: Math.max(0, to - from.value) }, (_, index) => from.value + index).map(rowAt);
  drawn.current = drawing;
  return (
    <section
      class="window long"
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
      tabIndex={0}
      onScroll={scrolled}
      onKeyDown={move}
    >
      <table aria-rowcount={length + 1}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber, order: by }) => (
              <th
                key={title}
                class={isNumber === true ? 'num' : ''}
                aria-sort={by === undefined || order !== `-${by}` ? undefined : 'descending'}
              >
                {by === undefined ? (
                  title
                ) : (
                  <button type="button" class="sort" onClick={() => sort(order === `-${by}` ? '' : `-${by}`)}>
                    {title}
                    <span aria-hidden="true">{order === `-${by}` ? ' ▾' : ''}</span>
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {from.value > 0 && <tr class="gap" style={{ height: `${from.value * height}px` }} />}
          {rows}
          {to < length && <tr class="gap" style={{ height: `${(length - to) * height}px` }} />}
        </tbody>
      </table>
    </section>
  );
}
