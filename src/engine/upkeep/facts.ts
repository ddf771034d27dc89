import type { KnownAccounts } from '../../host/ports/accounts.ts';
import type { BootEnvironment } from '../../host/ports/boot-environments.ts';
import type { Disk } from '../../host/ports/disks.ts';
import type { Membership } from '../../host/ports/domain.ts';
import type { Host } from '../../host/ports/index.ts';
import type { RunningJail } from '../../host/ports/jails.ts';
import type { NetworkState } from '../../host/ports/network.ts';
import type { PluginStatus } from '../../host/ports/plugins.ts';
import type { ServiceState } from '../../host/ports/services.ts';
import type { TargetService } from '../../host/ports/targets.ts';
import type { ImportablePool, Pool, ZfsEvent, ZfsSubject } from '../../host/ports/zfs.ts';
import { SharedLook } from './shared-look.ts';
import { noStorage, type Storage, StorageLooks } from './storage-facts.ts';

/** What the host was last seen to be. Frozen; a newer look is a new value. */
export interface Facts {
  readonly host: Host['kind'];
  readonly accounts: KnownAccounts;
  /** Undefined where the machine does not run from ZFS. */
  readonly bootEnvironments: readonly BootEnvironment[] | undefined;
  /** The pool that these lie on; looked at with them. */
  readonly bootPool: Pool | undefined;
  readonly condition: Condition;
  readonly disks: readonly Disk[];
  /** Pools on disks that nobody has taken up; looked at with the disks. */
  readonly importable: readonly ImportablePool[];
  /** Those that run, by name. */
  readonly jails: ReadonlyMap<string, RunningJail>;
  /** In an Active Directory domain. */
  readonly membership: Membership | undefined;
  readonly network: NetworkState;
  /** By the plugin's number. */
  readonly plugins: ReadonlyMap<number, PluginStatus>;
  /** By the service manager's name. */
  readonly services: ReadonlyMap<string, ServiceState>;
  readonly storage: Storage;
  readonly targets: TargetService;
}

/** What is slow to look at, and changes slowly. */
export interface Condition {
  /** Names of the disks that tell of themselves that they fail. */
  readonly failingDisks: readonly string[];
  /** Seconds, by the time servers; undefined while none is heard of. */
  readonly clockOffset: number | undefined;
  /** Packages that an update would install. */
  readonly updates: number;
}

/** The part of the facts that one look at the host renews. */
export type Topic = Exclude<keyof Facts, 'host' | 'bootPool' | 'importable'>;

/** What a step changes: a whole topic, or one pool or dataset of the topic `storage`. */
export type Touched = Topic | ZfsSubject;

export function topicOf(touched: Touched): Topic {
  return typeof touched === 'string' ? touched : 'storage';
}

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

/** Of these, looks that take their time: package lists and plugins that do not answer. Nothing waits for them at the start. */
export const slowTopics: readonly Topic[] = ['condition', 'plugins'];
export const promptTopics: readonly Topic[] = topics.filter((topic) => !slowTopics.includes(topic));

/**
 * How old a look may be, in milliseconds, before reading its facts starts another in the background; where a look takes
 * long it may be `restAfter` times as old as it took. A machine of ten thousand datasets is not busy with looks alone.
 */
const restAfter = 20;

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
 * Keeps the facts. Reading them costs nothing and waits for nothing: a stale topic is renewed behind the reader's
 * back, and whoever changed the host renews what it touched before answering.
 */
export class FactKeeper {
  #facts: Facts;
  readonly #host: Host;
  readonly #serviceNames: readonly string[];
  readonly #now: () => number;
  readonly #changed: (topic: Topic) => void;
  /** When the last look at each topic that succeeded began and how long it took, in milliseconds. */
  readonly #looked = new Map<Topic, { readonly at: number; readonly took: number }>();
  readonly #looks: ReadonlyMap<Topic, SharedLook<void>>;
  readonly #storage: StorageLooks;
  /** Whether parts of storage were looked at since everything was: other datasets of the pool share its free space. */
  #hasPartialStorage = false;

  constructor(
    host: Host,
    options: { serviceNames: readonly string[]; now: () => number; changed: (topic: Topic) => void },
  ) {
    this.#host = host;
    this.#serviceNames = options.serviceNames;
    this.#now = options.now;
    this.#changed = options.changed;
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
    });
    this.#facts = Object.freeze({
      host: host.kind,
      accounts: { users: [], groups: [], shells: [] },
      bootEnvironments: undefined,
      bootPool: undefined,
      condition: { failingDisks: [], clockOffset: undefined, updates: 0 },
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

  /** The facts, and a renewal of `topic` in the background when the last look is old. */
  glance(topic: Topic): Facts {
    const { at, took } = this.#looked.get(topic) ?? { at: 0, took: 0 };
    const isPartial = topic === 'storage' && this.#hasPartialStorage;
    const isOld = this.#now() - at > Math.max(isPartial ? 0 : freshFor[topic], took * restAfter);
    // A look that fails in the background leaves the old facts; the next change will meet the same fault and say so.
    if (isOld && !this.#looks.get(topic)?.isRunning) this.renew(topic).catch(() => {});
    return this.#facts;
  }

  /** Looks at the host now: at these topics as a whole, at these pools and datasets alone. */
  async renew(...touched: readonly Touched[]): Promise<void> {
    const whole = new Set(touched.filter((one) => typeof one === 'string'));
    const subjects = whole.has('storage') ? [] : touched.filter((one) => typeof one !== 'string');
    await Promise.all([...whole].map((topic) => this.#looks.get(topic)?.ask()));
    if (subjects.length > 0) await this.#orOld(this.#storage.renew(subjects));
  }

  /** Looks at what became different in pools, unless it was seen already. */
  heed(events: readonly ZfsEvent[]): Promise<void> {
    return this.#orOld(this.#storage.heed(events));
  }

  /** After a look at parts the next reader starts one at everything, at once if that of the parts failed. */
  async #orOld(look: Promise<void>): Promise<void> {
    try {
      await look;
      this.#hasPartialStorage = true;
    } catch (error) {
      this.#looked.delete('storage');
      throw error;
    }
  }

  async #look(topic: Topic): Promise<void> {
    // Old until the look has succeeded: after one that fails, the next reader starts another.
    this.#looked.delete(topic);
    const at = this.#now();
    if (topic === 'storage') {
      this.#hasPartialStorage = false;
      await this.#storage.renewAll();
    } else this.#keep(topic, await this.#gather(topic));
    this.#looked.set(topic, { at, took: this.#now() - at });
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
        const [failingDisks, clockOffset, updates] = await Promise.all([
          disks.failing(),
          machine.clockOffset(),
          machine.updates(),
        ]);
        return { condition: { failingDisks, clockOffset, updates: updates.length } };
      }
      case 'disks':
        return { disks: await disks.list(), importable: await zfs.importable() };
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
