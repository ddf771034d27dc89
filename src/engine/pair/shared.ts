import type { Endpoint } from '../../host/ports/web.ts';
import { isObject } from '../../lib/json.ts';
import { readSwitch, type Switch } from './last-switch.ts';

/**
 * What the machine without the pool knows of the configuration on it, to show the cluster and to check who asks. The
 * machine with the pool publishes it in the cluster, encrypted with the key of the pair.
 */
export interface Shared {
  /** The administrator who may log in by a password alone; undefined if there is none. */
  readonly administrator: { readonly name: string; readonly hash: string } | undefined;
  /** Name and address of the pair. */
  readonly name: string;
  readonly address: string;
  readonly last: Switch | undefined;
  /** Where the interface is served beside the address that each daemon was started with. */
  readonly endpoints: readonly Endpoint[];
}

export interface Published extends Shared {
  /** Later ones have larger numbers, whatever the clocks of the machines show. */
  readonly number: number;
}

/** Encrypts with the key of the pair. */
export interface PairSeal {
  closeFor(purpose: string, value: unknown): string;
  openFor(purpose: string, sealed: string): unknown;
}

const purpose = 'pair';

export const sealShared = (seal: PairSeal, published: Published): string => seal.closeFor(purpose, published);

/** Undefined for one that this pair has not written. */
export function openShared(seal: PairSeal, sealed: string): Published | undefined {
  const value = seal.openFor(purpose, sealed);
  if (!isObject(value)) return undefined;
  const { number, administrator, name, address, last, endpoints } = value;
  if (typeof number !== 'number' || typeof name !== 'string' || typeof address !== 'string') return undefined;
  const account =
    isObject(administrator) && typeof administrator['name'] === 'string' && typeof administrator['hash'] === 'string'
      ? Object.freeze({ name: administrator['name'], hash: administrator['hash'] })
      : undefined;
  return Object.freeze({
    ...{ number, administrator: account, name, address, last: readSwitch(last) },
    endpoints: Object.freeze(Array.isArray(endpoints) ? endpoints.flatMap(readEndpoint) : []),
  });
}

function readEndpoint(value: unknown): readonly Endpoint[] {
  if (!isObject(value)) return [];
  const { address, port, tls, redirectTo } = value;
  if (typeof address !== 'string' || typeof port !== 'number') return [];
  const { chain, key } = isObject(tls) ? tls : {};
  const isSecure = typeof chain === 'string' && typeof key === 'string';
  // One with a certificate that is not understood is never served without it.
  if (tls !== undefined && !isSecure) return [];
  return [
    Object.freeze({
      ...{ address, port },
      ...(isSecure && { tls: Object.freeze({ chain, key }) }),
      ...(typeof redirectTo === 'number' && { redirectTo }),
    }),
  ];
}
