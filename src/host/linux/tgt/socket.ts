import { connect } from 'node:net';
import { messageOf } from '../../../lib/text.ts';
import { HostError } from '../../ports/index.ts';
import { codeOf } from '../failure.ts';
import { answerHeadLength, decoded, encoded, lengthOf, type Request } from './protocol.ts';

/** How long an answer may take, in milliseconds. */
const patience = 30_000;

/** tgtd's management socket. tgtd requires a connection for each request. */
export class TgtSocket {
  readonly #path: string;

  constructor(path = '/run/tgtd/socket.0') {
    this.#path = path;
  }

  /** tgtd's answer, or undefined when it does not listen. */
  async ask(request: Request): Promise<{ readonly fault: number; readonly text: string } | undefined> {
    try {
      return decoded(await this.#exchange(encoded(request)));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined;
      throw error instanceof HostError
        ? error
        : new HostError(`tgtd does not answer: ${messageOf(error)}`, { cause: error });
    }
  }

  #exchange(request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      const socket = connect(this.#path);
      socket.setTimeout(patience, () =>
        socket.destroy(new HostError(`tgtd did not answer within ${patience / 1000} s`)),
      );
      socket.on('error', reject);
      socket.on('connect', () => socket.write(request));
      socket.on('data', (part) => parts.push(part));
      socket.on('close', () => {
        const answer = Buffer.concat(parts);
        if (answer.length < answerHeadLength || answer.length < lengthOf(answer))
          reject(new HostError('tgtd closed the connection before the end of its answer'));
        else resolve(answer);
      });
    });
  }
}
