import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { request, type Server } from 'node:http';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { isObject } from '../lib/json.ts';
import { sentencesIn } from '../lib/refusal.ts';
import type { Settings } from './settings.ts';

/**
 * The socket on which the commands of the appliance reach the daemon without a password. Only root, or the user that
 * runs a virtual host, can enter the folder and open the socket: the kernel checks that.
 */
export function localSocket({ host, state }: Pick<Settings, 'host' | 'state'>): string {
  return join(host === 'linux' ? '/run/holdfast' : state, 'holdfast.socket');
}

/** The socket by which the daemon of a machine of a pair is asked to take or to release the pool. */
export function pairSocket(settings: Pick<Settings, 'host' | 'state'>): string {
  return join(localSocket(settings), '..', 'pair.socket');
}

export async function listenLocally(server: Server, path: string): Promise<void> {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  // A killed daemon leaves its socket. No other daemon uses it, because the state folder is locked.
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
}

/** The daemon refused a request, or does not answer. */
export class LocalRequestError extends Error {
  override readonly name = 'LocalRequestError';
}

/** Sends a request to the daemon on this machine, as its administrator, and returns the text of the answer. */
export async function ask(path: string, method: string, address: string, body?: object): Promise<string> {
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  const answer = await new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const sent = request({ socketPath: path, method, path: address, headers }, (response) => {
      readAll(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new LocalRequestError(`the daemon does not answer on ${path} (${why}); start it first.`);
  });
  if (answer.status >= 300) throw new LocalRequestError(messagesIn(answer.text).join(' '));
  return answer.text;
}

/** The sentences of a refusal, without the names of its fields. */
function messagesIn(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? Object.values(sentencesIn(value)).flat().map(String) : [text];
  } catch {
    return [text];
  }
}
