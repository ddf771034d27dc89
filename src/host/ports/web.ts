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

/** What an authority asks for by HTTP before it issues a certificate (RFC 8555, 8.3). */
export interface Challenge {
  readonly token: string;
  readonly answer: string;
  /** Where the request of the authority arrives. */
  readonly port: number;
}

const challengePath = '/.well-known/acme-challenge/';

/** The answer to a request with this path; undefined if it is not one of a challenge that has begun. */
export function challengeAnswer(path: string, challenges: ReadonlyMap<string, Challenge>): string | undefined {
  return path.startsWith(challengePath) ? challenges.get(path.slice(challengePath.length))?.answer : undefined;
}

/** The endpoints at which the API is served. */
export interface Web {
  /**
   * Sets the request handler and the callback for new connections. `challenges` has those that have begun, by their
   * tokens. Must be called once, before `serve`.
   */
  attach(handler: Handler, connected: (socket: Socket) => void, challenges: Map<string, Challenge>): void;

  /**
   * Opens these endpoints and closes all others. Requests in progress are completed. When an endpoint cannot be opened,
   * nothing changes, and the error names the endpoint and the reason.
   */
  serve(endpoints: readonly Endpoint[]): Promise<void>;

  /** Whether an endpoint of every address could have this port. */
  isFree(port: number): Promise<boolean>;

  /**
   * Answers the challenge, at the port and at all endpoints. The port is opened for that; one that another program has
   * is left to it, because it may pass the request on.
   */
  beginChallenge(challenge: Challenge): Promise<void>;

  endChallenge(token: string): Promise<void>;

  /** The endpoints that `serve` opened last. */
  served(): Promise<readonly Endpoint[]>;
}
