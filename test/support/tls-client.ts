import { request } from 'node:https';
import { createServer } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { exampleCertificate } from './certificates.ts';

/** A free port of the loopback. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** The answer over TLS to a client that trusts only the certificate of the example. */
export function getByTls(port: number, { path = '/', auth = '' } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    request(
      { host: '127.0.0.1', port, path, auth, ca: exampleCertificate, servername: 'imported.example.com', agent: false },
      (answer) => {
        readAll(answer).then(resolve, reject);
      },
    )
      .on('error', reject)
      .end();
  });
}
