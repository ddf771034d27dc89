import { once } from 'node:events';
import { connect } from 'node:net';
import { rootPassword } from './appliance.ts';

/** An answer as it was received. */
export interface RawAnswer {
  readonly text: string;
  /** The status line with its reason phrase. */
  readonly status: string;
  /** Headers by lower-case name, with the value exactly as it was sent. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawRequest {
  readonly method?: string;
  /** The request target, as it goes into the request line. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether it carries root's credentials. */
  readonly stranger?: boolean;
}

export const rootCredential = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;

/** Sends bytes and reads bytes, as a client without any library: nothing is added, normalised or followed. */
export async function rawSend(
  url: string,
  { method = 'GET', path, headers = {}, body, stranger = false }: RawRequest,
): Promise<RawAnswer> {
  const all = {
    connection: 'close',
    ...(stranger ? {} : { authorization: rootCredential }),
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  return rawBytes(url, `${headOf(method, path, all)}${body ?? ''}`);
}

/** The lines of a request before its body. `Host` is included unless it is undefined. */
export function headOf(method: string, path: string, headers: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

/** The answer to these bytes, up to the end of the connection. */
export async function rawBytes(url: string, bytes: string): Promise<RawAnswer> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const parts: Buffer[] = [];
  socket.on('data', (part) => parts.push(part));
  // A server that refuses a body may close while it is still being sent.
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  const text = Buffer.concat(parts).toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const [status = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { text, status, headers, body: text.slice(end + 4) };
}
