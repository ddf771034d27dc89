import { connect } from 'node:net';
import { messageOf } from '../../lib/text.ts';
import { HostError } from '../ports/index.ts';
import type { Runner } from './runner.ts';

const patience = 20_000;

/**
 * Asks winbind, by the protocol in which proxies let `ntlm_auth` check passwords: one line on its standard input, with
 * the name and the password percent-encoded. No command line has the password.
 */
export async function winbindAccepts(runner: Runner, name: string, password: string): Promise<boolean> {
  const input = `${encodeURIComponent(name)} ${encodeURIComponent(password)}\n`;
  const { stdout, stderr } = await runner.run(['ntlm_auth', '--helper-protocol=squid-2.5-basic'], {
    input,
    timeout: patience,
  });
  const answer = stdout.trim();
  if (answer === 'OK') return true;
  if (answer.startsWith('ERR')) return false;
  throw new HostError(`winbind could not be asked: ${stderr.trim().split('\n').at(-1) ?? ''}`);
}

// The numbers of nslcd-prot.h of nss-pam-ldapd 0.9.
const version = 2;
const authenticate = 0x000d_0001;
const resultBegin = 1;
const success = 0;
const mostAnswer = 4096;
/** Bytes; nslcd ends the connection at a longer one. */
const longestPassword = 127;

/** Asks nslcd, which binds to the directory as the account, by the socket that its PAM module uses. */
export async function nslcdAccepts(socket: string, name: string, password: string): Promise<boolean> {
  if (Buffer.byteLength(password) > longestPassword) return false;
  // Name, service, remote user, remote host, terminal.
  const texts = [name, 'holdfast', '', '', '', password];
  const request = Buffer.concat([int(version), int(authenticate), ...texts.map(text)]);
  const answer = await asked(socket, request);
  if (answer.length < 12 || answer.readInt32BE(0) !== version || answer.readInt32BE(4) !== authenticate)
    throw new HostError('nslcd could not be asked: it ended the connection');
  if (answer.readInt32BE(8) !== resultBegin || answer.length < 20) return false;
  const authentication = answer.readInt32BE(12);
  const authorization = 20 + answer.readInt32BE(16);
  if (authorization < 20 || answer.length < authorization + 4) return false;
  return authentication === success && answer.readInt32BE(authorization) === success;
}

function asked(socket: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const client = connect(socket, () => client.write(request));
    client.setTimeout(patience, () => client.destroy(new Error('it did not answer')));
    client.on('data', (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > mostAnswer) client.destroy(new Error('its answer is too long'));
    });
    client.on('error', (error) => reject(new HostError(`nslcd could not be asked: ${messageOf(error)}`)));
    client.on('close', () => resolve(Buffer.concat(parts)));
  });
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int(bytes.length), bytes]);
}
