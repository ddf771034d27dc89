import { cache } from '../../../lib/memo.ts';
import { type Auth, type Extent, portalText, type Target, type TargetModel } from '../../ports/targets.ts';
import { isServed } from './objections.ts';

/** The desired or present state of tgtd, in its own terms. */
export interface Goal {
  readonly portals: ReadonlySet<string>;
  /** Secrets by user. */
  readonly accounts: ReadonlyMap<string, string>;
  /** The users that may discover targets; an empty set admits everybody. */
  readonly discovery: Accounts;
  /** By number. As long as its inputs are the same values, so is a target. */
  readonly targets: ReadonlyMap<number, GoalTarget>;
  readonly nameServer: NameServer | undefined;
}

export interface GoalTarget {
  readonly name: string;
  readonly devices: ReadonlyMap<number, GoalDevice>;
  readonly accounts: Accounts;
  /** The initiators that may log in, each as an argument for tgtd. */
  readonly admitted: ReadonlySet<string>;
}

export interface GoalDevice {
  /** The parameters that cannot change while the device exists. */
  readonly fixed: string;
  readonly path: string;
  readonly size: number | undefined;
  readonly parameters: string;
  /** The features that tgtd shows. */
  readonly shown: Shown;
}

export interface Shown {
  readonly path: string;
  readonly blockSize: number;
  readonly id: string;
  readonly serial: string;
  readonly readOnly: boolean;
}

export interface Accounts {
  readonly incoming: ReadonlySet<string>;
  /** The account by which the target authenticates itself. */
  readonly outgoing: string | undefined;
}

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

/**
 * An account with a random secret, bound beside the others wherever authentication is required. tgtd requires none
 * where no account is bound: with this one, the target stays closed while the others change and when there are none.
 */
export const lock = 'holdfast lock';

const open: Accounts = { incoming: new Set(), outgoing: undefined };

export const nothing: Goal = {
  portals: new Set(),
  accounts: new Map(),
  discovery: open,
  targets: new Map(),
  nameServer: undefined,
};

export function goalOf(model: TargetModel, lockSecret: string): Goal {
  if (!model.serving) return nothing;
  const extents = new Map(model.extents.map((extent) => [extent.id, extent]));
  const served = model.targets.filter((target) => isServed(target));
  const discovery = model.discovery.find(({ auth }) => auth !== undefined)?.auth;
  const auths = [discovery, ...served.flatMap(({ groups }) => groups.map(({ auth }) => auth))].filter(
    (auth) => auth !== undefined,
  );
  const credentials = auths.flatMap((auth) => auth.credentials);
  const peers = credentials.flatMap(({ peer }) => peer ?? []);
  const [nameServer] = model.nameServers;
  return {
    portals: new Set(served.flatMap(({ groups }) => groups.flatMap(({ portals }) => portals.map(portalText)))),
    accounts: new Map([
      ...(auths.length > 0 ? [[lock, lockSecret] as const] : []),
      ...[...credentials, ...peers].map(({ user, secret }) => [user, secret] as const),
    ]),
    discovery: accountsOf(discovery),
    targets: new Map(served.map((target) => [target.id, goalTarget(target, extents)])),
    nameServer: nameServer === undefined ? undefined : serverFrom(nameServer),
  };
}

function goalTarget(target: Target, extents: ReadonlyMap<number, Extent>): GoalTarget {
  const behind = target.luns.map(({ extent }) => extents.get(extent));
  return goalOfTarget(target, behind, behind);
}

const goalOfTarget = cache((target: Target, behind: readonly (Extent | undefined)[]): GoalTarget => {
  const [group] = target.groups;
  return {
    name: target.name,
    devices: new Map(
      target.luns.flatMap(({ number }, index) =>
        behind[index] === undefined ? [] : [[number, deviceOf(behind[index])] as const],
      ),
    ),
    accounts: accountsOf(group?.auth),
    admitted: new Set(
      group === undefined
        ? []
        : (group.initiators?.map((name) => `initiator-name=${name}`) ??
            group.networks?.map((network) => `initiator-address=${network}`) ?? ['initiator-address=ALL']),
    ),
  };
});

function deviceOf({
  backing: { kind, path },
  size,
  blockSize,
  readOnly,
  serial,
  naa,
  rotation,
  physicalBlocks,
}: Extent): GoalDevice {
  return {
    fixed: `path=${path},bstype=rdwr,blocksize=${blockSize}`,
    path,
    size,
    parameters: [
      'vendor_id=FreeNAS',
      'product_id=iSCSI Disk',
      `scsi_id=${naa}`,
      `scsi_sn=${serial}`,
      `readonly=${readOnly ? 1 : 0}`,
      // 1 reports a medium that does not rotate, 0 reports no rate.
      `rotation_rate=${rotation === 0 ? 1 : (rotation ?? 0)}`,
      // The physical block size as a power of two of logical blocks; ZFS writes at least 4 KiB at once.
      `lbppbe=${physicalBlocks ? Math.log2(4096 / blockSize) : 0}`,
      // Blocks that initiators unmap are freed in the pool.
      `thin_provisioning=${kind === 'disk' ? 0 : 1}`,
    ].join(),
    shown: { path, blockSize, id: naa, serial, readOnly },
  };
}

function accountsOf(auth: Auth | undefined): Accounts {
  if (auth === undefined) return open;
  const peer = auth.mutual ? auth.credentials.find(({ peer }) => peer !== undefined)?.peer : undefined;
  return { incoming: new Set([lock, ...auth.credentials.map(({ user }) => user)]), outgoing: peer?.user };
}

/** An address, with a port or without. */
export function serverFrom(text: string): NameServer {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^[\]:]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: port === undefined ? 3205 : Number(port) };
}
