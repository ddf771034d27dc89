import type { FaultKind } from '../../ports/faults.ts';
import { HostError } from '../../ports/index.ts';
import type { Dataset } from '../../ports/zfs.ts';
import type { VirtualDisk } from '../disks.ts';
import type { Mounts, MountTable } from '../mounts.ts';
import { Memory } from '../state.ts';
import type { Tree } from '../tree.ts';
import { devicesOf, isReplacement, withReplacements } from './groups.ts';
import { deviceOf, mustBeDatasetName, partsOf, poolNameOf } from './names.ts';
import {
  type DatasetRecord,
  type DiskCondition,
  type PoolRecord,
  readZfsRecord,
  type SnapshotRecord,
  type ZfsRecord,
} from './record.ts';
import { guidsLost, guidsOf, snapshotGuidsOf, withoutDeferred } from './records.ts';
import { scanOf } from './scans.ts';
import { SharedPools } from './shared-pools.ts';
import { parentOf } from './space.ts';
import { withSparesIn } from './spares.ts';
import { viewOf } from './view.ts';

export interface PoolStoreOptions {
  readonly mounts: Mounts;
  readonly disks: readonly VirtualDisk[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Paths of the devices that iSCSI targets serve. */
  readonly busyDevices: () => ReadonlySet<string>;
  /** Whether the ZFS Event Daemon runs, which puts spares in place of failed disks. */
  readonly hasEventDaemon: () => boolean;
  /** The value of a fault of a disk or a pool; undefined while there is none. */
  readonly faultOf: (kind: FaultKind, target: string) => number | undefined;
  /** The machines that reach the disks, if several do; `files` are those of one of them. */
  readonly shared?: { readonly machine: string; readonly filesOf: (machine: string) => Tree | undefined } | undefined;
}

/** The stored records of all pools, and the one way to change them. */
export class PoolStore {
  readonly mounts: Mounts;
  readonly disks: readonly VirtualDisk[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Paths of the devices that iSCSI targets serve. */
  readonly busyDevices: () => ReadonlySet<string>;
  readonly faultOf: PoolStoreOptions['faultOf'];
  readonly #hasEventDaemon: () => boolean;
  readonly #diskNames: ReadonlySet<string>;
  readonly #memory: Memory<ZfsRecord> | SharedPools;
  readonly #filesOf: ((machine: string) => Tree | undefined) | undefined;
  /** Whether the files match the stored state, which is seen to when that is first read. */
  #isMounted = false;

  constructor(path: string, { mounts, disks, now, busyDevices, hasEventDaemon, faultOf, shared }: PoolStoreOptions) {
    this.#memory =
      shared === undefined
        ? new Memory(path, { read: readZfsRecord }, Object.freeze({ pools: [] }))
        : new SharedPools(path, shared.machine);
    this.#filesOf = shared?.filesOf;
    this.mounts = mounts;
    this.disks = disks;
    this.#diskNames = new Set(disks.map(({ name }) => name));
    this.now = now;
    this.busyDevices = busyDevices;
    this.#hasEventDaemon = hasEventDaemon;
    this.faultOf = faultOf;
  }

  get value(): ZfsRecord {
    const { value } = this.#memory;
    if (!this.#isMounted) {
      this.mounts.repair(mountTable(value), guidsOf(value), () =>
        snapshotGuidsOf(value.pools.flatMap(({ datasets }) => datasets)),
      );
      this.#isMounted = true;
    }
    return value;
  }

  /** Where the datasets of imported pools are mounted. */
  get mountTable(): MountTable {
    return mountTable(this.value);
  }

  isBroken(disk: string): boolean {
    return this.value.disks?.[disk] === 'broken';
  }

  imported(): readonly PoolRecord[] {
    this.#settle();
    return this.value.pools.filter((pool) => !pool.exported);
  }

  pool(name: string): PoolRecord {
    const pool = this.imported().find((candidate) => candidate.name === name);
    if (pool === undefined) throw new HostError(`cannot open '${name}': no such pool`);
    return pool;
  }

  dataset(name: string): { pool: PoolRecord; dataset: DatasetRecord } {
    const pool = this.imported().find((candidate) => candidate.name === poolNameOf(name));
    const dataset = pool?.datasets.find((record) => record.name === name);
    if (pool === undefined || dataset === undefined)
      throw new HostError(`cannot open '${name}': dataset does not exist`);
    return { pool, dataset };
  }

  snapshot(
    fullName: string,
    message = `could not find any snapshots to destroy; '${fullName}'`,
  ): { pool: PoolRecord; dataset: DatasetRecord; snapshot: SnapshotRecord } {
    const [of, name] = partsOf(fullName, message);
    const pool = this.imported().find((candidate) => candidate.name === poolNameOf(of));
    const dataset = pool?.datasets.find((record) => record.name === of);
    const snapshot = dataset?.snapshots?.find(name);
    if (pool === undefined || dataset === undefined || snapshot === undefined)
      throw new HostError(`${message}: dataset does not exist`);
    return { pool, dataset, snapshot };
  }

  /** The pool in which a dataset of this name can be created. */
  poolForNew(name: string): PoolRecord {
    mustBeDatasetName(name);
    const pool = this.imported().find((candidate) => candidate.name === poolNameOf(name));
    if (pool === undefined) throw new HostError(`cannot create '${name}': no such pool '${poolNameOf(name)}'`);
    const parent = pool.datasets.find((record) => record.name === parentOf(name));
    if (pool.datasets.some((record) => record.name === name))
      throw new HostError(`cannot create '${name}': dataset already exists`);
    if (parent === undefined) throw new HostError(`cannot create '${name}': parent does not exist`);
    if (parent.kind !== 'filesystem') throw new HostError(`cannot create '${name}': parent is not a filesystem`);
    if (keyOf(pool, parent.name) === 'unavailable')
      throw new HostError(`cannot create '${name}': encryption root's key is not loaded or provided`);
    return pool;
  }

  add(pool: PoolRecord, dataset: DatasetRecord): void {
    const datasets = [...pool.datasets, dataset].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.replace(pool, { ...pool, datasets }, outOfSpace(dataset.name));
  }

  /** Replaces the record of one pool, and moves the files of its datasets. All changes pass through here. */
  replace(before: PoolRecord | undefined, after: PoolRecord | undefined, overfull: () => string): void {
    const old = this.value;
    const others = old.pools.filter((pool) => pool !== before);
    const settled = after && Object.freeze({ ...after, datasets: withoutDeferred(after.datasets) });
    const next = Object.freeze({
      ...old,
      pools: settled === undefined ? others : [...others, settled].sort((a, b) => (a.name < b.name ? -1 : 1)),
    });
    const grown = settled !== undefined && settled.datasets !== before?.datasets;
    if (grown && viewOf(settled).overfull !== undefined) throw new HostError(overfull());
    const table = mountTable(next);
    const taken = firstRepeated([...table.values()]);
    if (taken !== undefined) throw new HostError(`cannot mount '${taken}': another dataset is mounted there`);
    this.mounts.change(mountTable(old), table, {
      keep: () => this.#memory.keep(next),
      restore: () => this.#memory.keep(old),
    });
    const kept = guidsOf(next);
    for (const dataset of before?.datasets ?? []) if (!kept.has(dataset.guid)) this.mounts.forget(dataset.guid);
    for (const guid of guidsLost(before?.datasets ?? [], settled?.datasets ?? [])) this.mounts.forgetSnapshot(guid);
  }

  /** Unmounts the datasets of a pool in pieces, and then replaces its record by what `exported` makes of it. */
  async exportPool(name: string, exported: (pool: PoolRecord) => PoolRecord): Promise<void> {
    await this.mounts.leave(viewOf(this.pool(name)).mounts, () => {
      const pool = this.pool(name);
      this.replace(pool, exported(pool), outOfSpace(name));
    });
  }

  /** Unmounts the datasets of a pool, removes its record, and then its files, each in pieces. */
  async destroyPool(name: string): Promise<void> {
    const pool = this.pool(name);
    await this.mounts.leave(viewOf(pool).mounts, () => {
      const pools = this.value.pools.filter((other) => other.name !== name);
      this.#memory.keep(Object.freeze({ ...this.value, pools: Object.freeze(pools) }));
    });
    await this.mounts.forgetAll(
      pool.datasets.map(({ guid }) => guid),
      [...snapshotGuidsOf(pool.datasets)],
    );
  }

  /** Takes the files of a pool from the machine that had it imported last, before another one imports it by force. */
  fetchFiles(guid: string): void {
    const found = this.#memory instanceof SharedPools ? this.#memory.elsewhere(guid) : undefined;
    const files = found && this.#filesOf?.(found.machine);
    if (found !== undefined && files !== undefined) this.mounts.fetch(viewOf(found.pool).mounts, files);
  }

  /** Refuses when a target serves a device of the pool. */
  mustBeIdle({ datasets }: { readonly datasets: readonly { readonly name: string }[] }, refusal: string): void {
    const busy = this.busyDevices();
    if (datasets.some(({ name }) => busy.has(deviceOf(name)))) throw new HostError(refusal);
  }

  isThere(disk: string): boolean {
    return this.#diskNames.has(disk) && !this.isBroken(disk);
  }

  setCondition(disks: readonly string[], condition: DiskCondition | undefined): void {
    const { disks: before = {}, ...value } = this.value;
    const others = Object.entries(before).filter(([disk]) => !disks.includes(disk));
    const changed = condition === undefined ? [] : disks.map((disk) => [disk, condition] as const);
    this.#memory.keep(Object.freeze({ ...value, disks: Object.freeze(Object.fromEntries([...others, ...changed])) }));
  }

  /** Forgets the condition of disks that a pool has overwritten. */
  clear(disks: readonly string[]): void {
    if (disks.some((disk) => this.value.disks?.[disk] !== undefined)) this.setCondition(disks, undefined);
  }

  /** Completes replacements: resilvered devices replace the old ones, and spares stand in for failed ones. */
  #settle(): void {
    const isDue = (pool: PoolRecord) =>
      scanOf(pool, this.now())?.state === 'finished' && devicesOf(pool).some(isReplacement);
    const { pools } = this.value;
    const settled = pools.map((pool) => {
      const replaced = isDue(pool)
        ? Object.freeze({ ...pool, groups: Object.freeze(pool.groups.map(withReplacements)) })
        : pool;
      return pool.exported || !this.#hasEventDaemon() ? replaced : withSparesIn(this, replaced);
    });
    if (settled.every((pool, index) => pool === pools[index])) return;
    this.#memory.keep(Object.freeze({ ...this.value, pools: Object.freeze(settled) }));
  }
}

/** Whether the key of an encrypted dataset is loaded. */
export function keyOf(pool: PoolRecord, name: string): Dataset['key'] {
  return viewOf(pool).datasets.find((dataset) => dataset.name === name)?.key;
}

export function outOfSpace(name: string): () => string {
  return () => `cannot create '${name}': out of space`;
}

function mountTable(record: ZfsRecord): MountTable {
  return new Map(record.pools.filter((pool) => !pool.exported).flatMap((pool) => [...viewOf(pool).mounts]));
}

function firstRepeated(items: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const item of items) {
    if (seen.has(item)) return item;
    seen.add(item);
  }
  return undefined;
}
