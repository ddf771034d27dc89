/** Why the appliance refused a request, in a form that pages can show. */
import { HoldfastError } from '../../../clients/typescript/src/index.ts';
import { isRow, listIn, type Row, rowIn, rowsIn, textIn } from './json.ts';

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  /** The problems of each field. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /** The record as it is, after another client changed it. */
  readonly record: Row | undefined;
  /** What uses what the request is about. */
  readonly holders: readonly Row[];
}

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof HoldfastError)) {
    const sentence = error instanceof TypeError ? 'The appliance does not answer.' : String(error);
    return { status: 0, code: 'unreachable', sentence, fields: {}, record: undefined, holders: [] };
  }
  const body = rowIn(error.body);
  const fields = Object.entries(rowIn(body['fields'])).map(([name, list]) => [name, listIn(list).map(textIn)] as const);
  return {
    status: error.status,
    code: textIn(body['code']),
    sentence: textIn(body['detail']) || error.message,
    fields: Object.fromEntries(fields),
    record: isRow(body['record']) ? body['record'] : undefined,
    holders: rowsIn(body['holders']),
  };
}
