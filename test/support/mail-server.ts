import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { exampleCertificate, exampleKey } from './certificates.ts';

export interface Post extends AsyncDisposable {
  readonly port: number;
  readonly letters: readonly string[];
}

/** A mail server that requires a user name and a password. */
export async function mailServer({
  secure,
  address = '127.0.0.1',
}: {
  readonly secure: boolean;
  readonly address?: string;
}): Promise<Post> {
  const letters: string[] = [];
  const server = new SMTPServer({
    secure,
    key: exampleKey,
    cert: exampleCertificate,
    onAuth: ({ username, password }, _session, done) =>
      username === 'nas' && password === 'its secret' ? done(null, { user: 'nas' }) : done(new Error('wrong password')),
    onData(stream, _session, done) {
      let text = '';
      stream.on('data', (piece) => {
        text += String(piece);
      });
      stream.on('end', () => {
        letters.push(text);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => void server.listen(0, address, resolve));
  const bound: AddressInfo | string | null = server.server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return {
    port: bound.port,
    letters,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The settings with which the appliance reaches it. */
export const mail = (port: number, more: object = {}) => ({
  em_fromemail: 'nas@example.com',
  em_outgoingserver: '127.0.0.1',
  em_port: port,
  em_smtp: true,
  em_user: 'nas',
  em_pass: 'its secret',
  ...more,
});
