/** The iSCSI targets of the machine, served by the target engine that is installed. */
export interface Targets {
  look(): Promise<TargetService>;

  /** The parts of the model that the engine does not support, as sentences; empty when it supports all. */
  objections(model: TargetModel): Promise<readonly string[]>;

  /** The changes that `apply` would make, as sentences, by the actual state of the machine. */
  differences(model: TargetModel): Promise<readonly string[]>;

  /**
   * Makes the machine match the model. Changes only what differs, so that other sessions are not interrupted. `known`
   * is the current state if the caller knows it; otherwise it is read from the machine.
   */
  apply(model: TargetModel, known?: TargetModel): Promise<void>;

  /** The initiators that are connected to a target now. */
  sessions(target: string): Promise<readonly Session[]>;
}

/** `lio` runs in the kernel, `tgt` in user space; `virtual` models both. */
export type TargetEngine = 'lio' | 'tgt' | 'virtual';

export interface TargetService {
  /** Undefined when the machine has none. */
  readonly engine: TargetEngine | undefined;
  /** Whether it accepts connections of initiators, also while it has no targets. */
  readonly serving: boolean;
  /** The lowest number that a LUN may have. */
  readonly firstLun: number;
}

export interface Session {
  /** Name of the initiator. */
  readonly initiator: string;
}

/** Everything that initiators can observe. Frozen; unchanged parts of two models may be identical objects. */
export interface TargetModel {
  /** Whether anything is served. */
  readonly serving: boolean;
  readonly extents: readonly Extent[];
  readonly targets: readonly Target[];
  /** The discovery settings of each portal group in use. */
  readonly discovery: readonly Discovery[];
  /** Addresses of iSNS servers. */
  readonly nameServers: readonly string[];
}

/** The storage of a LUN. */
export interface Extent {
  /** Never changes and is never reused. */
  readonly id: number;
  readonly backing: { readonly kind: 'file' | 'zvol' | 'disk'; readonly path: string };
  /** Bytes that are served: of a file, undefined for its whole size; of a zvol, its size. Undefined for a disk. */
  readonly size: number | undefined;
  readonly blockSize: number;
  readonly readOnly: boolean;
  readonly serial: string;
  /** The NAA identifier: 16 bytes in hexadecimal digits. */
  readonly naa: string;
  /** Rotation rate in rpm; 0 for solid state, undefined when it is not reported. */
  readonly rotation: number | undefined;
  /** Whether the physical block size is reported to initiators. */
  readonly physicalBlocks: boolean;
  /** Whether initiators may use third-party copy (EXTENDED COPY). */
  readonly thirdPartyCopy: boolean;
}

export interface Target {
  /** Never changes and is never reused. */
  readonly id: number;
  /** The full iSCSI name. */
  readonly name: string;
  readonly alias: string;
  readonly luns: readonly Lun[];
  /** Portals and access rules. Without a group, no initiator can connect. */
  readonly groups: readonly TargetGroup[];
}

export interface Lun {
  readonly number: number;
  /** Id of the extent. */
  readonly extent: number;
}

export interface TargetGroup {
  /** The portal group tag, from 1 to 65535. Never changes for a group. */
  readonly tag: number;
  readonly portals: readonly Portal[];
  /** Names of the initiators that may connect; undefined for all. */
  readonly initiators: readonly string[] | undefined;
  /** Addresses and networks that may connect; undefined for all. */
  readonly networks: readonly string[] | undefined;
  /** Undefined when no authentication is required. */
  readonly auth: Auth | undefined;
}

export interface Portal {
  readonly address: string;
  readonly port: number;
}

export interface Auth {
  /** Any of them is accepted. */
  readonly credentials: readonly Credential[];
  /** Whether the target must also authenticate itself to the initiator. */
  readonly mutual: boolean;
}

export interface Credential {
  readonly user: string;
  readonly secret: string;
  /** The credential by which the target authenticates itself. */
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
