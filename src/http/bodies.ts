import type { IncomingMessage, ServerResponse } from 'node:http';
import { showSize } from '../lib/size.ts';
import { type Answer, json } from './answer.ts';
import { AnswerError } from './body-of.ts';

type Done = (error: Error | null, body?: Buffer) => void;

/** Reads bodies, each within the limit of its address, and all together within one bound. */
export class Bodies {
  readonly #most: number;
  #bytes = 0;

  /** `most` is how many bytes of bodies there may be at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes of the bodies that are being read or worked on. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reads a body. It counts until its request is answered, for as long its bytes are in memory. */
  read(message: IncomingMessage, answer: ServerResponse | undefined, limit: number, done: Done): void {
    const declared = Number(message.headers['content-length'] ?? 0);
    if (declared > limit) {
      done(new AnswerError(tooLarge(limit)));
      return;
    }
    let counted = 0;
    const count = (bytes: number): boolean => {
      if (bytes <= counted) return true;
      if (this.#bytes + bytes - counted > this.#most) return false;
      this.#bytes += bytes - counted;
      counted = bytes;
      return true;
    };
    const { socket } = message;
    const release = () => {
      this.#bytes -= counted;
      counted = 0;
      socket.off('close', release);
    };
    // An answer that waits behind others of its connection is not told when the connection ends.
    socket.setMaxListeners(0).once('close', release);
    answer?.once('close', release);
    if (!count(declared)) {
      done(new AnswerError(tooMany));
      return;
    }
    const chunks: Buffer[] = [];
    let received = 0;
    const end = (error: Error | null, body?: Buffer) => {
      // The rest is thrown away, so that the connection can go on.
      if (error !== null) message.resume();
      message.off('data', onData).off('end', onEnd).off('error', end).off('close', onClose);
      done(error, body);
    };
    const onData = (chunk: Buffer) => {
      received += chunk.length;
      if (received > limit) end(new AnswerError(tooLarge(limit)));
      else if (!count(received)) end(new AnswerError(tooMany));
      else chunks.push(chunk);
    };
    const onEnd = () => end(null, Buffer.concat(chunks, received));
    const onClose = () => end(new AnswerError(json(400, { error: 'The connection ended within the body.' })));
    message.on('data', onData).on('end', onEnd).on('error', end).on('close', onClose);
  }
}

const tooMany: Answer = json(
  503,
  { error: 'Too many large requests at once: send this one again in a few seconds.' },
  { 'retry-after': '5' },
);

function tooLarge(limit: number): Answer {
  return json(413, { error: `A body has at most ${limit} bytes here (${showSize(limit)}).` });
}
