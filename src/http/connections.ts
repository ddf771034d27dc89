import type { Socket } from 'node:net';
import { connectionOf } from './client-connection.ts';
import { sourceOf } from './login-budget.ts';

/**
 * Bounds the connections. When there are too many, the oldest goes by which nobody has shown a right credential: so those
 * who open connections only to hold them keep nobody out. When all have shown one, the newest is refused.
 */
export class Connections {
  readonly #most: number;
  readonly #open = new Set<Socket>();
  /** In the order in which they came. */
  readonly #unproven = new Set<Socket>();
  readonly #refused = new WeakSet<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#open.size;
  }

  add(socket: Socket): void {
    this.#open.add(socket);
    this.#unproven.add(socket);
    socket.once('close', () => this.#forget(socket));
    if (this.#open.size <= this.#most) return;
    const [oldest] = this.#unproven;
    if (oldest !== undefined && oldest !== socket) this.#end(oldest);
    else if (this.#open.size > 2 * this.#most) this.#end(socket);
    else if (!sourceOf(connectionOf(socket)).isLocal) this.#refused.add(socket);
  }

  #end(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#unproven.delete(socket);
  }

  /** Somebody has shown a right credential by this connection. */
  proven(socket: Socket): void {
    this.#unproven.delete(socket);
  }

  /** Whether requests by this connection are answered that there are too many. */
  isRefused(socket: Socket): boolean {
    return this.#refused.has(socket);
  }
}
