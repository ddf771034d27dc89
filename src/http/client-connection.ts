import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { ClientConnection } from '../engine/change/confirm.ts';

/** The local and remote address of the connection that carries a request. */
export function clientConnectionOf({ raw: { socket } }: FastifyRequest): ClientConnection {
  return connectionOf(socket);
}

export function connectionOf(socket: Socket): ClientConnection {
  // A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses.
  const plain = (address: string | undefined) => (address ?? '').replace(/^::ffff:/i, '');
  return {
    ...{ local: plain(socket.localAddress), port: socket.localPort ?? 0, remote: plain(socket.remoteAddress) },
    isSecure: socket instanceof TLSSocket,
  };
}
