import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** One door of the interface besides the one that the daemon was started with. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** In PEM; without it the door is plain HTTP. */
  readonly tls?: { readonly chain: string; readonly key: string };
  /** Whoever comes by plain HTTP is sent to this port of HTTPS. */
  readonly redirectTo?: number;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Where the interface can be reached. */
export interface Web {
  /** Who answers at the doors, and who is told of each connection. Said once, before the first of them opens. */
  attach(handler: Handler, connected: (socket: Socket) => void): void;

  /**
   * Opens these doors and closes all others. What is being answered is answered to its end. When one cannot be opened,
   * all is as before, and the failure says which and why.
   */
  serve(endpoints: readonly Endpoint[]): Promise<void>;

  /** The doors that `serve` opened last. */
  served(): Promise<readonly Endpoint[]>;
}
