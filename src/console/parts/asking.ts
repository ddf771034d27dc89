/** A request before it is sent, and how it is written for the other ways to send it. */
import type { Command, Form, FormField } from '../base/catalogue.ts';
import { isRow, type Row, textIn } from '../base/json.ts';

export interface Asked {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** From the root of the server. */
  readonly address: string;
  readonly body: unknown;
  readonly etag: string | undefined;
}

/** The address of several requests as one change. */
export const transactions = '/api/holdfast/v1/transactions';

const hidden = '********';

/** The body with its secrets hidden, for the eyes. */
export function openBody(body: unknown, fields: readonly FormField[]): unknown {
  if (!isRow(body)) return body;
  const secrets = new Set(fields.filter(({ secret }) => secret).map(({ wire }) => wire));
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, secrets.has(name) && value !== '' ? hidden : value]),
  );
}

export function asRequest({ method, address, etag }: Asked, body: unknown): string {
  const head = [`${method} ${address}`, `Host: ${location.host}`];
  if (etag !== undefined && method !== 'POST') head.push(`If-Match: ${etag}`);
  if (body === undefined) return head.join('\n');
  return [...head, 'Content-Type: application/json', '', JSON.stringify(body, null, 2)].join('\n');
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The value of an option, as the command line reads it. */
function wordOf(value: unknown): string {
  if (Array.isArray(value))
    return value.every((one) => !isRow(one)) ? value.map(textIn).join(',') : JSON.stringify(value);
  return isRow(value) ? JSON.stringify(value) : textIn(value);
}

/** The command of the command line. Secrets are asked for at the terminal. */
export function asCommand(form: Form, verb: string, key: string, body: unknown, fields: readonly FormField[]): string {
  const sent: Row = isRow(body) ? body : {};
  const words = ['holdfast', verb, form.name];
  if (key !== '') words.push(quoted(form.key_field === 'id' ? `id:${key}` : key));
  for (const [wire, value] of Object.entries(sent)) {
    const field = fields.find((one) => one.wire === wire);
    const option = (field?.name ?? wire).replaceAll('_', '-');
    if (field?.secret === true) words.push(`--${option} -`);
    else if (value === true || value === false) words.push(`--${value ? '' : 'no-'}${option}`);
    else if (verb === 'create' && wire === form.name_field) words.splice(3, 0, quoted(textIn(value)));
    else words.push(`--${option} ${quoted(wordOf(value))}`);
  }
  return words.join(' ');
}

/** The command of the command line for a request that has none of its own. */
export const asPlainCommand = ({ method, address, body }: Asked): string =>
  ['holdfast', 'api', method, address, quoted(JSON.stringify(body))].join(' ');

/** A file for `POST transactions`, which carries out several of these as one change. */
export function asFile({ method, address, body, etag }: Asked, shown: unknown): string {
  if (address === transactions) return JSON.stringify(shown, null, 2);
  const path = address.replace(/^\/api\/v1\.0\//, '');
  const one = {
    method,
    path,
    ...(body === undefined ? {} : { body: shown }),
    ...(etag !== undefined && method !== 'POST' && { if_match: etag }),
  };
  return JSON.stringify({ requests: [one] }, null, 2);
}

/** The address of a command on a record. */
export function addressIn({ path }: Command, key: string): string {
  return `/${path.replace('{key}', key.split('/').map(encodeURIComponent).join('/'))}`;
}
