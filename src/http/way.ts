import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Way } from '../engine/confirm.ts';

/** The two ends of the connection that a request came by. */
export function wayOf({ raw: { socket } }: FastifyRequest): Way {
  return connectionOf(socket);
}

export function connectionOf(socket: Socket): Way {
  // A socket that listens for both families writes IPv4 addresses in IPv6 form.
  const plain = (address: string | undefined) => (address ?? '').replace(/^::ffff:/i, '');
  return { local: plain(socket.localAddress), port: socket.localPort ?? 0, remote: plain(socket.remoteAddress) };
}
