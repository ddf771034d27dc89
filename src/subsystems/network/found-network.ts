/** The network as it was configured by hand, in one form for networkd and ifupdown. */
import type { NotCarried, Origin } from '../../engine/declare/proposal.ts';

export interface Said extends Origin {
  readonly text: string;
  readonly value: string;
}

export interface FoundRoute extends Origin {
  readonly text: string;
  /** Undefined for the default route. */
  readonly destination: string | undefined;
  readonly gateway: string;
}

export interface FoundLink extends Origin {
  readonly text: string;
  readonly program: 'networkd' | 'ifupdown';
  readonly name: string;
  /** With prefix length. */
  readonly addresses: readonly string[];
  readonly dhcp: boolean;
  readonly ipv6auto: boolean;
  /** Options of ifconfig. */
  readonly options: readonly string[];
  readonly routes: readonly FoundRoute[];
  /** Why it is left as it is, if it is. */
  readonly refusal: string | undefined;
}

export interface FoundNetwork {
  readonly links: readonly FoundLink[];
  readonly nameServers: readonly Said[];
  readonly domains: readonly Said[];
  readonly notCarried: readonly NotCarried[];
}

export const noNetwork: FoundNetwork = Object.freeze({ links: [], nameServers: [], domains: [], notCarried: [] });

export const lost = (
  { file, line, text }: Origin & { readonly text: string },
  reason: string,
  { toDo, within }: { readonly toDo: string; readonly within?: number },
): NotCarried => ({ file, line, text, reason, toDo, ...(within !== undefined && { within }) });
