import { createHash } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { changesBetween } from '../../lib/groups.ts';
import { HostError } from '../ports/index.ts';
import {
  type Auth,
  type Credential,
  type Discovery,
  type Extent,
  type Lun,
  type Portal,
  portalText,
  type Session,
  type Target,
  type TargetGroup,
  type TargetModel,
  type TargetService,
  type Targets,
} from '../ports/targets.ts';
import { type Guard, isFlag, isNumber, isText, listOf, Memory, oneOf, optional, Shelf, shapeOf } from './state.ts';

/** An initiator that discovers targets or connects to one. */
export interface Initiator {
  readonly name: string;
  readonly address: string;
  /** The portal that it connects to. */
  readonly portal: Portal;
  readonly credential?: { readonly user: string; readonly secret: string };
}

const isPortal = shapeOf<Portal>({ address: isText, port: isNumber });
const isPeer = shapeOf<NonNullable<Credential['peer']>>({ user: isText, secret: isText });
const isAuth = shapeOf<Auth>({
  credentials: listOf(shapeOf<Credential>({ user: isText, secret: isText, peer: optional(isPeer) })),
  mutual: isFlag,
});
const isExtent = shapeOf<Extent>({
  id: isNumber,
  backing: shapeOf<Extent['backing']>({ kind: oneOf(['file', 'zvol', 'disk']), path: isText }),
  size: optional(isNumber),
  blockSize: isNumber,
  readOnly: isFlag,
  serial: isText,
  naa: isText,
  rotation: optional(isNumber),
  physicalBlocks: isFlag,
  thirdPartyCopy: isFlag,
});
const isGroup = shapeOf<TargetGroup>({
  tag: isNumber,
  portals: listOf(isPortal),
  initiators: optional(listOf(isText)),
  networks: optional(listOf(isText)),
  auth: optional(isAuth),
});
const isTarget = shapeOf<Target>({
  id: isNumber,
  name: isText,
  alias: isText,
  luns: listOf(shapeOf<Lun>({ number: isNumber, extent: isNumber })),
  groups: listOf(isGroup),
});
/** The parts of the model that are stored as a whole. */
type Rest = Omit<TargetModel, 'extents' | 'targets'>;

const isRest: Guard<Rest> = shapeOf<Rest>({
  serving: isFlag,
  discovery: listOf(shapeOf<Discovery>({ portals: listOf(isPortal), auth: optional(isAuth) })),
  nameServers: listOf(isText),
});

const nothing: Rest = Object.freeze({ serving: false, discovery: [], nameServers: [] });

/** Computes what initiators would observe. Supports everything that a model can describe. */
export class VirtualTargets implements Targets {
  readonly #rest: Memory<Rest>;
  readonly #extents: Shelf<Extent>;
  readonly #targets: Shelf<Target>;
  readonly #exists: (backing: Extent['backing']) => boolean;
  readonly #sessions = new Map<string, Set<string>>();

  constructor(folder: string, options: { exists: (backing: Extent['backing']) => boolean }) {
    this.#rest = new Memory(join(folder, 'targets.json'), isRest, nothing);
    this.#extents = new Shelf(join(folder, 'target-extents'), isExtent);
    this.#targets = new Shelf(join(folder, 'targets'), isTarget);
    this.#exists = options.exists;
  }

  async look(): Promise<TargetService> {
    return { engine: 'virtual', serving: this.#rest.value.serving, firstLun: 0 };
  }

  async objections(): Promise<readonly string[]> {
    return [];
  }

  async differences(model: TargetModel): Promise<readonly string[]> {
    // The stored model has no undefined members, so they are removed before comparing.
    const kept: unknown = JSON.parse(JSON.stringify(model));
    return isDeepStrictEqual(kept, JSON.parse(JSON.stringify(this.model))) ? [] : ['bring the iSCSI targets into line'];
  }

  async apply(model: TargetModel, known?: TargetModel): Promise<void> {
    for (const { backing } of changesBetween(known?.extents ?? [], model.extents).come)
      if (!this.#exists(backing)) throw new HostError(`${backing.path}: No such file or directory`);
    const { extents, targets, ...rest } = model;
    this.#extents.keep(extents);
    this.#targets.keep(targets);
    if (!isDeepStrictEqual(rest, this.#rest.value)) this.#rest.keep(rest);
    for (const [target, initiators] of this.#sessions)
      if (!targets.some(({ name }) => name === target)) initiators.clear();
  }

  async sessions(target: string): Promise<readonly Session[]> {
    return [...(this.#sessions.get(target) ?? [])].map((initiator) => ({ initiator }));
  }

  /** The model that is served now. For tests. */
  get model(): TargetModel {
    return { ...this.#rest.value, extents: this.#extents.values, targets: this.#targets.values };
  }

  /** How many sessions of initiators there are, by the port of the first portal of their target. */
  get sessionsByPort(): ReadonlyMap<number, number> {
    const found = new Map<number, number>();
    for (const [name, { size }] of this.#sessions) {
      if (size === 0) continue;
      const target = this.model.targets.find((one) => one.name === name);
      const port = target?.groups[0]?.portals[0]?.port ?? 3260;
      found.set(port, (found.get(port) ?? 0) + size);
    }
    return found;
  }

  /** The paths of all files and devices that are served. */
  get inUse(): ReadonlySet<string> {
    return new Set(this.#extents.values.map(({ backing }) => backing.path));
  }

  /** Names of the targets that discovery reports to an initiator: those that admit it. */
  discovered(by: Initiator): readonly string[] {
    const { discovery, targets } = this.model;
    const here = discovery.find(({ portals }) => portals.some((portal) => answers(portal, by.portal)));
    if (here === undefined || !opens(here.auth, by)) return [];
    return targets.filter(({ groups }) => groups.some((group) => admits(group, by))).map(({ name }) => name);
  }

  /** The LUNs that an initiator finds at a target, with their extents; undefined when the target rejects it. */
  luns(target: string, by: Initiator): readonly { readonly number: number; readonly extent: Extent }[] | undefined {
    const { extents, targets } = this.model;
    const found = targets.find(({ name }) => name === target);
    if (!found?.groups.some((group) => admits(group, by) && opens(group.auth, by))) return undefined;
    return found.luns.flatMap(({ number, extent: id }) =>
      extents.filter((extent) => extent.id === id).map((extent) => ({ number, extent })),
    );
  }

  /** Begins a session, which lasts until the target is removed. */
  connect(target: string, by: Initiator): void {
    if (this.luns(target, by) === undefined) throw new HostError(`${target} rejects the initiator ${by.name}`);
    this.#sessions.set(target, (this.#sessions.get(target) ?? new Set()).add(by.name));
  }

  disconnect(target: string, { name }: Initiator): void {
    this.#sessions.get(target)?.delete(name);
  }
}

/** A digest of the model, for comparing machines without revealing secrets. */
export function digestOf(model: TargetModel): string {
  return createHash('sha256').update(JSON.stringify(model)).digest('hex');
}

function admits({ portals, initiators, networks }: TargetGroup, by: Initiator): boolean {
  return (
    portals.some((portal) => answers(portal, by.portal)) &&
    (initiators?.includes(by.name.toLowerCase()) ?? true) &&
    (networks === undefined || isIn(by.address, networks))
  );
}

function answers(portal: Portal, asked: Portal): boolean {
  const everywhere = portal.address === '0.0.0.0' ? !isIPv6(asked.address) : portal.address === '::';
  return portal.port === asked.port && (everywhere || portalText(portal) === portalText(asked));
}

function opens(auth: Auth | undefined, { credential }: Initiator): boolean {
  return (
    auth === undefined ||
    auth.credentials.some(({ user, secret }) => user === credential?.user && secret === credential.secret)
  );
}

function isIn(address: string, networks: readonly string[]): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [start = '', prefix] = network.split('/');
    const family = isIP(start) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(start, family);
    else list.addSubnet(start, Number(prefix), family);
  }
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
