import { readFileSync, statSync } from 'node:fs';
import { HostError } from '../../ports/index.ts';
import { codeOf, hostError, replaceFile } from '../state.ts';
import { type PoolRecord, readZfsRecord, type ZfsRecord } from './record.ts';
import { locked } from './records.ts';

const none: ZfsRecord = Object.freeze({ pools: Object.freeze([]) });

/**
 * The pools on disks that several machines reach, in one file that all of them read and write. `usedBy` names the
 * machine that has a pool imported. To any other machine it is a pool that was not exported.
 *
 * As with `multihost`, a machine whose pool another one has imported by force can no longer write to it.
 */
export class SharedPools {
  readonly #file: string;
  readonly #machine: string;
  /** The version of the file that was read or written last. */
  #version = '';
  #stored: ZfsRecord = none;
  #value: ZfsRecord = none;

  constructor(file: string, machine: string) {
    this.#file = file;
    this.#machine = machine;
  }

  /** What this machine sees. The same object until the file changes. */
  get value(): ZfsRecord {
    const version = this.#versionNow();
    if (version === this.#version) return this.#value;
    this.#stored = version === '' ? none : read(this.#file);
    this.#value = Object.freeze({ ...this.#stored, pools: this.#stored.pools.map((pool) => this.#seen(pool)) });
    this.#version = version;
    return this.#value;
  }

  keep(value: ZfsRecord): void {
    const before = this.value;
    const guids = new Set<string>();
    for (const { name, guid } of value.pools) {
      if (guids.has(guid))
        throw new HostError(
          `cannot write to '${name}': pool is suspended; another machine has imported it (multihost)`,
        );
      guids.add(guid);
    }
    const earlier = new Map(before.pools.map((pool, index) => [pool, this.#stored.pools[index]]));
    const pools = value.pools.map((pool) => earlier.get(pool) ?? this.#written(pool));
    const stored = Object.freeze({ ...value, pools });
    try {
      replaceFile(this.#file, `${this.#file}.${this.#machine}.new`, JSON.stringify(stored), 0o600);
    } catch (error) {
      throw hostError(`cannot store ${this.#file}`, error);
    }
    this.#stored = stored;
    this.#value = value;
    this.#version = this.#versionNow();
  }

  /** The pool as the machine sees it that has it imported; undefined if that is this one, or none. */
  elsewhere(guid: string): { readonly machine: string; readonly pool: PoolRecord } | undefined {
    const index = this.value.pools.findIndex((pool) => pool.guid === guid);
    const pool = this.#stored.pools[index];
    return pool?.usedBy === undefined || pool.usedBy === this.#machine
      ? undefined
      : { machine: pool.usedBy, pool: { ...pool, exported: false } };
  }

  #seen(pool: PoolRecord): PoolRecord {
    const { usedBy } = pool;
    if (usedBy === this.#machine) return Object.freeze({ ...pool, exported: false, usedBy: undefined });
    return Object.freeze({ ...pool, exported: true, datasets: locked(pool.datasets) });
  }

  #written(pool: PoolRecord): PoolRecord {
    return pool.exported ? pool : Object.freeze({ ...pool, usedBy: this.#machine });
  }

  #versionNow(): string {
    try {
      const { ino, mtimeNs } = statSync(this.#file, { bigint: true });
      return `${ino} ${mtimeNs}`;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return '';
      throw hostError(`cannot read ${this.#file}`, error);
    }
  }
}

function read(file: string): ZfsRecord {
  const value = readZfsRecord(JSON.parse(readFileSync(file, 'utf8')));
  if (value === undefined) throw new Error(`${file} is not a valid state file of a shelf of virtual disks.`);
  return value;
}
