import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../lib/text.ts';

/**
 * Where other programs of the machine tell the daemon something. Its folder says who may: root, and the account of
 * Network UPS Tools, to which the unit of upsmon opens it.
 */
export const noticesFolder = '/run/holdfast-notices';

export function noticesSocket(folder: string): string {
  return join(folder, 'notices.socket');
}

/** No program has that much to say. */
const longest = 65_536;

/** Milliseconds that a program may take to say it. */
const patience = 10_000;

/** Takes one message by each connection, and answers nothing, or what was wrong with it. */
export async function takeNotices(
  folder: string,
  take: (message: unknown) => Promise<string | undefined>,
): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let said = '';
    socket.setEncoding('utf8').setTimeout(patience, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('data', (part) => {
      said += part;
      if (said.length > longest) socket.destroy();
    });
    socket.on('end', () => {
      take(parsed(said)).then(
        (wrong) => socket.end(wrong ?? ''),
        (error: unknown) => socket.end(messageOf(error)),
      );
    });
  });
  const path = noticesSocket(folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // That of a daemon which was killed. Two daemons cannot have one state, so it is nobody else's.
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      chmodSync(path, 0o666);
      resolve(server);
    });
  });
}

/** Hands a message to the daemon; one that is being started anew is waited for. Throws what it objects to. */
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

function parsed(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return undefined;
  }
}

/** What smartd says to the program that it is told to run, smartd.conf(5). */
export function fromSmartd(environment: NodeJS.ProcessEnv): object {
  return {
    source: 'smartd',
    subject: environment['SMARTD_DEVICE'] ?? '',
    event: environment['SMARTD_FAILTYPE'] ?? '',
    text: environment['SMARTD_FULLMESSAGE'] ?? environment['SMARTD_MESSAGE'] ?? '',
  };
}

/** What upsmon says to the program that it is told to run, upsmon.conf(5). */
export function fromUpsmon(event: string, environment: NodeJS.ProcessEnv): object {
  return { source: 'ups', subject: environment['UPSNAME'] || 'of this machine', event, text: '' };
}
