import { contains, parseIp } from '../../lib/ip.ts';
import type { Rights } from '../rights/rights.ts';
import { rangeOf } from './key-access.ts';

/** Why rights cannot be used now and from this address, as a sentence for their holder. */
export function refusalOf(
  holder: string,
  { enabled, disabled, expires, addresses }: Rights & { readonly disabled: string | null },
  { address, now }: { readonly address: string; readonly now: number },
): string | undefined {
  if (!enabled) return `${holder} is disabled since ${disabled}.`;
  if (expires !== '' && Date.parse(expires) <= now) return `${holder} expired on ${new Date(expires).toISOString()}.`;
  const ip = parseIp(address);
  if (addresses.length > 0 && !addresses.some((one) => ip !== undefined && isInside(one, ip)))
    return `${holder} may not be used from the address ${address}.`;
  return undefined;
}

function isInside(text: string, ip: NonNullable<ReturnType<typeof parseIp>>): boolean {
  const range = rangeOf(text);
  return range !== undefined && contains(range, ip);
}
