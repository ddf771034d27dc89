import { chmodSync, chownSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../lib/text.ts';

/**
 * The folder of the socket on which the daemon receives notifications of other programs. The permissions of the folder
 * admit root and the account of Network UPS Tools, which gets access through the unit of upsmon.
 */
export const noticesFolder = '/run/holdfast-notices';

export function noticesSocket(folder: string): string {
  return join(folder, 'notices.socket');
}

/** Maximum length of a message. */
const longest = 65_536;

/** Milliseconds within which a program must send its message. */
const patience = 10_000;

/** Receives one message on each connection, and responds with nothing or with an error message. */
export async function takeNotices(
  folder: string,
  take: (message: unknown) => Promise<string | undefined>,
): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let received = '';
    socket.setEncoding('utf8').setTimeout(patience, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('data', (part) => {
      received += part;
      if (received.length > longest) socket.destroy();
    });
    socket.on('end', () => {
      take(parsed(received)).then(
        (wrong) => socket.end(wrong ?? ''),
        (error: unknown) => socket.end(messageOf(error)),
      );
    });
  });
  const path = noticesSocket(folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A killed daemon leaves its socket. No other daemon uses it, because the state folder is locked.
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      // The unit of upsmon gives the folder and the socket to its account's group; this is a socket after that.
      chownSync(path, -1, statSync(folder).gid);
      chmodSync(path, 0o660);
      resolve(server);
    });
  });
}

/** Sends a message to the daemon, and waits for one that is being restarted. Throws the error that it responds with. */
export async function tell(folder: string, message: object, { seconds = 60 } = {}): Promise<void> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      const objection = await send(noticesSocket(folder), JSON.stringify(message));
      if (objection !== '') throw new Error(objection);
      return;
    } catch (error) {
      const isAway =
        error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED');
      if (!isAway || Date.now() > end) throw error;
      await pause(1000);
    }
  }
}

async function send(path: string, message: string): Promise<string> {
  const socket = connect({ path, allowHalfOpen: true });
  socket.end(message);
  return await readAll(socket);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The message of smartd, from the environment of the program that it runs; see smartd.conf(5). */
export function fromSmartd(environment: NodeJS.ProcessEnv): object {
  return {
    source: 'smartd',
    subject: environment['SMARTD_DEVICE'] ?? '',
    event: environment['SMARTD_FAILTYPE'] ?? '',
    text: environment['SMARTD_FULLMESSAGE'] ?? environment['SMARTD_MESSAGE'] ?? '',
  };
}

/** The message of upsmon, from the environment of the program that it runs; see upsmon.conf(5). */
export function fromUpsmon(event: string, environment: NodeJS.ProcessEnv): object {
  return { source: 'ups', subject: environment['UPSNAME'] || 'of this machine', event, text: '' };
}
