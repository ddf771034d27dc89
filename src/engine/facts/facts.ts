import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { KnownAccounts } from '../../host/ports/accounts.ts';
import type { BootEnvironment } from '../../host/ports/boot-environments.ts';
import type { Disk, DiskHealth } from '../../host/ports/disks.ts';
import type { Membership } from '../../host/ports/domain.ts';
import type { Host } from '../../host/ports/index.ts';
import type { RunningJail } from '../../host/ports/jails.ts';
import type { MemorySize } from '../../host/ports/machine.ts';
import type { NetworkState } from '../../host/ports/network.ts';
import type { PluginStatus } from '../../host/ports/plugins.ts';
import type { ServiceState } from '../../host/ports/services.ts';
import type { TargetService } from '../../host/ports/targets.ts';
import type { ImportablePool, Pool, ZfsEvent, ZfsSubject } from '../../host/ports/zfs.ts';
import { PathLooks } from './path-facts.ts';
import { SharedLook } from './shared-look.ts';
import type { SnapshotPart } from './snapshot-index.ts';
import { noStorage, type Storage, StorageLooks, untilRest } from './storage-facts.ts';

/** The last known state of the host. Frozen; a newer look creates a new value. */
export interface Facts {
  readonly host: Host['kind'];
  readonly accounts: KnownAccounts;
  /** Undefined where the machine does not run from ZFS. */
  readonly bootEnvironments: readonly BootEnvironment[] | undefined;
  /** The pool of the boot environments; read together with them. */
  readonly bootPool: Pool | undefined;
  readonly condition: Condition;
  readonly disks: readonly Disk[];
  /** Pools that are not imported; read together with the disks. */
  readonly importable: readonly ImportablePool[];
  /** Running jails by name. */
  readonly jails: ReadonlyMap<string, RunningJail>;
  /** The membership in an Active Directory domain. */
  readonly membership: Membership | undefined;
  readonly network: NetworkState;
  /** By the id of the plugin. */
  readonly plugins: ReadonlyMap<number, PluginStatus>;
  /** By the name in the service manager. */
  readonly services: ReadonlyMap<string, ServiceState>;
  readonly storage: Storage;
  readonly targets: TargetService;
}

/** Facts that are slow to read and change rarely. */
export interface Condition {
  /** What the disks report by SMART, without those that sleep. */
  readonly health: readonly DiskHealth[];
  readonly memory: MemorySize;
  /** Offset from the time servers in seconds; undefined if none responds. */
  readonly clockOffset: number | undefined;
  /** Number of packages that an update would install. */
  readonly updates: number;
}

/** The part of the facts that one look at the host reads. */
export type Topic = Exclude<keyof Facts, 'host' | 'bootPool' | 'importable'>;

/** What a step changes: a whole topic, or one pool, dataset or path of the topic `storage`. */
export type Touched = Topic | ZfsSubject | TouchedPath;

/** A path on a volume that is made or removed. */
export interface TouchedPath {
  readonly path: string;
}

/** The same after a failure: whether what was to be destroyed is gone has to be looked at. */
export function inDoubt(touched: ReadonlySet<Touched>): ReadonlySet<Touched> {
  return new Set([...touched].map((one) => (isSubject(one) && 'dataset' in one ? { ...one, isGone: false } : one)));
}

export function topicOf(touched: Touched): Topic {
  return typeof touched === 'string' ? touched : 'storage';
}

const isPath = (touched: Touched): touched is TouchedPath => typeof touched !== 'string' && 'path' in touched;

const isSubject = (touched: Touched): touched is ZfsSubject => typeof touched !== 'string' && !('path' in touched);

export const topics: readonly Topic[] = [
  'accounts',
  'bootEnvironments',
  'condition',
  'disks',
  'jails',
  'membership',
  'network',
  'plugins',
  'services',
  'storage',
  'targets',
];

/**
 * Topics that are slow to read, such as package lists and plugins that do not respond. The start does not wait for
 * them.
 */
export const slowTopics: readonly Topic[] = ['condition', 'plugins'];
export const promptTopics: readonly Topic[] = topics.filter((topic) => !slowTopics.includes(topic));

/**
 * A look at all of storage, and one at recalled snapshots, rests for this many times its duration: ten thousand datasets
 * must not keep a machine busy.
 */
const restAfter = 20;

/** Milliseconds that the verification of recalled snapshots rests at most between two looks, however long one took. */
const longestVerificationRest = 60_000;

/**
 * Without readers, a look at all of storage rests for this many times its duration, up to these milliseconds: some changes
 * send no event, such as an unmount by hand.
 */
const restUnread = 200;
const longestUnread = 600_000;

/**
 * Without readers, a look at some pools and datasets rests for this many times its duration, up to these milliseconds: what
 * an idle machine does each minute must not be more than a small part of what it can do. An event is heeded at once.
 */
const restOfPart = 500;
const longestRestOfPart = 300_000;

/** The age of a look, in milliseconds, after which reading its facts starts another one in the background. */
const freshFor: Readonly<Record<Topic, number>> = {
  accounts: 60_000,
  bootEnvironments: 60_000,
  condition: 300_000,
  disks: 60_000,
  jails: 5_000,
  membership: 60_000,
  network: 5_000,
  plugins: 5_000,
  services: 5_000,
  storage: 5_000,
  targets: 5_000,
};

/**
 * Holds the facts. Reading them never waits: old facts are read again in the background, and an operation that changes
 * the host reads the facts that it touched before it responds.
 */
export class FactKeeper {
  #facts: Facts;
  readonly #host: Host;
  readonly #serviceNames: readonly string[];
  readonly #now: () => number;
  readonly #changed: (topic: Topic) => void;
  /** When the last successful look at each topic began and how long it took, in milliseconds. */
  readonly #looked = new Map<Topic, { readonly at: number; readonly took: number }>();
  /** When the last look at a part of the storage without readers began and how long it took, in milliseconds. */
  #part = { at: Number.NEGATIVE_INFINITY, took: 0 };
  /** When the last successful look at each topic began; unlike the above also while another one is made. */
  readonly #seen = new Map<Topic, number>();
  readonly #looks: ReadonlyMap<Topic, SharedLook<void>>;
  /** The topics that are read in the background once no change is being applied. */
  readonly #due = new Set<Topic>();
  readonly #atRest: () => Promise<void>;
  readonly #storage: StorageLooks;
  readonly #paths: PathLooks;
  /** The devices of pools when the disks were read, which say what uses them; undefined before both were read. */
  #disksUnder: string | undefined;

  constructor(
    host: Host,
    options: {
      serviceNames: readonly string[];
      /** The paths on volumes that records name. */
      paths: () => readonly string[];
      now: () => number;
      changed: (topic: Topic) => void;
      /** Resolves when no change is being applied. */
      atRest?: () => Promise<void>;
    },
  ) {
    this.#host = host;
    this.#serviceNames = options.serviceNames;
    this.#now = options.now;
    this.#changed = options.changed;
    this.#atRest = options.atRest ?? (async () => {});
    this.#looks = new Map(
      topics.map((topic) => [
        topic,
        new SharedLook<void>(
          () => this.#look(topic),
          () => {},
        ),
      ]),
    );
    this.#storage = new StorageLooks(host.zfs, {
      now: options.now,
      changed: () => this.#keep('storage', { storage: this.#storage.storage }),
      atRest: this.#atRest,
    });
    this.#paths = new PathLooks({
      files: host.files,
      named: options.paths,
      storage: () => this.#storage.storage,
      now: options.now,
      changed: () => this.#storage.keepMissing(this.#paths.missing),
    });
    this.#facts = Object.freeze({
      host: host.kind,
      accounts: { users: [], groups: [], shells: [] },
      bootEnvironments: undefined,
      bootPool: undefined,
      condition: { health: [], memory: { total: 0, available: 0 }, clockOffset: undefined, updates: 0 },
      disks: [],
      importable: [],
      jails: new Map(),
      membership: undefined,
      network: { hostname: '', domain: '', hosts: '', nameServers: [], links: [] },
      plugins: new Map(),
      services: new Map(),
      storage: noStorage,
      targets: { engine: undefined, serving: false, firstLun: 0 },
    });
  }

  get facts(): Facts {
    return this.#facts;
  }

  /** When the last successful look at each topic began, in milliseconds since 1970. A look at a part does not count. */
  get seen(): ReadonlyMap<Topic, number> {
    return this.#seen;
  }

  /** Returns the facts, and reads `topic` again in the background if its last look is old. */
  glance(topic: Topic): Facts {
    const { at, took } = this.#looked.get(topic) ?? { at: 0, took: 0 };
    const isStorage = topic === 'storage';
    const age = isStorage && this.#storage.isPartial ? 0 : freshFor[topic];
    const isOld = this.#now() - at > Math.max(age, isStorage ? took * restAfter : 0);
    if (isOld && !this.#due.has(topic) && !this.#looks.get(topic)?.isRunning) void this.#renewLater(topic);
    return this.#facts;
  }

  /**
   * Reads a topic in the background, once no change is being applied. A request that changes something reads the facts first,
   * and a look at a thousand datasets would take the processor from the programs of that change.
   */
  async #renewLater(topic: Topic): Promise<void> {
    this.#due.add(topic);
    // The change of a request is in the queue after this turn.
    await nextTurn();
    await untilRest(this.#atRest);
    this.#due.delete(topic);
    // If a look in the background fails, the old facts remain. The next change gets the same error and reports it.
    await this.renew(topic).catch(() => {});
  }

  /**
   * Reads everything in the storage in the background, or only these pools and datasets if that was read lately, and nothing
   * if these were too.
   */
  glanceAtStorage(subjects: readonly ZfsSubject[]): void {
    const now = this.#now();
    const { at, took } = this.#looked.get('storage') ?? { at: 0, took: 0 };
    if (now - at > Math.min(longestUnread, restUnread * took)) this.glance('storage');
    else if (now - this.#part.at > Math.min(longestRestOfPart, restOfPart * this.#part.took)) {
      const ended = () => {
        this.#part = { at: now, took: this.#now() - now };
      };
      // A look that is under way is not begun again.
      this.#part = { at: now, took: Number.POSITIVE_INFINITY };
      this.renew(...subjects).then(ended, ended);
    }
  }

  /** Before the first look at the storage: the snapshots that an earlier run knew. */
  recall(snapshots: readonly SnapshotPart[]): void {
    this.#storage.recall(snapshots);
  }

  /**
   * Lists what was recalled again, those of some datasets at a time, because a machine can have very many. It has not changed
   * as far as the stamps of the datasets say, but they do not say everything: a property of a snapshot, for example, may
   * have been set by hand. Resolves when all were listed, and rejects when `signal` ends it before.
   */
  async verifySnapshots(signal: AbortSignal): Promise<void> {
    for (let some = this.#storage.doubtRecalled(); some.length > 0; some = this.#storage.doubtRecalled()) {
      signal.throwIfAborted();
      await untilRest(this.#atRest);
      const begun = performance.now();
      // Those that could not be listed remain in doubt, so that the next look at them tries again.
      await this.renew(...some.map((dataset) => ({ dataset }))).catch(() => {});
      const rest = Math.min(longestVerificationRest, restAfter * (performance.now() - begun));
      await pause(rest, undefined, { ref: false, signal });
    }
  }

  /** Looks at these paths in the background. */
  glanceAt(paths: readonly string[]): void {
    this.#paths.soon(paths);
  }

  /** Reads these topics, pools and datasets from the host now. */
  async renew(...touched: readonly Touched[]): Promise<void> {
    const before = this.#storage.storage;
    const whole = new Set(touched.filter((one) => typeof one === 'string'));
    const subjects = whole.has('storage') ? [] : touched.filter(isSubject);
    await Promise.all([...whole].map((topic) => this.#looks.get(topic)?.ask()));
    if (subjects.length > 0) await this.#orOld(this.#storage.renew(subjects).then(() => this.#paths.follow()));
    const paths = touched.filter(isPath).map(({ path }) => path);
    if (paths.length > 0) await this.#paths.renew(paths);
    // What was read together fits together, also at the start.
    if (whole.has('disks') && before !== noStorage)
      this.#disksUnder = devicesOf(touched.length === 1 ? before : this.#storage.storage);
  }

  /** Reads what events of pools name, unless a look has seen it already. */
  async heed(events: readonly ZfsEvent[]): Promise<void> {
    await this.#orOld(this.#storage.heed(events).then(() => this.#paths.follow()));
    await this.#followDevices();
  }

  /** Reads the disks if a pool has got or lost one since. */
  async #followDevices(): Promise<void> {
    const devices = devicesOf(this.#storage.storage);
    this.#disksUnder ??= devices;
    if (devices !== this.#disksUnder) await this.renew('disks');
  }

  /** Reads the states of the services if one of these is known. */
  async heedServices(names: readonly string[]): Promise<void> {
    if (names.some((name) => this.#serviceNames.includes(name))) await this.renew('services');
  }

  /** After a partial look that failed, the next reader starts a look at everything. */
  async #orOld(look: Promise<void>): Promise<void> {
    try {
      await look;
    } catch (error) {
      this.#looked.delete('storage');
      throw error;
    }
  }

  async #look(topic: Topic): Promise<void> {
    // Marked as old until the look has succeeded: after a failure, the next reader starts another one.
    this.#looked.delete(topic);
    const at = this.#now();
    if (topic === 'storage') {
      await this.#storage.renewAll();
      await this.#paths.follow();
      // Not every change sends an event, and the event of another may come after this look.
      this.#followDevices().catch(() => {});
    } else this.#keep(topic, await this.#gather(topic));
    this.#looked.set(topic, { at, took: this.#now() - at });
    this.#seen.set(topic, at);
  }

  #keep(topic: Topic, part: Partial<Facts>): void {
    this.#facts = Object.freeze({ ...this.#facts, ...part });
    this.#changed(topic);
  }

  async #gather(topic: Exclude<Topic, 'storage'>): Promise<Partial<Facts>> {
    const { accounts, bootEnvironments, disks, domain, jails, machine, network, plugins, services, targets, zfs } =
      this.#host;
    switch (topic) {
      case 'accounts':
        return { accounts: await accounts.known() };
      case 'bootEnvironments':
        return { bootEnvironments: await bootEnvironments.list(), bootPool: await bootEnvironments.pool() };
      case 'condition': {
        const [health, memory, clockOffset, updates] = await Promise.all([
          disks.health(),
          machine.memory(),
          machine.clockOffset(),
          machine.updates(),
        ]);
        return { condition: Object.freeze({ health, memory, clockOffset, updates: updates.length }) };
      }
      case 'disks': {
        const [found, importable] = await Promise.all([disks.list(), zfs.importable()]);
        return { disks: found, importable };
      }
      case 'jails':
        return { jails: await jails.look() };
      case 'membership':
        return { membership: await domain.membership() };
      case 'network':
        return { network: await network.look() };
      case 'plugins':
        return { plugins: await plugins.look() };
      case 'services':
        return { services: await services.states(this.#serviceNames) };
      case 'targets':
        return { targets: await targets.look() };
    }
  }
}

/** The devices of all pools, as text for comparison. */
function devicesOf({ pools }: Storage): string {
  return JSON.stringify(
    [...pools.values()].map(({ guid, groups }) => [
      guid,
      groups.map(({ devices }) => devices.map((device) => device.guid)),
    ]),
  );
}
