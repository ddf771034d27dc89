import type { IncomingMessage, ServerResponse } from 'node:http';
import { showSize } from '../lib/size.ts';
import type { Answer } from './answer.ts';
import { AnswerError } from './body-of.ts';
import { refusal } from './problem-answer.ts';

type Done = (error: Error | null, body?: Buffer) => void;

/** Reads request bodies. Each is limited by its route's bound, and all of them together by one bound on memory. */
export class Bodies {
  readonly #most: number;
  #bytes = 0;

  /** `most` is the maximum number of bytes of all bodies at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes of the bodies that are being read or processed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reads a body. Its bytes stay in memory, and count, until the request is answered. */
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
    // A pipelined response that waits behind others emits no `close` when the connection ends.
    socket.setMaxListeners(0).once('close', release);
    answer?.once('close', release);
    if (!count(declared)) {
      done(new AnswerError(tooMany));
      return;
    }
    const chunks: Buffer[] = [];
    let received = 0;
    const end = (error: Error | null, body?: Buffer) => {
      // The rest is discarded, so that the connection can be used again.
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
    const onClose = () =>
      end(new AnswerError(refusal('invalid_body', 400, 'The connection closed before the body was complete.')));
    message.on('data', onData).on('end', onEnd).on('error', end).on('close', onClose);
  }
}

const tooMany: Answer = refusal(
  'overloaded',
  503,
  'Too many large requests at once. Send this request again in a few seconds.',
  { headers: { 'retry-after': '5' } },
);

function tooLarge(limit: number): Answer {
  return refusal('too_large', 413, `The body is too large: the limit here is ${limit} bytes (${showSize(limit)}).`);
}
