import { hash, randomBytes } from 'node:crypto';
import { normalPath } from '../../lib/path.ts';
import { HostError } from '../ports/index.ts';
import type { Replica } from '../ports/replication.ts';
import type {
  Dataset,
  DatasetScope,
  DatasetSettings,
  DiskGroup,
  GroupKind,
  Health,
  ImportablePool,
  Pool,
  PoolDevice,
  PoolGroup,
  PoolSpec,
  Scan,
  Snapshot,
  Zfs,
} from '../ports/zfs.ts';
import type { VirtualDisk } from './disks.ts';
import type { Mounts, MountTable } from './mounts.ts';
import { Memory } from './state.ts';
import { bytes, inForce, settingsAfterChange, settingsAtCreation, type Values } from './zfs-properties.ts';
import {
  type DatasetRecord,
  type DeviceRecord,
  type DiskCondition,
  type EncryptionRecord,
  type GroupRecord,
  isZfsRecord,
  type PoolRecord,
  type SnapshotRecord,
  type ZfsRecord,
} from './zfs-record.ts';
import {
  account,
  type Capacity,
  capacityOf,
  emptyFilesystem,
  emptyVolume,
  parentOf,
  parityOf,
  type Shape,
  smallestDevice,
  volumeReservation,
} from './zfs-space.ts';

const noErrors = Object.freeze({ read: 0, write: 0, checksum: 0 });
const GiB = 1024 ** 3;

/** Duration of a scrub in milliseconds: a minimum, plus a time for each GiB that it reads. */
const scrubTime = { least: 2000, perGiB: 500 };

/** The state of a pool that follows from its record. Computed once for each record. */
interface PoolView {
  readonly capacity: Capacity;
  readonly allocated: number;
  readonly datasets: readonly Dataset[];
  readonly mounts: MountTable;
  readonly overfull: string | undefined;
}

export class VirtualZfs implements Zfs {
  readonly #memory: Memory<ZfsRecord>;
  readonly #mounts: Mounts;
  readonly #disks: readonly VirtualDisk[];
  readonly #now: () => number;
  readonly #views = new WeakMap<PoolRecord, PoolView>();

  /** Paths of the devices that iSCSI targets serve. */
  readonly #busyDevices: () => ReadonlySet<string>;

  constructor(
    path: string,
    options: {
      mounts: Mounts;
      disks: readonly VirtualDisk[];
      now: () => number;
      busyDevices?: () => ReadonlySet<string>;
    },
  ) {
    this.#memory = new Memory(path, isZfsRecord, Object.freeze({ pools: [] }));
    this.#mounts = options.mounts;
    this.#disks = options.disks;
    this.#now = options.now;
    this.#busyDevices = options.busyDevices ?? (() => new Set());
    this.#mounts.repair(
      this.#mountTable(this.#memory.value),
      guidsOf(this.#memory.value),
      snapshotGuidsOf(this.#memory.value),
    );
  }

  /** Why a disk cannot be used, as a sentence. */
  usedBy(disk: string): string | undefined {
    const pool = this.#memory.value.pools.find((candidate) =>
      devicesOf(candidate).some((device) => device.disk === disk),
    );
    if (pool === undefined) return undefined;
    return `it is part of the ${pool.exported ? 'exported ' : ''}pool ${pool.name}`;
  }

  /** Whether a zvol, or a snapshot of one, has its device at this path. */
  hasDevice(path: string): boolean {
    const [name = '', snapshot] = path.replace(/^\/dev\/zvol\//, '').split('@');
    const dataset = this.#imported()
      .flatMap(({ datasets }) => datasets)
      .find((candidate) => candidate.name === name);
    return (
      dataset?.kind === 'volume' && (snapshot === undefined || snapshotNames(dataset).includes(`${name}@${snapshot}`))
    );
  }

  /** Whether a dataset is mounted at this path. */
  isMounted(path: string): boolean {
    return this.#imported().some((pool) => [...this.#view(pool).mounts.values()].includes(path));
  }

  /** Refuses when a target serves a device of the pool. */
  #mustBeIdle({ datasets }: { readonly datasets: readonly { readonly name: string }[] }, refusal: string): void {
    const busy = this.#busyDevices();
    if (datasets.some(({ name }) => busy.has(deviceOf(name)))) throw new HostError(refusal);
  }

  async pools(names?: readonly string[]): Promise<readonly Pool[]> {
    const pools = this.#imported().filter(({ name }) => names?.includes(name) ?? true);
    return pools.map((pool) => this.#poolOf(pool));
  }

  async createPool(spec: PoolSpec): Promise<void> {
    const { name } = spec;
    mustBePoolName(name);
    if (this.#imported().some((pool) => pool.name === name))
      throw new HostError(`cannot create '${name}': pool already exists`);
    const groups = this.#newGroups(name, spec.groups, []);
    if (!groups.some(holdsData))
      throw new HostError('invalid vdev specification: at least one toplevel vdev must be specified');
    const settings = spec.settings ?? {};
    const root = datasetRecord(name, 'filesystem', settingsAtCreation(name, 'filesystem', settings.properties ?? {}), {
      mountpoint: spec.mountpoint,
      ...settings,
    });
    const { key, slots } = spec.encryption ?? {};
    const encryption = key === undefined ? undefined : Object.freeze({ digest: digestOf(key), locked: false });
    const pool: PoolRecord = {
      name,
      guid: newGuid(),
      exported: false,
      groups,
      datasets: Object.freeze([root]),
      scrub: undefined,
      encryption,
      keySlots: slots,
    };
    this.#replace(undefined, Object.freeze(pool), outOfSpace(name));
    this.#clear(spec.groups.flatMap(({ disks }) => disks));
  }

  async extendPool(name: string, groups: readonly DiskGroup[]): Promise<void> {
    const pool = this.#pool(name);
    if (groups.length === 0)
      throw new HostError('invalid vdev specification: at least one toplevel vdev must be specified');
    this.#replace(
      pool,
      { ...pool, groups: Object.freeze([...pool.groups, ...this.#newGroups(name, groups, pool.groups)]) },
      outOfSpace(name),
    );
  }

  async destroyPool(name: string): Promise<void> {
    this.#mustBeIdle(this.#pool(name), `cannot destroy '${name}': pool is busy`);
    this.#replace(this.#pool(name), undefined, outOfSpace(name));
  }

  async exportPool(name: string): Promise<void> {
    const pool = this.#pool(name);
    this.#mustBeIdle(pool, `cannot export '${name}': pool is busy`);
    this.#replace(pool, { ...pool, exported: true, encryption: locked(pool.encryption) }, outOfSpace(name));
  }

  async importable(): Promise<readonly ImportablePool[]> {
    return this.#memory.value.pools
      .filter(({ exported }) => exported)
      .map((pool) => {
        const { name, guid, health, groups } = this.#poolOf(pool);
        const described = groups.map((group) => ({
          ...group,
          devices: group.devices.map((device) => ({
            name: device.disk,
            health: device.health === 'UNAVAIL' ? ('UNAVAIL' as const) : ('ONLINE' as const),
          })),
        }));
        return Object.freeze({
          name,
          guid,
          health,
          hostname: '',
          groups: Object.freeze(
            described.map(({ kind, name, health, devices }) => Object.freeze({ kind, name, health, devices })),
          ),
        });
      });
  }

  async importPool(guid: string, { mountpoint }: { mountpoint?: string } = {}): Promise<void> {
    const pool = this.#memory.value.pools.find((candidate) => candidate.guid === guid);
    if (pool === undefined) throw new HostError(`cannot import '${guid}': no such pool available`);
    if (this.#imported().some((candidate) => candidate.name === pool.name))
      throw new HostError(`cannot import '${pool.name}': a pool with that name already exists`);
    if (this.#poolOf(pool).health === 'UNAVAIL')
      throw new HostError(`cannot import '${pool.name}': one or more devices is currently unavailable`);
    const datasets = pool.datasets.map((record) =>
      record.name === pool.name && mountpoint !== undefined
        ? Object.freeze({ ...record, mountpoint: checkedMountpoint(mountpoint) })
        : record,
    );
    this.#replace(pool, { ...pool, exported: false, datasets }, outOfSpace(pool.name));
  }

  async upgradePool(name: string): Promise<void> {
    const pool = this.#pool(name);
    this.#replace(pool, { ...pool, outdated: undefined }, outOfSpace(name));
  }

  async replaceDevice(
    poolName: string,
    guid: string,
    disk: string,
    { force = false }: { force?: boolean } = {},
  ): Promise<void> {
    const pool = this.#pool(poolName);
    const { group, device } = deviceIn(pool, guid, 'replace');
    const refuse = (reason: string) => new HostError(`cannot replace ${guid} with ${disk}: ${reason}`);
    const made = this.#newDevice(disk, poolName, new Set());
    if (this.#memory.value.disks?.[disk] === 'partitioned' && !force)
      throw new HostError(
        `invalid vdev specification\nuse '-f' to override the following errors:\n/dev/${disk} contains a filesystem of type 'ext4'`,
      );
    if (device.replaces !== undefined || group.devices.some(({ replaces }) => replaces === guid))
      throw refuse("already in replacing/spare config; wait for completion or use 'zpool detach'");
    if (made.size < device.size) throw refuse('device is too small');
    const devices = group.devices.flatMap((member) =>
      member === device ? [member, Object.freeze({ ...made, replaces: guid })] : [member],
    );
    this.#regroup(pool, group, devices, 'resilver');
    this.#clear([disk]);
  }

  async offlineDevice(poolName: string, guid: string): Promise<void> {
    const pool = this.#pool(poolName);
    const { group, device } = deviceIn(pool, guid, 'offline');
    if (group.kind === 'cache' || group.kind === 'spare')
      throw new HostError(`cannot offline ${guid}: operation not supported on this type of pool`);
    const healthy = membersOf(group).filter(
      (candidate) => candidate !== device && this.#healthOf(candidate) === 'ONLINE',
    ).length;
    if (device.replaces === undefined && healthy < membersOf(group).length - bearableIn(group))
      throw new HostError(`cannot offline ${guid}: no valid replicas`);
    this.#regroup(
      pool,
      group,
      group.devices.map((member) => (member === device ? Object.freeze({ ...member, offline: true }) : member)),
    );
  }

  async onlineDevice(poolName: string, guid: string): Promise<void> {
    const pool = this.#pool(poolName);
    const { group, device } = deviceIn(pool, guid, 'online');
    if (device.offline === true)
      this.#regroup(
        pool,
        group,
        group.devices.map((member) => (member === device ? Object.freeze({ ...member, offline: undefined }) : member)),
      );
    if (!this.#isThere(device.disk))
      throw new HostError(
        `warning: device '${guid}' onlined, but remains in faulted state\nuse 'zpool replace' to replace devices that are no longer present`,
      );
  }

  async detachDevice(poolName: string, guid: string): Promise<void> {
    const pool = this.#pool(poolName);
    const { group, device } = deviceIn(pool, guid, 'detach');
    const replaced = group.devices.some(({ replaces }) => replaces === guid);
    const refuse = (reason: string) => new HostError(`cannot detach ${guid}: ${reason}`);
    if (!replaced && device.replaces === undefined) {
      if (!isMirrored(group)) throw refuse('only applicable to mirror and replacing vdevs');
      if (!membersOf(group).some((candidate) => candidate !== device && this.#healthOf(candidate) === 'ONLINE'))
        throw refuse('no valid replicas');
    }
    // The old device can be detached only after the resilver is complete.
    if (replaced) throw refuse('no valid replicas');
    const scrub =
      device.replaces === undefined || pool.scrub === undefined
        ? pool.scrub
        : Object.freeze({ ...pool.scrub, cancelledAt: this.#now() });
    this.#regroup(
      { ...pool, scrub },
      group,
      group.devices.filter((member) => member !== device),
      undefined,
      pool,
    );
  }

  async removeDevice(poolName: string, named: string): Promise<void> {
    const pool = this.#pool(poolName);
    const group = pool.groups.find(
      ({ name, devices }) => name === named || (devices.length === 1 && devices[0]?.guid === named),
    );
    if (group === undefined) throw new HostError(`cannot remove ${named}: no such device in pool`);
    if (holdsData(group))
      throw new HostError(
        `cannot remove ${named}: only inactive hot spares, cache, top-level, or log devices can be removed`,
      );
    this.#replace(
      pool,
      { ...pool, groups: Object.freeze(pool.groups.filter((other) => other !== group)) },
      outOfSpace(poolName),
    );
  }

  async loadKey(name: string, key: string): Promise<void> {
    const { pool, encryption } = this.#encrypted(name, 'load');
    if (!encryption.locked) throw new HostError(`Key load error: Key already loaded for '${name}'.`);
    if (encryption.digest !== digestOf(key))
      throw new HostError(`Key load error: Incorrect key provided for '${name}'.`);
    this.#replace(pool, { ...pool, encryption: Object.freeze({ ...encryption, locked: false }) }, outOfSpace(name));
  }

  async unloadKey(name: string): Promise<void> {
    const { pool, encryption } = this.#encrypted(name, 'unload');
    if (encryption.locked) throw new HostError(`Key unload error: Key already unloaded for '${name}'.`);
    this.#replace(pool, { ...pool, encryption: locked(encryption) }, outOfSpace(name));
  }

  async isKey(name: string, key: string): Promise<boolean> {
    return this.#encrypted(name, 'load').encryption.digest === digestOf(key);
  }

  async changeKey(name: string, key: string): Promise<void> {
    const { pool, encryption } = this.#encrypted(name, 'change');
    if (encryption.locked) throw new HostError('Key change error: Key must be loaded.');
    this.#replace(
      pool,
      { ...pool, encryption: Object.freeze({ ...encryption, digest: digestOf(key) }) },
      outOfSpace(name),
    );
  }

  async setKeySlots(name: string, slots: string): Promise<void> {
    const pool = this.#pool(name);
    this.#replace(pool, { ...pool, keySlots: slots }, outOfSpace(name));
  }

  async startScrub(name: string): Promise<void> {
    const pool = this.#pool(name);
    const scan = this.#scanOf(pool);
    if (scan?.state === 'running')
      throw new HostError(
        `cannot scrub ${name}: currently ${scan.kind === 'scrub' ? "scrubbing; use 'zpool scrub -s' to cancel scrub" : 'resilvering'}`,
      );
    this.#replace(
      pool,
      {
        ...pool,
        scrub: Object.freeze({ startedAt: this.#now(), duration: this.#scanTime(pool), cancelledAt: undefined }),
      },
      outOfSpace(name),
    );
  }

  async stopScrub(name: string): Promise<void> {
    const pool = this.#pool(name);
    const { scrub } = pool;
    if (scrub === undefined || scrub.kind === 'resilver' || this.#scanOf(pool)?.state !== 'running')
      throw new HostError(`cannot cancel scrubbing ${name}: there is no active scrub`);
    this.#replace(pool, { ...pool, scrub: Object.freeze({ ...scrub, cancelledAt: this.#now() }) }, outOfSpace(name));
  }

  async datasets(scope?: DatasetScope): Promise<readonly Dataset[]> {
    const all = this.#imported().flatMap((pool) => this.#view(pool).datasets);
    if (scope === undefined) return all;
    const { names = [], trees = [] } = scope;
    return all.filter(
      ({ name }) => names.includes(name) || trees.some((root) => name === root || name.startsWith(`${root}/`)),
    );
  }

  async createDataset(name: string, settings: DatasetSettings = {}): Promise<void> {
    const pool = this.#poolForNew(name);
    const local = settingsAtCreation(name, 'filesystem', settings.properties ?? {});
    // New children take the case sensitivity of their parent, and keep it.
    const above = pool.datasets.find((record) => record.name === parentOf(name))?.properties.casesensitivity;
    const properties = above === undefined ? local : Object.freeze({ casesensitivity: above, ...local });
    this.#add(pool, datasetRecord(name, 'filesystem', properties, settings));
  }

  async createVolume(name: string, size: number, settings: DatasetSettings = {}): Promise<void> {
    const pool = this.#poolForNew(name);
    if (!Number.isSafeInteger(size) || size <= 0)
      throw new HostError(`cannot create '${name}': volume size must be greater than zero`);
    const { volsize: _, refreservation, ...others } = settings.properties ?? {};
    const checked = settingsAtCreation(name, 'volume', others);
    const blocksize = Number(checked.volblocksize ?? '16384');
    const volsize = Math.ceil(size / blocksize) * blocksize;
    const whole = String(volumeReservation(volsize, blocksize, shapesOf(pool.groups)));
    const asked = settingsAtCreation(
      name,
      'volume',
      refreservation === undefined || isWhole(refreservation) ? {} : { refreservation },
    );
    const properties = Object.freeze({
      ...checked,
      volsize: String(volsize),
      refreservation: asked.refreservation ?? whole,
    });
    mustFitVolume(properties, whole, (reason) => `cannot create '${name}': ${reason}`);
    this.#add(pool, datasetRecord(name, 'volume', properties, settings));
  }

  async changeDataset(name: string, settings: DatasetSettings): Promise<void> {
    const { pool, dataset } = this.#dataset(name);
    const refuse = (reason: string) => `cannot set property for '${name}': ${reason}`;
    const changes = settings.properties ?? {};
    const properties =
      dataset.kind === 'volume'
        ? changedVolume(dataset, pool, changes, refuse)
        : settingsAfterChange(name, dataset.kind, dataset.properties, changes);
    const changed = Object.freeze({
      ...dataset,
      properties,
      comment: settings.comment === undefined ? dataset.comment : settings.comment || undefined,
      mountpoint: settings.mountpoint === undefined ? dataset.mountpoint : checkedMountpoint(settings.mountpoint),
    });
    const tooSmall = changes.quota !== undefined || changes.refquota !== undefined;
    this.#replace(
      pool,
      { ...pool, datasets: pool.datasets.map((record) => (record === dataset ? changed : record)) },
      () =>
        refuse(tooSmall ? 'size is less than current used or reserved space' : 'size is greater than available space'),
    );
  }

  async destroyDataset(
    name: string,
    { recursive = false, clones = false }: { recursive?: boolean; clones?: boolean } = {},
  ): Promise<void> {
    const { pool } = this.#dataset(name);
    if (parentOf(name) === undefined)
      throw new HostError(
        `cannot destroy '${name}': operation does not apply to pools\nuse 'zpool destroy ${name}' to destroy the pool itself`,
      );
    const gone = new Set(pool.datasets.filter((record) => record.name === name || record.name.startsWith(`${name}/`)));
    const below = [...gone].flatMap((candidate) => [
      ...(candidate.name === name ? [] : [candidate.name]),
      ...snapshotNames(candidate),
    ]);
    if (below.length > 0 && !recursive && !clones) {
      throw new HostError(
        [
          `cannot destroy '${name}': filesystem has children`,
          "use '-r' to destroy the following datasets:",
          ...below,
        ].join('\n'),
      );
    }
    const dependants = dependantsOf(pool, gone);
    if (dependants.length > 0 && !clones) {
      throw new HostError(
        [
          `cannot destroy '${name}': filesystem has dependent clones`,
          "use '-R' to destroy the following datasets:",
          ...dependants.map((dependant) => dependant.name),
        ].join('\n'),
      );
    }
    for (const dependant of dependants) gone.add(dependant);
    const busy = [...gone].find((record) => this.#busyDevices().has(deviceOf(record.name)));
    if (busy !== undefined) throw new HostError(`cannot destroy '${busy.name}': dataset is busy`);
    this.#replace(pool, { ...pool, datasets: pool.datasets.filter((record) => !gone.has(record)) }, outOfSpace(name));
  }

  async snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]> {
    const names = datasets && new Set(datasets);
    return this.#imported().flatMap((pool) =>
      pool.datasets.filter(({ name }) => names?.has(name) ?? true).flatMap(snapshotsIn),
    );
  }

  async createSnapshot(
    fullName: string,
    { recursive = false, task }: { recursive?: boolean; task?: number } = {},
  ): Promise<void> {
    const [of, name] = partsOf(fullName, 'cannot create snapshot');
    const { pool, dataset } = this.#dataset(of);
    if (!/^[-A-Za-z0-9_.: ]+$/.test(name))
      throw new HostError(`cannot create snapshot '${fullName}': invalid character in name`);
    const chosen = pool.datasets.filter(
      (record) => record === dataset || (recursive && record.name.startsWith(`${of}/`)),
    );
    const taken = chosen.find((candidate) => candidate.snapshots?.some((snapshot) => snapshot.name === name));
    if (taken !== undefined)
      throw new HostError(
        `cannot create snapshot '${taken.name}@${name}': dataset already exists\nno snapshots were created`,
      );
    const created = Math.floor(this.#now() / 1000);
    const made = new Map(
      chosen.map(
        (candidate) =>
          [
            candidate,
            Object.freeze({
              guid: newGuid(),
              name,
              created,
              properties: contentProperties(candidate),
              ...(task === undefined ? {} : { task }),
            }),
          ] as const,
      ),
    );
    const table = this.#mountTable(this.#memory.value);
    try {
      for (const [record, snapshot] of made) this.#mounts.capture(table, record.guid, snapshot.guid);
      const datasets = pool.datasets.map((record) =>
        withSnapshots(record, [...(record.snapshots ?? []), ...[made.get(record) ?? []].flat()]),
      );
      this.#replace(pool, { ...pool, datasets }, outOfSpace(fullName));
    } catch (error) {
      for (const snapshot of made.values()) this.#mounts.forgetSnapshot(snapshot.guid);
      throw error;
    }
  }

  async destroySnapshot(
    fullName: string,
    { deferred = false, recursive = false }: { deferred?: boolean; recursive?: boolean } = {},
  ): Promise<void> {
    const [of, name] = partsOf(fullName, 'cannot destroy');
    const { pool } = this.#snapshot(fullName);
    const has = (record: DatasetRecord) =>
      (record.name === of || (recursive && record.name.startsWith(`${of}/`))) &&
      record.snapshots?.some((snapshot) => snapshot.name === name) === true;
    const clones = pool.datasets.filter((record) =>
      pool.datasets.some((other) => has(other) && record.origin === `${other.name}@${name}`),
    );
    if (clones.length > 0 && !deferred) {
      throw new HostError(
        [
          `cannot destroy '${fullName}': snapshot has dependent clones`,
          "use '-R' to destroy the following datasets:",
          ...clones.map((clone) => clone.name),
        ].join('\n'),
      );
    }
    const marked = (snapshot: SnapshotRecord) =>
      snapshot.name === name ? Object.freeze({ ...snapshot, deferred: true }) : snapshot;
    // A snapshot without clones is marked too: `withoutDeferred` removes it at once.
    const datasets = pool.datasets.map((record) =>
      has(record) ? withSnapshots(record, (record.snapshots ?? []).map(marked)) : record,
    );
    this.#replace(pool, { ...pool, datasets }, outOfSpace(of));
  }

  async cloneSnapshot(snapshotName: string, name: string): Promise<void> {
    const { pool, dataset, snapshot } = this.#snapshot(snapshotName, `cannot open '${snapshotName}'`);
    if (poolNameOf(name) !== pool.name) throw new HostError(`cannot create '${name}': source and target pools differ`);
    this.#poolForNew(name);
    const clone = Object.freeze({
      ...datasetRecord(name, dataset.kind, snapshot.properties, {}),
      origin: snapshotName,
    });
    try {
      this.#mounts.seed(clone.guid, snapshot.guid);
      this.#add(pool, clone);
    } catch (error) {
      this.#mounts.forget(clone.guid);
      throw error;
    }
  }

  async rollback(snapshotName: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    const { pool, dataset, snapshot } = this.#snapshot(snapshotName, `cannot open '${snapshotName}'`);
    const all = dataset.snapshots ?? [];
    const newer = all.slice(all.indexOf(snapshot) + 1).map((candidate) => `${dataset.name}@${candidate.name}`);
    if (newer.length > 0 && !force) {
      const message = `cannot rollback to '${snapshotName}': more recent snapshots or bookmarks exist\nuse '-r' to force deletion of the following snapshots and bookmarks:`;
      throw new HostError([message, ...newer].join('\n'));
    }
    const clones = pool.datasets
      .filter((record) => newer.includes(record.origin ?? ''))
      .map((candidate) => candidate.name);
    if (clones.length > 0) {
      const message = `cannot rollback to '${snapshotName}': clones of previous snapshots exist\nuse '-R' to force deletion of the following clones and dependents:`;
      throw new HostError([message, ...clones].join('\n'));
    }
    const properties = Object.freeze({ ...dataset.properties, ...snapshot.properties });
    const back = Object.freeze({ ...withSnapshots(dataset, all.slice(0, all.indexOf(snapshot) + 1)), properties });
    const next = { ...pool, datasets: pool.datasets.map((record) => (record === dataset ? back : record)) };
    this.#mounts.restore(this.#mountTable(this.#memory.value), dataset.guid, snapshot.guid, () =>
      this.#replace(pool, next, outOfSpace(dataset.name)),
    );
  }

  /** A dataset, with `recursive` also all below it, with the guids of their snapshots. */
  replicas(name: string, recursive: boolean): readonly Omit<Replica, 'marks' | 'resumeToken'>[] {
    const { pool } = this.#dataset(name);
    return pool.datasets
      .filter((record) => record.name === name || (recursive && record.name.startsWith(`${name}/`)))
      .map((candidate) => ({
        name: candidate.name,
        referenced: referencedBy(candidate.kind),
        snapshots: (candidate.snapshots ?? []).map((snapshot) => ({ name: snapshot.name, guid: snapshot.guid })),
      }));
  }

  // Events of a real machine -----------------------------------------------------------------------------------------

  /** Makes the disk stop responding. */
  breakDisk(disk: string): void {
    this.#condition([disk], 'broken');
  }

  /** Puts foreign partitions on the disk. */
  partitionDisk(disk: string): void {
    this.#condition([disk], 'partitioned');
  }

  /** Turns the pool into one of an older ZFS version. */
  outdate(name: string): void {
    const pool = this.#pool(name);
    this.#replace(pool, { ...pool, outdated: true }, outOfSpace(name));
  }

  /** Simulates a power failure: state in memory, such as loaded keys, is lost. */
  losePower(): void {
    for (const pool of this.#imported())
      if (pool.encryption !== undefined)
        this.#replace(pool, { ...pool, encryption: locked(pool.encryption) }, outOfSpace(pool.name));
  }

  isBroken(disk: string): boolean {
    return this.#memory.value.disks?.[disk] === 'broken';
  }

  /** Never calls back: nothing outside of Holdfast can change this machine. */
  watch(): () => void {
    return () => {};
  }

  #imported(): readonly PoolRecord[] {
    this.#settle();
    return this.#memory.value.pools.filter((pool) => !pool.exported);
  }

  /** Completes replacements: resilvered devices replace the old ones. */
  #settle(): void {
    const isDue = (pool: PoolRecord) =>
      this.#scanOf(pool)?.state === 'finished' && devicesOf(pool).some(({ replaces }) => replaces !== undefined);
    const { pools } = this.#memory.value;
    if (!pools.some(isDue)) return;
    const settled = pools.map((pool) =>
      isDue(pool) ? Object.freeze({ ...pool, groups: Object.freeze(pool.groups.map(withReplacements)) }) : pool,
    );
    this.#memory.keep(Object.freeze({ ...this.#memory.value, pools: Object.freeze(settled) }));
  }

  /** Changes the devices of a group, and starts a resilver with `scan`. */
  #regroup(
    pool: PoolRecord,
    group: GroupRecord,
    devices: readonly DeviceRecord[],
    scan?: 'resilver',
    before: PoolRecord = pool,
  ): void {
    const next = named(Object.freeze({ ...group, devices: Object.freeze(devices) }));
    const groups = Object.freeze(pool.groups.map((other) => (other === group ? next : other)));
    const scrub =
      scan === undefined
        ? pool.scrub
        : Object.freeze({ kind: scan, startedAt: this.#now(), duration: this.#scanTime(pool), cancelledAt: undefined });
    this.#replace(before, { ...pool, groups, scrub }, outOfSpace(pool.name));
  }

  #scanTime(pool: PoolRecord): number {
    return scrubTime.least + Math.floor((this.#view(pool).allocated / GiB) * scrubTime.perGiB);
  }

  #encrypted(name: string, operation: string): { pool: PoolRecord; encryption: EncryptionRecord } {
    const pool = this.#pool(name);
    if (pool.encryption === undefined)
      throw new HostError(`Key ${operation} error: Encryption not enabled for '${name}'.`);
    return { pool, encryption: pool.encryption };
  }

  #isThere(disk: string): boolean {
    return this.#disks.some(({ name }) => name === disk) && !this.isBroken(disk);
  }

  #condition(disks: readonly string[], condition: DiskCondition | undefined): void {
    const { disks: before = {}, ...value } = this.#memory.value;
    const others = Object.entries(before).filter(([disk]) => !disks.includes(disk));
    const changed = condition === undefined ? [] : disks.map((disk) => [disk, condition] as const);
    this.#memory.keep(Object.freeze({ ...value, disks: Object.freeze(Object.fromEntries([...others, ...changed])) }));
  }

  /** Forgets the condition of disks that a pool has overwritten. */
  #clear(disks: readonly string[]): void {
    if (disks.some((disk) => this.#memory.value.disks?.[disk] !== undefined)) this.#condition(disks, undefined);
  }

  #pool(name: string): PoolRecord {
    const pool = this.#imported().find((candidate) => candidate.name === name);
    if (pool === undefined) throw new HostError(`cannot open '${name}': no such pool`);
    return pool;
  }

  #dataset(name: string): { pool: PoolRecord; dataset: DatasetRecord } {
    const pool = this.#imported().find((candidate) => candidate.name === poolNameOf(name));
    const dataset = pool?.datasets.find((record) => record.name === name);
    if (pool === undefined || dataset === undefined)
      throw new HostError(`cannot open '${name}': dataset does not exist`);
    return { pool, dataset };
  }

  #snapshot(
    fullName: string,
    message = `could not find any snapshots to destroy; '${fullName}'`,
  ): { pool: PoolRecord; dataset: DatasetRecord; snapshot: SnapshotRecord } {
    const [of, name] = partsOf(fullName, message);
    const pool = this.#imported().find((candidate) => candidate.name === poolNameOf(of));
    const dataset = pool?.datasets.find((record) => record.name === of);
    const snapshot = dataset?.snapshots?.find((snapshot) => snapshot.name === name);
    if (pool === undefined || dataset === undefined || snapshot === undefined)
      throw new HostError(`${message}: dataset does not exist`);
    return { pool, dataset, snapshot };
  }

  /** The pool in which a dataset of this name can be created. */
  #poolForNew(name: string): PoolRecord {
    mustBeDatasetName(name);
    const pool = this.#imported().find((candidate) => candidate.name === poolNameOf(name));
    if (pool === undefined) throw new HostError(`cannot create '${name}': no such pool '${poolNameOf(name)}'`);
    if (pool.encryption?.locked === true) throw new HostError(`cannot create '${name}': Parent key must be loaded.`);
    const parent = pool.datasets.find((record) => record.name === parentOf(name));
    if (pool.datasets.some((record) => record.name === name))
      throw new HostError(`cannot create '${name}': dataset already exists`);
    if (parent === undefined) throw new HostError(`cannot create '${name}': parent does not exist`);
    if (parent.kind !== 'filesystem') throw new HostError(`cannot create '${name}': parent is not a filesystem`);
    return pool;
  }

  #add(pool: PoolRecord, dataset: DatasetRecord): void {
    const datasets = [...pool.datasets, dataset].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#replace(pool, { ...pool, datasets }, outOfSpace(dataset.name));
  }

  /** Replaces the record of one pool, and moves the files of its datasets. All changes pass through here. */
  #replace(before: PoolRecord | undefined, after: PoolRecord | undefined, overfull: () => string): void {
    const old = this.#memory.value;
    const others = old.pools.filter((pool) => pool !== before);
    const settled = after && Object.freeze({ ...after, datasets: withoutDeferred(after.datasets) });
    const next = Object.freeze({
      ...old,
      pools: settled === undefined ? others : [...others, settled].sort((a, b) => (a.name < b.name ? -1 : 1)),
    });
    const grown = settled !== undefined && settled.datasets !== before?.datasets;
    if (grown && this.#view(settled).overfull !== undefined) throw new HostError(overfull());
    const table = this.#mountTable(next);
    const taken = firstRepeated([...table.values()]);
    if (taken !== undefined) throw new HostError(`cannot mount '${taken}': another dataset is mounted there`);
    this.#mounts.change(this.#mountTable(old), table, {
      keep: () => this.#memory.keep(next),
      restore: () => this.#memory.keep(old),
    });
    const kept = guidsOf(next);
    for (const dataset of before?.datasets ?? []) if (!kept.has(dataset.guid)) this.#mounts.forget(dataset.guid);
    const keptSnapshots = settled === undefined ? new Set<string>() : snapshotGuidsOf({ pools: [settled] });
    for (const guid of before === undefined ? [] : snapshotGuidsOf({ pools: [before] }))
      if (!keptSnapshots.has(guid)) this.#mounts.forgetSnapshot(guid);
  }

  #mountTable(record: ZfsRecord): MountTable {
    return new Map(record.pools.filter((pool) => !pool.exported).flatMap((pool) => [...this.#view(pool).mounts]));
  }

  #view(pool: PoolRecord): PoolView {
    const known = this.#views.get(pool);
    if (known !== undefined) return known;
    const view = viewOf(pool);
    this.#views.set(pool, view);
    return view;
  }

  #poolOf(pool: PoolRecord): Pool {
    const { capacity, allocated } = this.#view(pool);
    const groups = [...pool.groups]
      .sort((a, b) => rankOf(a.kind) - rankOf(b.kind))
      .map((group) => this.#groupOf(group));
    const data = groups.filter(holdsData).map((group) => group.health);
    const anyWorse = groups.some((group) => group.health !== 'ONLINE');
    const health: Health = data.includes('UNAVAIL') ? 'UNAVAIL' : anyWorse ? 'DEGRADED' : 'ONLINE';
    const { size } = capacity;
    return Object.freeze({
      name: pool.name,
      guid: pool.guid,
      health,
      size,
      allocated,
      free: size - allocated,
      upgraded: pool.outdated !== true,
      scan: this.#scanOf(pool),
      groups,
    });
  }

  #groupOf(group: GroupRecord): PoolGroup {
    const devices = group.devices.map((device): PoolDevice => {
      const own = this.#healthOf(device);
      const health = own === 'ONLINE' && group.kind === 'spare' ? 'AVAIL' : own;
      return Object.freeze({ disk: device.disk, label: device.disk, guid: device.guid, health, errors: noErrors });
    });
    const missing = membersOf(group).filter((device) => this.#healthOf(device) !== 'ONLINE').length;
    const health = missing === 0 ? 'ONLINE' : missing <= bearableIn(group) ? 'DEGRADED' : 'UNAVAIL';
    return Object.freeze({ kind: group.kind, name: group.name, health, errors: noErrors, devices });
  }

  #healthOf({ disk, offline }: DeviceRecord): 'ONLINE' | 'OFFLINE' | 'UNAVAIL' {
    if (offline === true) return 'OFFLINE';
    return this.#isThere(disk) ? 'ONLINE' : 'UNAVAIL';
  }

  #scanOf({ scrub }: PoolRecord): Scan | undefined {
    if (scrub === undefined) return undefined;
    const elapsed = (scrub.cancelledAt ?? this.#now()) - scrub.startedAt;
    const percent = Math.min(100, Math.max(0, (elapsed / scrub.duration) * 100));
    const state = scrub.cancelledAt !== undefined ? 'cancelled' : percent >= 100 ? 'finished' : 'running';
    const ended = state === 'finished' ? { ended: Math.floor((scrub.startedAt + scrub.duration) / 1000) } : {};
    return Object.freeze({ kind: scrub.kind ?? 'scrub', state, percent, errors: 0, ...ended });
  }

  /** The records of new groups. Refuses what `zpool` would refuse. */
  #newGroups(pool: string, groups: readonly DiskGroup[], existing: readonly GroupRecord[]): readonly GroupRecord[] {
    const made: GroupRecord[] = [];
    const seen = new Set<string>();
    let toplevel = existing.filter((group) => group.kind !== 'cache' && group.kind !== 'spare').length;
    for (const { kind, disks } of groups) {
      const devices = disks.map((disk) => this.#newDevice(disk, pool, seen));
      const least = kind === 'mirror' ? 2 : parityOf(kind) + 1;
      const vdev = vdevKind(kind);
      if (devices.length < least || devices.length === 0)
        throw new HostError(`invalid vdev specification: ${vdev} requires at least ${Math.max(1, least)} devices`);
      const together = kind === 'mirror' || parityOf(kind) > 0 || (kind === 'log' && devices.length > 1);
      if (together)
        made.push(Object.freeze({ kind, name: `${kind === 'log' ? 'mirror' : vdev}-${toplevel}`, devices }));
      else for (const device of devices) made.push(Object.freeze({ kind, name: device.disk, devices: [device] }));
      if (kind !== 'cache' && kind !== 'spare') toplevel += together ? 1 : devices.length;
    }
    mustMatch([...existing, ...made].filter(holdsData));
    return Object.freeze(made);
  }

  #newDevice(name: string, pool: string, seen: Set<string>): DeviceRecord {
    const disk = this.#disks.find((disk) => disk.name === name);
    if (disk === undefined || this.isBroken(name))
      throw new HostError(
        `cannot open '${name}': no such device in /dev\nmust be a full path or shorthand device name`,
      );
    const holder = this.#memory.value.pools.find((candidate) =>
      devicesOf(candidate).some((device) => device.disk === name),
    );
    if (holder !== undefined)
      throw new HostError(
        `invalid vdev specification\n/dev/${name} is part of ${holder.exported ? 'exported' : 'active'} pool '${holder.name}'`,
      );
    if (seen.has(name))
      throw new HostError(`cannot use '${name}' in ${pool}: one or more vdevs refer to the same device`);
    if (disk.size < smallestDevice)
      throw new HostError(`cannot use '${name}' in ${pool}: one or more devices is less than the minimum size (64M)`);
    seen.add(name);
    return Object.freeze({ disk: name, guid: newGuid(), size: disk.size });
  }
}

function viewOf(pool: PoolRecord): PoolView {
  const capacity = capacityOf(shapesOf(pool.groups));
  const { shares, overfull } = account(
    pool.datasets.map(({ name, kind, properties }) => ({
      name,
      referenced: referencedBy(kind),
      quota: bytes(properties, 'quota'),
      refquota: bytes(properties, 'refquota'),
      reservation: bytes(properties, 'reservation'),
      refreservation: bytes(properties, 'refreservation'),
    })),
    capacity.usable,
  );
  const above = new Map<string, { properties: Values; mountpoint: string | undefined }>();
  const mounts = new Map<string, string>();
  const datasets = pool.datasets.map((record): Dataset => {
    const { name, kind, comment } = record;
    const parent = above.get(parentOf(name) ?? '');
    const { properties, inherited } = inForce(kind, record.properties, parent?.properties);
    const follows =
      parent?.mountpoint === undefined ? undefined : `${parent.mountpoint}/${name.slice(name.lastIndexOf('/') + 1)}`;
    const target = kind === 'volume' ? undefined : (record.mountpoint ?? follows);
    const mountpoint =
      target === 'none' || target === 'legacy' || pool.encryption?.locked === true ? undefined : target;
    if (mountpoint !== undefined) mounts.set(record.guid, mountpoint);
    above.set(name, { properties, mountpoint });
    const { encryption, keySlots } = pool;
    const { used, available } = shares.get(name) ?? { used: 0, available: 0 };
    return Object.freeze({
      name,
      kind,
      used,
      available,
      referenced: referencedBy(kind),
      mountpoint,
      properties,
      inherited,
      comment,
      key: encryption && (encryption.locked ? 'unavailable' : 'available'),
      keySlots: parentOf(name) === undefined ? keySlots : undefined,
      origin: record.origin,
      snapshotStamp: stampOf(record),
    });
  });
  const referenced = pool.datasets.reduce((sum, dataset) => sum + referencedBy(dataset.kind), 0);
  return {
    capacity,
    allocated: Math.min(capacity.size, Math.ceil(referenced * capacity.rawPerByte)),
    datasets,
    mounts,
    overfull,
  };
}

function datasetRecord(
  name: string,
  kind: Dataset['kind'],
  properties: Values,
  settings: DatasetSettings,
): DatasetRecord {
  const mountpoint = settings.mountpoint === undefined ? undefined : checkedMountpoint(settings.mountpoint);
  return Object.freeze({ guid: newGuid(), name, kind, properties, comment: settings.comment || undefined, mountpoint });
}

/** A volume's settings after a change. A reservation of the whole volume follows a change of its size. */
function changedVolume(
  dataset: DatasetRecord,
  pool: PoolRecord,
  changes: Values,
  refuse: (reason: string) => string,
): Values {
  const whole = (values: Values) =>
    String(volumeReservation(bytes(values, 'volsize'), Number(values.volblocksize ?? '16384'), shapesOf(pool.groups)));
  const { refreservation, ...others } = changes;
  const resized = settingsAfterChange(dataset.name, 'volume', dataset.properties, others);
  const volsize = bytes(resized, 'volsize');
  const blocksize = Number(resized.volblocksize ?? '16384');
  if (volsize === 0 || volsize % blocksize !== 0)
    throw new HostError(refuse(`'volsize' must be a multiple of volume block size (${blocksize / 1024}K)`));
  const follows =
    refreservation === undefined
      ? dataset.properties.refreservation === whole(dataset.properties)
      : isWhole(refreservation);
  const asked = follows ? { refreservation: whole(resized) } : refreservation === undefined ? {} : { refreservation };
  const properties = settingsAfterChange(dataset.name, 'volume', resized, asked);
  mustFitVolume(properties, whole(properties), refuse);
  return properties;
}

function isWhole(refreservation: string): boolean {
  return refreservation === 'auto';
}

function mustFitVolume(properties: Values, whole: string, refuse: (reason: string) => string): void {
  const volsize = bytes(properties, 'volsize');
  if (bytes(properties, 'reservation') > volsize)
    throw new HostError(refuse("'reservation' is greater than current volume size"));
  if (properties.refreservation !== whole && bytes(properties, 'refreservation') > volsize)
    throw new HostError(refuse("'refreservation' is greater than current volume size"));
}

function checkedMountpoint(text: string): string {
  if (text === 'none' || text === 'legacy') return text;
  if (!text.startsWith('/')) throw new HostError("'mountpoint' must be an absolute path, 'none', or 'legacy'");
  return normalPath(text);
}

function mustBePoolName(name: string): void {
  const refuse = (reason: string) => new HostError(`cannot create '${name}': ${reason}`);
  if (!/^[A-Za-z]/.test(name)) throw refuse('name must begin with a letter');
  const stray = /[^-A-Za-z0-9_.: ]/.exec(name);
  if (stray !== null) throw refuse(`invalid character '${stray[0]}' in pool name`);
  if (name.length > 255) throw refuse('name is too long');
  if (/^(mirror|raidz|draid|spare)/.test(name) || name === 'log') throw refuse('name is reserved');
}

function mustBeDatasetName(name: string): void {
  const refuse = (reason: string) => new HostError(`cannot create '${name}': ${reason}`);
  if (name.length > 255) throw refuse('name is too long');
  const stray = /[^-A-Za-z0-9_.: /]/.exec(name);
  if (stray !== null) throw refuse(`invalid character '${stray[0]}' in name`);
  const parts = name.split('/');
  if (parts.at(-1) === '') throw refuse('trailing slash in name');
  if (parts.includes('')) throw refuse('empty component in name');
  if (parts.includes('.')) throw refuse("self reference, '.' is found in name");
  if (parts.includes('..')) throw refuse("parent reference, '..' is found in name");
}

/** Refuses data groups of different kinds or widths in a pool. */
function mustMatch(groups: readonly GroupRecord[]): void {
  const [first, ...others] = groups;
  if (first === undefined) return;
  for (const group of others) {
    const start =
      "invalid vdev specification\nuse '-f' to override the following errors:\nmismatched replication level: ";
    const kinds = [vdevKind(first.kind), vdevKind(group.kind)];
    if (group.kind !== first.kind) throw new HostError(`${start}pool uses ${kinds[0]} and new vdev is ${kinds[1]}`);
    const [there, here] = [membersOf(first).length, membersOf(group).length];
    if (here !== there) {
      throw new HostError(`${start}pool uses ${there}-way ${kinds[0]} and new vdev uses ${here}-way ${kinds[1]}`);
    }
  }
}

function vdevKind(kind: GroupKind): string {
  if (kind === 'raidz') return 'raidz1';
  return kind === 'stripe' ? 'disk' : kind;
}

function holdsData(group: { readonly kind: GroupKind }): boolean {
  return rankOf(group.kind) === 0;
}

/** The position of a group: data first, then logs, cache and spares. */
function rankOf(kind: GroupKind): number {
  return 1 + ['log', 'cache', 'spare'].indexOf(kind);
}

function shapesOf(groups: readonly GroupRecord[]): readonly Shape[] {
  return groups
    .filter(holdsData)
    .map(({ kind, devices }) => ({ kind, sizes: membersOf({ devices }).map((device) => device.size) }));
}

/** The devices of a group, without those that are still replacing another one. */
function membersOf({ devices }: Pick<GroupRecord, 'devices'>): readonly DeviceRecord[] {
  return devices.filter(({ replaces }) => replaces === undefined);
}

function isMirrored(group: GroupRecord): boolean {
  return (group.kind === 'mirror' || group.kind === 'log') && membersOf(group).length > 1;
}

/** How many devices of a group may fail. */
function bearableIn(group: GroupRecord): number {
  return isMirrored(group) ? membersOf(group).length - 1 : parityOf(group.kind);
}

function deviceIn(pool: PoolRecord, guid: string, operation: string): { group: GroupRecord; device: DeviceRecord } {
  for (const group of pool.groups) {
    const device = group.devices.find((member) => member.guid === guid);
    if (device !== undefined) return { group, device };
  }
  throw new HostError(`cannot ${operation} ${guid}: no such device in pool`);
}

function withReplacements(group: GroupRecord): GroupRecord {
  const gone = new Set(group.devices.map(({ replaces }) => replaces));
  const devices = group.devices
    .filter(({ guid }) => !gone.has(guid))
    .map((device) => (device.replaces === undefined ? device : Object.freeze({ ...device, replaces: undefined })));
  return named(Object.freeze({ ...group, devices: Object.freeze(devices) }));
}

/** Names a group of one device by its disk; the last device of a mirror becomes a stripe. */
function named(group: GroupRecord): GroupRecord {
  const [first, ...others] = membersOf(group);
  if (first === undefined || others.length > 0 || parityOf(group.kind) > 0) return group;
  return Object.freeze({ ...group, kind: group.kind === 'mirror' ? 'stripe' : group.kind, name: first.disk });
}

function locked(encryption: EncryptionRecord | undefined): EncryptionRecord | undefined {
  return encryption && Object.freeze({ ...encryption, locked: true });
}

function digestOf(key: string): string {
  return hash('sha256', key);
}

function devicesOf(pool: PoolRecord): readonly DeviceRecord[] {
  return pool.groups.flatMap((group) => group.devices);
}

function guidsOf(record: ZfsRecord): ReadonlySet<string> {
  return new Set(record.pools.flatMap((pool) => pool.datasets.map((dataset) => dataset.guid)));
}

function referencedBy(kind: Dataset['kind']): number {
  return kind === 'volume' ? emptyVolume : emptyFilesystem;
}

function poolNameOf(dataset: string): string {
  const slash = dataset.indexOf('/');
  return slash < 0 ? dataset : dataset.slice(0, slash);
}

function outOfSpace(name: string): () => string {
  return () => `cannot create '${name}': out of space`;
}

function firstRepeated(items: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const item of items) {
    if (seen.has(item)) return item;
    seen.add(item);
  }
  return undefined;
}

/** 64 bits in decimal digits, never 0. */
function newGuid(): string {
  return String(randomBytes(8).readBigUInt64BE() | 1n);
}

function snapshotGuidsOf(record: ZfsRecord): ReadonlySet<string> {
  return new Set(
    record.pools.flatMap((pool) =>
      pool.datasets.flatMap((dataset) => (dataset.snapshots ?? []).map((snapshot) => snapshot.guid)),
    ),
  );
}

function snapshotNames({ name, snapshots = [] }: DatasetRecord): readonly string[] {
  return snapshots.map((snapshot) => `${name}@${snapshot.name}`);
}

function snapshotsIn({ name: dataset, kind, snapshots = [] }: DatasetRecord): readonly Snapshot[] {
  return snapshots.map(({ name, created, deferred = false, task }) =>
    Object.freeze({
      dataset,
      name,
      created,
      deferred,
      used: 0,
      referenced: referencedBy(kind),
      ...(task === undefined ? {} : { task }),
    }),
  );
}

function withSnapshots(dataset: DatasetRecord, snapshots: readonly SnapshotRecord[]): DatasetRecord {
  return snapshots.length === (dataset.snapshots?.length ?? 0) &&
    snapshots.every((snapshot, index) => snapshot === dataset.snapshots?.[index])
    ? dataset
    : Object.freeze({ ...dataset, snapshots: Object.freeze(snapshots) });
}

/** Removes deferred snapshots that have no clones any more. */
function withoutDeferred(datasets: readonly DatasetRecord[]): readonly DatasetRecord[] {
  if (!datasets.some(({ snapshots }) => snapshots?.some(({ deferred }) => deferred))) return datasets;
  const origins = new Set(datasets.map((record) => record.origin));
  return datasets.map((record) =>
    record.snapshots?.some(({ deferred }) => deferred) === true
      ? withSnapshots(
          record,
          record.snapshots.filter(({ deferred, name }) => deferred !== true || origins.has(`${record.name}@${name}`)),
        )
      : record,
  );
}

/** The clones of these datasets' snapshots, their children, and, recursively, the clones of those. */
function dependantsOf(pool: PoolRecord, gone: ReadonlySet<DatasetRecord>): readonly DatasetRecord[] {
  const all = new Set(gone);
  for (const record of all) {
    const names = new Set(snapshotNames(record));
    for (const other of pool.datasets)
      if (names.has(other.origin ?? '') || other.name.startsWith(`${record.name}/`)) all.add(other);
  }
  return pool.datasets.filter((record) => all.has(record) && !gone.has(record));
}

/** The properties that belong to a dataset's content, which a rollback restores. */
function contentProperties({ kind, properties: { volsize, volblocksize, casesensitivity } }: DatasetRecord): Values {
  if (kind === 'volume')
    return Object.freeze({
      ...(volsize === undefined ? {} : { volsize }),
      ...(volblocksize === undefined ? {} : { volblocksize }),
    });
  return Object.freeze(casesensitivity === undefined ? {} : { casesensitivity });
}

const stamps = new WeakMap<readonly SnapshotRecord[], string>();

function stampOf({ guid, snapshots = [] }: DatasetRecord): string {
  const known = stamps.get(snapshots);
  if (known !== undefined) return known;
  const sum = snapshots.reduce(
    (all, snapshot) => all ^ BigInt(snapshot.guid) ^ (snapshot.deferred === true ? 1n : 0n),
    0n,
  );
  const stamp = `${guid} ${snapshots.length} ${sum}`;
  stamps.set(snapshots, stamp);
  return stamp;
}

function partsOf(fullName: string, message: string): readonly [string, string] {
  const at = fullName.indexOf('@');
  if (at < 0 || fullName.indexOf('@', at + 1) >= 0) throw new HostError(`${message}: '${fullName}' is no snapshot`);
  return [fullName.slice(0, at), fullName.slice(at + 1)];
}

function deviceOf(name: string): string {
  return `/dev/zvol/${name}`;
}
