import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections that the kernel holds until the daemon accepts them. With Node's 511, a burst of more clients while the
 * daemon was busy ended with reset connections.
 */
export const backlog = 1024;

/** A listening endpoint of the web API, in addition to the one that the daemon was started with. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** Certificate chain and key in PEM; without them the endpoint serves plain HTTP. */
  readonly tls?: { readonly chain: string; readonly key: string };
  /** Requests are redirected to this HTTPS port. */
  readonly redirectTo?: number;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The endpoints at which the API is served. */
export interface Web {
  /** Sets the request handler and the callback for new connections. Must be called once, before `serve`. */
  attach(handler: Handler, connected: (socket: Socket) => void): void;

  /**
   * Opens these endpoints and closes all others. Requests in progress are completed. When an endpoint cannot be opened,
   * nothing changes, and the error names the endpoint and the reason.
   */
  serve(endpoints: readonly Endpoint[]): Promise<void>;

  /** The endpoints that `serve` opened last. */
  served(): Promise<readonly Endpoint[]>;
}
