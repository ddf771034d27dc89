import { request } from 'node:https';
import { createServer } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { exampleCertificate } from './certificates.ts';

/**
 * A free port of the loopback, below those that the kernel gives to clients (from 32768 on), so that no connection of another
 * test takes it, or the one 8,000 above it, before the daemon does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
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
