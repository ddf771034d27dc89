import type { ComponentChildren } from 'preact';
import { Scroller } from './common.tsx';

export interface RowColumn<T> {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether its text may take several lines. */
  readonly isLong?: boolean;
  readonly isSoft?: boolean;
  /** Whether only readers of screens have its title, because its cells are links or buttons. */
  readonly isAction?: boolean;
  cell(row: T): ComponentChildren;
}

interface RowsProps<T> {
  readonly label: string;
  readonly columns: readonly RowColumn<T>[];
  readonly rows: readonly T[];
  keyOf(row: T): string;
}

/** A table that is short enough to be in the page as a whole. */
export function Rows<T>({ label, columns, rows, keyOf }: RowsProps<T>) {
  return (
    <Scroller label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber, isAction }) => (
              <th key={title} class={isNumber === true ? 'num' : ''}>
                {isAction === true ? <span class="unseen">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function classOf<T>({ isNumber, isLong, isSoft, isAction }: RowColumn<T>): string {
  return [
    (isNumber === true || isAction === true) && 'num',
    isLong === true && 'wrap',
    isSoft === true && 'soft',
    isAction === true && 'act',
  ]
    .filter((one) => one !== false)
    .join(' ');
}
