import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { ClientConnection } from '../engine/change/confirm.ts';

/** The two ends of the connection that a request came by. */
export function clientConnectionOf({ raw: { socket } }: FastifyRequest): ClientConnection {
  return connectionOf(socket);
}

export function connectionOf(socket: Socket): ClientConnection {
  // A socket that listens for both families writes IPv4 addresses in IPv6 form.
  const plain = (address: string | undefined) => (address ?? '').replace(/^::ffff:/i, '');
  return { local: plain(socket.localAddress), port: socket.localPort ?? 0, remote: plain(socket.remoteAddress) };
}
