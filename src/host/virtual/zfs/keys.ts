import { isWithin } from '../../../lib/path.ts';
import { HostError } from '../../ports/index.ts';
import type { EncryptionKeys } from '../../ports/zfs.ts';
import type { DatasetRecord, EncryptionRecord, PoolRecord } from './record.ts';
import { digestOf, encryptionRootOf, locked } from './records.ts';
import { outOfSpace, type PoolStore } from './store.ts';
import { viewOf } from './view.ts';

export function virtualKeys(store: PoolStore): EncryptionKeys {
  const replace = (pool: PoolRecord, before: DatasetRecord, after: DatasetRecord) =>
    store.replace(
      pool,
      { ...pool, datasets: pool.datasets.map((record) => (record === before ? Object.freeze(after) : record)) },
      outOfSpace(before.name),
    );
  const change = ({ pool, dataset, encryption }: Root, changes: Partial<EncryptionRecord>) =>
    replace(pool, dataset, { ...dataset, encryption: Object.freeze({ ...encryption, ...changes }) });
  return {
    async loadKey(name: string, key: string): Promise<void> {
      const root = encryptionRoot(store, name, 'load');
      if (!root.encryption.locked) throw new HostError(`Key load error: Key already loaded for '${name}'.`);
      if (root.encryption.digest !== digestOf(key))
        throw new HostError(`Key load error: Incorrect key provided for '${name}'.`);
      change(root, { locked: false });
    },

    async unloadKey(name: string): Promise<void> {
      const root = encryptionRoot(store, name, 'unload');
      if (root.encryption.locked) throw new HostError(`Key unload error: Key already unloaded for '${name}'.`);
      store.mustBeIdle(keyedBy(root.pool, root.dataset), `Key unload error: '${name}' is busy.`);
      const { pool } = root;
      const datasets = locked(pool.datasets, (one) => isWithin(one.name, name));
      store.replace(pool, { ...pool, datasets }, outOfSpace(name));
    },

    async isKey(name: string, key: string): Promise<boolean> {
      return encryptionRoot(store, name, 'load').encryption.digest === digestOf(key);
    },

    async changeKey(name: string, key: string): Promise<void> {
      const root = encryptionRoot(store, name, 'change');
      if (root.encryption.locked) throw new HostError('Key change error: Key must be loaded.');
      change(root, { digest: digestOf(key) });
    },

    async setKeySlots(name: string, slots: string): Promise<void> {
      const { pool, dataset } = store.dataset(name);
      replace(pool, dataset, { ...dataset, keySlots: slots });
    },
  };
}

interface Root {
  readonly pool: PoolRecord;
  readonly dataset: DatasetRecord;
  readonly encryption: EncryptionRecord;
}

function encryptionRoot(store: PoolStore, name: string, operation: string): Root {
  const { pool, dataset } = store.dataset(name);
  const { encryption } = dataset;
  if (encryption !== undefined) return { pool, dataset, encryption };
  const byName = new Map(pool.datasets.map((record) => [record.name, record]));
  const root = encryptionRootOf(dataset, byName);
  throw new HostError(
    root === undefined
      ? `Key ${operation} error: '${name}' is not encrypted.`
      : `Key ${operation} error: Keys must be loaded for encryption root of '${name}' (${root.name}).`,
  );
}

/** What an encryption root encrypts. */
function keyedBy(pool: PoolRecord, root: DatasetRecord) {
  return { datasets: viewOf(pool).datasets.filter(({ encryptionRoot }) => encryptionRoot === root.name) };
}
