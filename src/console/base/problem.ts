/** Why the appliance refused a request, in a form that pages can show. */
import { HoldfastError } from '../../../clients/typescript/src/index.ts';
import * as t from '../texts/base/problem.ts';
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
    const sentence = error instanceof TypeError ? t.theApplianceDoesNotAnswer : String(error);
    return { status: 0, code: 'unreachable', sentence, fields: {}, record: undefined, holders: [] };
  }
  const body = rowIn(error.body);
  // A transaction has the problems of each of its requests.
  const members = rowsIn(body['problems']).map((one) => rowIn(one['body']));
  const sources = [rowIn(body['fields']), ...members.map((one) => (isRow(one['fields']) ? one['fields'] : one))];
  const fields = sources
    .flatMap((source) => Object.entries(source))
    .filter(([, list]) => Array.isArray(list))
    .map(([name, list]) => [name, listIn(list).map(textIn)] as const);
  return {
    status: error.status,
    code: textIn(body['code']),
    sentence: [textIn(body['detail']) || error.message, ...members.map((one) => textIn(one['error_message']))]
      .filter((one) => one !== '')
      .join(' '),
    fields: Object.fromEntries(fields),
    record: isRow(body['record']) ? body['record'] : undefined,
    holders: rowsIn(body['holders']),
  };
}
