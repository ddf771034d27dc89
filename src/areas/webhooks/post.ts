import { messageOf } from '../../lib/text.ts';

/** One request to a receiver. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a receiver answered. */
export interface Reply {
  readonly status: number;
  /** Milliseconds that the receiver asks to wait before the next attempt. */
  readonly wait: number;
}

export interface PostOptions {
  /** Certificates in PEM that the receiver is verified by. */
  readonly trust: string;
  readonly signal: AbortSignal;
}

/** Milliseconds until an attempt counts as failed. */
export const answerTime = 20_000;

/**
 * Sends a post and waits for the status of the answer. The answer itself is not read, and a redirect is an answer like
 * others: a receiver could otherwise lead the appliance to any address.
 */
export function send({ url, headers, body }: Post, { trust, signal }: PostOptions): Promise<Reply> {
  const isSecure = url.startsWith('https:');
  const { request } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http');
  const limit = AbortSignal.timeout(answerTime);
  return new Promise<Reply>((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent: false,
      signal: AbortSignal.any([signal, limit]),
      // An imported authority may be an intermediate one.
      ...(isSecure && { ca: trust, allowPartialTrustChain: true }),
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    });
    sent.on('error', (error) =>
      reject(
        limit.aborted
          ? new Error(`The receiver did not answer within ${answerTime / 1000} seconds.`)
          : new Error(`The receiver could not be reached: ${messageOf(error)}`, { cause: error }),
      ),
    );
    sent.on('response', (response) => {
      const seconds = Number(response.headers['retry-after']);
      resolve({ status: response.statusCode ?? 0, wait: seconds > 0 ? seconds * 1000 : 0 });
      response.on('error', () => {});
      response.destroy();
    });
    sent.end(body);
  });
}
