/** The iSCSI targets that the machine offers, by whichever engine it has for that. */
export interface Targets {
  look(): Promise<TargetService>;

  /** What the engine cannot do of the model, in words; nothing when it can do all of it. */
  objections(model: TargetModel): Promise<readonly string[]>;

  /** What `apply` would do to make the machine true to the model, as sentences. The machine itself is asked. */
  differences(model: TargetModel): Promise<readonly string[]>;

  /**
   * Makes the machine true to the model, touching only what is different: sessions with everything else go on. `known`
   * is what the machine is known to be; without it the machine is asked.
   */
  apply(model: TargetModel, known?: TargetModel): Promise<void>;

  /** Who is connected to a target now. */
  sessions(target: string): Promise<readonly Session[]>;
}

/** `lio` is in the kernel, `tgt` in user space; `virtual` is a model of what any of them could do. */
export type TargetEngine = 'lio' | 'tgt' | 'virtual';

export interface TargetService {
  /** Undefined when the machine has none. */
  readonly engine: TargetEngine | undefined;
  /** Whether it is there for initiators, also while no target is. */
  readonly serving: boolean;
  /** The lowest number that a LUN may have. */
  readonly firstLun: number;
}

export interface Session {
  /** Name of the initiator. */
  readonly initiator: string;
}

/** All that initiators can find out. Frozen; equal parts of two models may be the same values. */
export interface TargetModel {
  /** Without it, nothing is offered. */
  readonly serving: boolean;
  readonly extents: readonly Extent[];
  readonly targets: readonly Target[];
  /** How discovery begins at each portal group in use. */
  readonly discovery: readonly Discovery[];
  /** Addresses of iSNS servers. */
  readonly nameServers: readonly string[];
}

/** What lies behind a LUN. */
export interface Extent {
  /** Never changes, and no other extent has had it. */
  readonly id: number;
  readonly backing: { readonly kind: 'file' | 'zvol' | 'disk'; readonly path: string };
  /** Bytes that are offered of a file, undefined for all it has; those that a zvol has. Unknown of a disk. */
  readonly size: number | undefined;
  readonly blockSize: number;
  readonly readOnly: boolean;
  readonly serial: string;
  /** Sixteen bytes in hexadecimal digits. */
  readonly naa: string;
  /** Turns a minute, 0 for a disk that does not turn, undefined when that is not told. */
  readonly rotation: number | undefined;
  /** Whether initiators learn of the physical blocks. */
  readonly physicalBlocks: boolean;
  /** Whether initiators may let it copy by itself. */
  readonly thirdPartyCopy: boolean;
}

export interface Target {
  /** Never changes, and no other target has had it. */
  readonly id: number;
  /** As on the wire. */
  readonly name: string;
  readonly alias: string;
  readonly luns: readonly Lun[];
  /** The ways in. Without any, nobody gets there. */
  readonly groups: readonly TargetGroup[];
}

export interface Lun {
  readonly number: number;
  /** Id of the extent. */
  readonly extent: number;
}

export interface TargetGroup {
  /** From 1 to 65535; never changes for this way in. */
  readonly tag: number;
  readonly portals: readonly Portal[];
  /** Names that may come in; undefined for everybody. */
  readonly initiators: readonly string[] | undefined;
  /** Addresses and networks that may come in; undefined for all. */
  readonly networks: readonly string[] | undefined;
  /** Undefined when nobody has to say who they are. */
  readonly auth: Auth | undefined;
}

export interface Portal {
  readonly address: string;
  readonly port: number;
}

export interface Auth {
  /** Any of them opens. */
  readonly credentials: readonly Credential[];
  /** Whether the target, too, has to say who it is. */
  readonly mutual: boolean;
}

export interface Credential {
  readonly user: string;
  readonly secret: string;
  /** By what the target shows who it is. */
  readonly peer: { readonly user: string; readonly secret: string } | undefined;
}

export interface Discovery {
  readonly portals: readonly Portal[];
  readonly auth: Auth | undefined;
}

/** `10.0.0.1:3260`, `[::]:3260`. */
export function portalText({ address, port }: Portal): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}
