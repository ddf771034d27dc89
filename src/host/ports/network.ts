/** The machine's network links. Subsystems render the files that configure them; this port applies these files. */
export interface Network {
  /** Reports the current state, without waiting for negotiation or leases. */
  look(): Promise<NetworkState>;

  /** The static routes through a gateway that are in force, of all links. */
  routes(): Promise<readonly FixedRoute[]>;

  /**
   * Applies the files and returns when the links match them. `changed` has the paths of written and removed files: only
   * the links of these files are touched. `again` has links whose files are unchanged, but whose state was changed
   * outside of Holdfast.
   */
  apply(order: LinkOrder): Promise<void>;

  /** The speed and duplex mode of a network interface; undefined when it does not support setting them. */
  medium(link: string): Promise<Medium | undefined>;

  /** Sets speed and duplex mode. An unsupported mode throws with the error of the driver. */
  setMedium(link: string, medium: Medium): Promise<void>;

  /** The TCP connections that others have with an address of this machine, whatever serves them. In no order. */
  connections(address: string): Promise<readonly Connection[]>;

  /** Changes the host name of the running machine. */
  rename(name: string): Promise<void>;

  /** Calls `changed` after every change of links or addresses, whatever its cause. Returns a function that stops it. */
  watch(changed: () => void): () => void;
}

export interface LinkOrder {
  readonly changed: readonly string[];
  readonly again: readonly string[];
  /** The state that must be reached. */
  readonly links: readonly LinkGoal[];
}

export interface LinkGoal {
  readonly name: string;
  /** Static addresses as `address/bits`, in canonical form. */
  readonly addresses: readonly string[];
  /** The aggregate that the link must belong to; undefined keeps the current one, which Holdfast does not manage. */
  readonly master: string | undefined;
  /** Routes through a gateway in the network of one of its static addresses. */
  readonly routes: readonly FixedRoute[];
}

export interface FixedRoute {
  /** As `address/bits`, in canonical form; zero bits for the default route. */
  readonly destination: string;
  readonly gateway: string;
}

/** A TCP connection of a client: the port that it is connected with, and its own address and port. */
export interface Connection {
  readonly port: number;
  readonly client: string;
  readonly clientPort: number;
}

/** Autonegotiation, or a fixed speed in Mbit/s and duplex mode. */
export type Medium = 'auto' | { readonly speed: number; readonly duplex: 'full' | 'half' };

export interface NetworkState {
  readonly hostname: string;
  /** The machine's domain in /etc/hosts; empty when there is none. */
  readonly domain: string;
  /** The content of /etc/hosts without the lines that every machine has. */
  readonly hosts: string;
  /** The name servers in /etc/resolv.conf, without those on the machine itself. */
  readonly nameServers: readonly string[];
  /** All links except the loopback. */
  readonly links: readonly Link[];
}

export interface Link {
  readonly name: string;
  /** The type of a virtual link: `vlan`, `bond`, `bridge` …; empty for a physical one. */
  readonly kind: string;
  /** Hardware address, in lower case with colons. */
  readonly mac?: string | undefined;
  /** Whether it is administratively up. */
  readonly up: boolean;
  /** Whether it has a carrier; undefined when that is unknown. */
  readonly carrier: boolean | undefined;
  readonly mtu: number;
  /** The aggregate or bridge that it belongs to. */
  readonly master: string | undefined;
  /** As `address/bits`, in canonical form, without link-local addresses. */
  readonly addresses: readonly string[];
}
