import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { ask } from './local-socket.ts';

/** Sets the password of root, which always is the first account. */
export async function setRootPassword(socket: string, password: string): Promise<void> {
  await ask(socket, 'POST', '/api/v1.0/account/users/1/password/', { bsdusr_password: password });
}

/** Reads a line from the terminal without showing it, or from a pipe. */
export async function readPassword(prompt: string): Promise<string> {
  const isTerminal = process.stdin.isTTY;
  if (isTerminal) process.stderr.write(prompt);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: hidden, terminal: isTerminal });
  const password = await new Promise<string>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(''));
  });
  lines.close();
  if (isTerminal) process.stderr.write('\n');
  return password;
}
