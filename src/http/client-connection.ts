import type { Socket } from 'node:net';
import type { ClientConnection } from '../engine/change/confirm.ts';

const known = new WeakMap<Socket, Required<ClientConnection>>();

/** The local and remote address of a connection. They do not change while it is open. */
export function clientConnection(socket: Socket): Required<ClientConnection> {
  const found = known.get(socket);
  if (found !== undefined) return found;
  // A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses.
  const plain = (address: string | undefined) => (address ?? '').replace(/^::ffff:/i, '');
  const connection = Object.freeze({
    ...{ local: plain(socket.localAddress), port: socket.localPort ?? 0, remote: plain(socket.remoteAddress) },
    // Only a connection by TLS has this property. Asking for its class would load node:tls for the first request.
    isSecure: 'encrypted' in socket,
  });
  // A connection that has ended has no addresses any more.
  if (socket.remoteAddress !== undefined) known.set(socket, connection);
  return connection;
}
