/** A small HTTP/1.1 client that repeats one kind of request, light enough for the server to be the bottleneck. */
import { connect, type Socket } from 'node:net';

export interface Target {
  readonly port: number;
  /** The next request, complete, as bytes for the socket. */
  readonly request: () => Buffer;
  /** The status that every answer must have. */
  readonly status: number;
}

export interface Bounds {
  readonly connections: number;
  readonly seconds: number;
  readonly requests?: number;
}

export interface Result {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
}

/** Keeps every connection busy with one request at a time until the time or the number of requests is reached. */
export async function load(
  target: Target,
  { connections, seconds, requests = Number.POSITIVE_INFINITY }: Bounds,
): Promise<Result> {
  const latencies: number[] = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  let count = 0;
  const next = () => {
    if (count >= requests || performance.now() >= end) return undefined;
    count += 1;
    return target.request();
  };
  await Promise.all(Array.from({ length: connections }, () => converse(target, next, latencies)));
  const elapsed = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  const quantile = (part: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? Number.NaN;
  return { perSecond: latencies.length / elapsed, p50: quantile(0.5), p99: quantile(0.99), requests: latencies.length };
}

/** Sends one request and resolves with the answer, head and body. */
export async function ask(
  port: number,
  request: Buffer,
): Promise<{ readonly status: number; readonly head: string; readonly body: string }> {
  const socket = await open(port);
  try {
    return await new Promise((resolve, reject) => {
      let seen = Buffer.alloc(0);
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('the server closed the connection')));
      socket.on('data', (chunk) => {
        seen = Buffer.concat([seen, chunk]);
        const answer = answerIn(seen);
        if (answer === undefined || seen.length < answer.length) return;
        resolve({
          status: answer.status,
          head: seen.toString('latin1', 0, answer.headLength),
          body: seen.toString('utf8', answer.headLength, answer.length),
        });
      });
      socket.write(request);
    });
  } finally {
    socket.destroy();
  }
}

async function converse({ port, status }: Target, next: () => Buffer | undefined, latencies: number[]): Promise<void> {
  const first = next();
  if (first === undefined) return;
  const socket = await open(port);
  try {
    await new Promise<void>((resolve, reject) => {
      let asked = performance.now();
      /**
       * The received part of the current answer, and the length of the whole; it almost always arrives in one piece.
       */
      let seen: Buffer = nothing;
      let expected = 0;
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('the server closed the connection')));
      socket.on('data', (chunk) => {
        seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
        if (expected === 0) {
          const answer = answerIn(seen);
          if (answer === undefined) return;
          if (answer.status !== status)
            return reject(
              new Error(`expected the status ${status}, got ${answer.status}: ${seen.toString('utf8').slice(0, 1000)}`),
            );
          expected = answer.length;
        }
        if (seen.length < expected) return;
        latencies.push(performance.now() - asked);
        seen = nothing;
        expected = 0;
        const request = next();
        if (request === undefined) return resolve();
        asked = performance.now();
        socket.write(request);
      });
      socket.write(first);
    });
  } finally {
    socket.destroy();
  }
}

const nothing = Buffer.alloc(0);

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** The status and the lengths of the answer that begins here; undefined until its head is complete. */
function answerIn(
  bytes: Buffer,
): { readonly status: number; readonly headLength: number; readonly length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? '0';
  return { status: Number(head.slice(9, 12)), headLength: end + 4, length: end + 4 + Number(length) };
}
