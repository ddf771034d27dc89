/** The machine's links, as they are and as their files say. The files are written by others; here they come into force. */
export interface Network {
  /** Waits for nothing: what is being negotiated is not there yet. */
  look(): Promise<NetworkState>;

  /** The fixed routes by way of a gateway that are in force, of whichever link. */
  routes(): Promise<readonly FixedRoute[]>;

  /**
   * Makes the links true to their files and returns when they are. `changed` are the paths of files that were written
   * or removed: only links that these concern are touched. `again` are links whose files are as before and that became
   * something else by other hands.
   */
  apply(order: LinkOrder): Promise<void>;

  /** How a card works; undefined for one that has no notion of it. */
  medium(link: string): Promise<Medium | undefined>;

  /** Tells a card how to work. What it has no notion of is a failure, in its own words. */
  setMedium(link: string, medium: Medium): Promise<void>;

  /** Gives the running machine another name. */
  rename(name: string): Promise<void>;

  /** Calls `changed` when links or addresses became others, by whatever hands. Returns how to stop. */
  watch(changed: () => void): () => void;
}

export interface LinkOrder {
  readonly changed: readonly string[];
  readonly again: readonly string[];
  /** What must be there afterwards. */
  readonly links: readonly LinkGoal[];
}

export interface LinkGoal {
  readonly name: string;
  /** Fixed addresses as `address/bits`, in the usual spelling. */
  readonly addresses: readonly string[];
  /** Those by way of a gateway that its fixed addresses reach. */
  readonly routes: readonly FixedRoute[];
}

export interface FixedRoute {
  /** As `address/bits`, in the usual spelling; no bits for everything else. */
  readonly destination: string;
  readonly gateway: string;
}

/** What a card agrees on with the other side by itself, or the one speed, in Mbit/s, and duplex that it is held to. */
export type Medium = 'auto' | { readonly speed: number; readonly duplex: 'full' | 'half' };

export interface NetworkState {
  readonly hostname: string;
  /** What the machine's own table of hosts says besides the lines that every machine has. */
  readonly hosts: string;
  /** The name servers that its own file names, without those on the machine itself. */
  readonly nameServers: readonly string[];
  /** Without the loopback. */
  readonly links: readonly Link[];
}

export interface Link {
  readonly name: string;
  /** What made it: `vlan`, `bond`, `bridge` …; empty for what was plugged in. */
  readonly kind: string;
  /** Whether it is switched on. */
  readonly up: boolean;
  /** Whether the other side is there; undefined when nobody can tell. */
  readonly carrier: boolean | undefined;
  readonly mtu: number;
  /** The aggregate or bridge that it belongs to. */
  readonly master: string | undefined;
  /** As `address/bits`, in the usual spelling, without those that hold on this link alone. */
  readonly addresses: readonly string[];
}
