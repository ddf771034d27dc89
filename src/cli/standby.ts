/** The interface of the machine of a pair that does not have the pool. */
import { createServer, type Server } from 'node:http';
import type { OwnPair } from '../engine/pair/pair.ts';
import { HostError } from '../host/ports/index.ts';
import type { Lease, LeaseState } from '../host/ports/lease.ts';
import { backlog } from '../host/ports/web.ts';
import { messageOf } from '../lib/text.ts';
import type { Settings } from './settings.ts';

export interface Standby {
  readonly server: Server;
  close(): Promise<void>;
}

/** Answers every request except those for its own health with 503 and the address of the machine that has the pool. */
export async function openStandby({ listen }: Settings, pair: OwnPair, lease: Lease): Promise<Standby> {
  let state: LeaseState | undefined;
  const look = async () => {
    // Without an answer of the cluster, the address of no machine is given.
    state = await lease.look().catch(() => undefined);
  };
  await look();
  const unwatch = lease.watch(() => void look());
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/[?#].*$/, '').replace(/\/+$/, '');
    const isProbe = request.method === 'GET' || request.method === 'HEAD';
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    if (isProbe && path === '/healthz') return void response.writeHead(200, headers).end('alive\n');
    if (isProbe && path === '/readyz') return void response.writeHead(503, headers).end('standby\n');
    const { error_message, holder } = refusalOf(pair, state);
    response
      .writeHead(503, { 'content-type': 'application/json', 'retry-after': '5' })
      .end(JSON.stringify({ error_message, holder }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new HostError(`cannot listen on ${listen.address}:${listen.port}: ${messageOf(error)}`)),
    );
    server.listen({ host: listen.address, port: listen.port, backlog }, resolve);
  });
  return {
    server,
    async close() {
      unwatch();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The address of the holder, and a sentence with it. */
export function refusalOf({ nodes, self }: OwnPair, state: LeaseState | undefined) {
  const name = state?.holder === self ? undefined : state?.holder;
  const url = name === undefined ? undefined : nodes[name];
  return {
    error_message:
      url === undefined
        ? 'This machine of a pair does not have the pool, and no other one has it now. Send the request again in a few seconds.'
        : `This machine of a pair does not have the pool. Send the request to ${url}.`,
    holder: url ?? null,
  };
}
