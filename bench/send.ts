/** Sends a change to a daemon in this process, and returns the answer. */
import type { App } from '../src/app.ts';
import { authorization } from './processes.ts';

export async function send({ server }: App, method: 'POST' | 'PUT', path: string, body: object): Promise<unknown> {
  if (!server.server.listening) await server.listen({ host: '127.0.0.1', port: 0 });
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const answer = await fetch(`http://127.0.0.1:${address.port}/api/v1.0/${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  const record: unknown = await answer.json();
  return record;
}
