import type { Socket } from 'node:net';
import { clientConnection } from './client-connection.ts';
import type { Exchange } from './exchange.ts';
import { sourceOf } from './login-budget.ts';

/**
 * Limits the number of open connections. Above the limit, the oldest connection without a successful login is closed,
 * so that clients which only hold connections open cannot keep others out. When all of them have logged in, requests on
 * the newest connection are answered with 503.
 */
export class Connections {
  readonly #most: number;
  /** Each open connection, with the last request that has arrived whole on it, until that is answered. */
  readonly #open = new Map<Socket, Exchange | undefined>();
  /** Connections without a successful login, the oldest first. */
  readonly #unproven = new Set<Socket>();
  readonly #refused = new WeakSet<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#open.size;
  }

  add(socket: Socket): void {
    this.#open.set(socket, undefined);
    this.#unproven.add(socket);
    socket.once('close', () => this.#forget(socket));
    if (this.#open.size <= this.#most) return;
    const [oldest] = this.#unproven;
    if (oldest !== undefined && oldest !== socket) this.#end(oldest);
    else if (this.#open.size > 2 * this.#most) this.#end(socket);
    else if (!sourceOf(clientConnection(socket)).isLocal) this.#refused.add(socket);
  }

  #end(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#unproven.delete(socket);
  }

  /** Records that a request on this connection had a valid credential. */
  proven(socket: Socket): void {
    this.#unproven.delete(socket);
  }

  /** Records that a request has arrived whole. */
  arrived(exchange: Exchange): void {
    const { socket } = exchange.raw;
    if (this.#open.has(socket)) this.#open.set(socket, exchange);
  }

  /** Records that a request was answered. */
  answered(exchange: Exchange): void {
    const { socket } = exchange.raw;
    if (this.#open.get(socket) === exchange) this.#open.set(socket, undefined);
  }

  /** Closes every connection whose client waits for no answer: it sends nothing, or does not read what is sent. */
  endIdle(): void {
    for (const [socket, exchange] of this.#open) if (exchange === undefined || exchange.status !== 0) this.#end(socket);
  }

  /** Whether requests on this connection must be answered with 503 because there are too many connections. */
  isRefused(socket: Socket): boolean {
    return this.#refused.has(socket);
  }
}
