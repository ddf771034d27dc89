import type { KnownAccounts } from '../host/ports/accounts.ts';
import type { BootEnvironment } from '../host/ports/boot-environments.ts';
import type { Disk } from '../host/ports/disks.ts';
import type { Membership } from '../host/ports/domain.ts';
import type { Host } from '../host/ports/index.ts';
import type { RunningJail } from '../host/ports/jails.ts';
import type { NetworkState } from '../host/ports/network.ts';
import type { PluginStatus } from '../host/ports/plugins.ts';
import type { ServiceState } from '../host/ports/services.ts';
import type { TargetService } from '../host/ports/targets.ts';
import type { Dataset, ImportablePool, Pool } from '../host/ports/zfs.ts';
import { SnapshotIndex } from './snapshot-index.ts';

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

export interface Storage {
  readonly pools: ReadonlyMap<string, Pool>;
  /** By full name, parents before children. */
  readonly datasets: ReadonlyMap<string, Dataset>;
  readonly snapshots: SnapshotIndex;
}

/** The part of the facts that one look at the host renews. */
export type Topic = Exclude<keyof Facts, 'host' | 'bootPool' | 'importable'>;

export const topics: readonly Topic[] = ['accounts', 'bootEnvironments', 'condition', 'disks', 'jails', 'membership', 'network', 'plugins', 'services', 'storage', 'targets'];

/** Of these, looks that take their time: package lists and plugins that do not answer. Nothing waits for them at the start. */
export const slowTopics: readonly Topic[] = ['condition', 'plugins'];
export const promptTopics: readonly Topic[] = topics.filter((topic) => !slowTopics.includes(topic));

/** How old a look may be, in milliseconds, before reading its facts starts another in the background. */
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
  readonly #lookedAt = new Map<Topic, number>();
  readonly #looking = new Map<Topic, Promise<void>>();

  constructor(host: Host, options: { serviceNames: readonly string[]; now: () => number; changed: (topic: Topic) => void }) {
    this.#host = host;
    this.#serviceNames = options.serviceNames;
    this.#now = options.now;
    this.#changed = options.changed;
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
      storage: { pools: new Map(), datasets: new Map(), snapshots: SnapshotIndex.empty },
      targets: { engine: undefined, serving: false, firstLun: 0 },
    });
  }

  get facts(): Facts {
    return this.#facts;
  }

  /** The facts, and a renewal of `topic` in the background when the last look is old. */
  glance(topic: Topic): Facts {
    if (this.#now() - (this.#lookedAt.get(topic) ?? 0) > freshFor[topic] && !this.#looking.has(topic)) {
      // A look that fails in the background leaves the old facts; the next change will meet the same fault and say so.
      this.renew(topic).catch(() => {});
    }
    return this.#facts;
  }

  /** Looks at the host now. Looks at one topic never overlap, so an older answer cannot replace a newer one. */
  async renew(...which: readonly Topic[]): Promise<void> {
    await Promise.all(
      which.map((topic) => {
        const earlier = this.#looking.get(topic) ?? Promise.resolve();
        const look = earlier.catch(() => {}).then(() => this.#look(topic));
        this.#looking.set(topic, look);
        const done = () => {
          if (this.#looking.get(topic) === look) this.#looking.delete(topic);
        };
        look.then(done, done);
        return look;
      }),
    );
  }

  async #look(topic: Topic): Promise<void> {
    // Old until the look has succeeded: after one that fails, the next reader starts another.
    this.#lookedAt.delete(topic);
    const part = await this.#gather(topic);
    this.#facts = Object.freeze({ ...this.#facts, ...part });
    this.#lookedAt.set(topic, this.#now());
    this.#changed(topic);
  }

  async #gather(topic: Topic): Promise<Partial<Facts>> {
    const { accounts, bootEnvironments, disks, domain, jails, machine, network, plugins, services, targets, zfs } = this.#host;
    switch (topic) {
      case 'accounts':
        return { accounts: await accounts.known() };
      case 'bootEnvironments':
        return { bootEnvironments: await bootEnvironments.list(), bootPool: await bootEnvironments.pool() };
      case 'condition': {
        const [failingDisks, clockOffset, updates] = await Promise.all([disks.failing(), machine.clockOffset(), machine.updates()]);
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
      case 'storage': {
        const [pools, datasets] = await Promise.all([zfs.pools(), zfs.datasets()]);
        const snapshots = await this.#facts.storage.snapshots.renewed(datasets, (names) => zfs.snapshots(names));
        return { storage: { pools: new Map(pools.map((pool) => [pool.name, pool])), datasets: new Map(datasets.map((one) => [one.name, one])), snapshots } };
      }
    }
  }
}
