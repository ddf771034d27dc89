import { isDeepStrictEqual } from 'node:util';
import { type Auth, type Extent, portalText, type Target, type TargetModel } from '../../ports/targets.ts';
import { isServed } from './objections.ts';

/** What tgtd shall be, or is, in its own terms. */
export interface Goal {
  readonly portals: ReadonlySet<string>;
  /** Secrets by user. */
  readonly accounts: ReadonlyMap<string, string>;
  /** Who may ask what targets there are; nobody named is everybody. */
  readonly discovery: Accounts;
  /** By number. A target is the same value as long as what it is made from is. */
  readonly targets: ReadonlyMap<number, GoalTarget>;
  readonly nameServer: NameServer | undefined;
}

export interface GoalTarget {
  readonly name: string;
  readonly devices: ReadonlyMap<number, GoalDevice>;
  readonly accounts: Accounts;
  /** Who may come in, each as tgtd is told it. */
  readonly admitted: ReadonlySet<string>;
}

export interface GoalDevice {
  /** What cannot be changed while it is there. */
  readonly fixed: string;
  readonly path: string;
  readonly size: number | undefined;
  readonly parameters: string;
  /** Those of its features that tgtd shows. */
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
  /** By which the target shows who it is. */
  readonly outgoing: string | undefined;
}

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

/**
 * Stands beside the accounts wherever somebody has to show who he is. Nobody knows its secret: while the others change,
 * and where there are none, the door is shut and not open to all.
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

const known = new WeakMap<Target, { readonly behind: readonly (Extent | undefined)[]; readonly goal: GoalTarget }>();

function goalTarget(target: Target, extents: ReadonlyMap<number, Extent>): GoalTarget {
  const behind = target.luns.map(({ extent }) => extents.get(extent));
  const before = known.get(target);
  if (before !== undefined && isDeepStrictEqual(before.behind, behind)) return before.goal;
  const [group] = target.groups;
  const goal: GoalTarget = {
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
  known.set(target, { behind, goal });
  return goal;
}

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
      // 1 says that nothing turns, 0 that it is not told.
      `rotation_rate=${rotation === 0 ? 1 : (rotation ?? 0)}`,
      // As powers of two of the logical ones; what ZFS writes at once has at least 4 KiB.
      `lbppbe=${physicalBlocks ? Math.log2(4096 / blockSize) : 0}`,
      // Blocks that initiators give up are given back to the pool.
      `thin_provisioning=${kind === 'disk' ? 0 : 1}`,
    ].join(),
    shown: { path, blockSize, id: naa, serial, readOnly },
  };
}

function accountsOf(auth: Auth | undefined): Accounts {
  if (auth === undefined) return open;
  const peer = auth.mutual ? auth.credentials.find((one) => one.peer !== undefined)?.peer : undefined;
  return { incoming: new Set([lock, ...auth.credentials.map(({ user }) => user)]), outgoing: peer?.user };
}

/** An address, with a port or without. */
export function serverFrom(text: string): NameServer {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^[\]:]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: port === undefined ? 3205 : Number(port) };
}
