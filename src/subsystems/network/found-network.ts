/** The network as it was configured by hand, in one form for all programs that configure it. */
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

/** A virtual device, with the commands that end it, also at the next start of the machine. */
export type FoundDevice = { readonly removal: string } & (
  | { readonly kind: 'vlan'; readonly parent: string; readonly tag: number; readonly priority: number | undefined }
  | {
      readonly kind: 'bond';
      /** Its mode, by the name that the kernel has for it. */
      readonly mode: string;
      /** In their order, the preferred one first. */
      readonly members: readonly string[];
    }
  | { readonly kind: 'bridge'; readonly members: readonly string[] }
);

export interface FoundLink extends Origin {
  readonly text: string;
  readonly program: 'networkd' | 'netplan' | 'ifupdown' | 'NetworkManager';
  readonly name: string;
  /** With prefix length. */
  readonly addresses: readonly string[];
  readonly dhcp: boolean;
  readonly ipv6auto: boolean;
  /** Options of ifconfig. */
  readonly options: readonly string[];
  readonly routes: readonly FoundRoute[];
  /** What it is, unless it is hardware. */
  readonly device: FoundDevice | undefined;
  /** The VLANs that only its own file attaches to it. */
  readonly vlans: readonly string[];
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

/** The modes of the kernel by their numbers. */
const modes = ['balance-rr', 'active-backup', 'balance-xor', 'broadcast', '802.3ad', 'balance-tlb', 'balance-alb'];

/** The name of a mode of bonding, which may be given as a number. The kernel's default is the first. */
export function bondMode(given: string | undefined): string {
  if (given === undefined) return 'balance-rr';
  return /^\d$/.test(given) ? (modes[Number(given)] ?? given) : given.toLowerCase();
}

/** Options of bonds that mean what Holdfast does too, or make no difference while all links are up. */
export function isUsualOfBond(name: string, value: string): boolean {
  const option = name.toLowerCase().replaceAll(/[-_]/g, '');
  if (/^(?:xmithashpolicy|transmithashpolicy)$/.test(option)) return /^layer2\+3$/i.test(value);
  if (/^(?:primaryreselect|primaryreselectpolicy)$/.test(option)) return /^(?:always|0)$/i.test(value);
  if (/^(?:lacprate|lacptransmitrate)$/.test(option)) return /^(?:slow|0)$/i.test(value);
  return /^(?:miimon|miimonitorsec|updelay|updelaysec|downdelay|downdelaysec)$/.test(option);
}
