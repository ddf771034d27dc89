import { hash } from 'node:crypto';
import { HostError } from '../../ports/index.ts';
import type { PoolKeys } from '../../ports/zfs.ts';
import type { EncryptionRecord, PoolRecord } from './record.ts';
import { locked } from './records.ts';
import { outOfSpace, type PoolStore } from './store.ts';

export function virtualKeys(store: PoolStore): PoolKeys {
  return {
    async loadKey(name: string, key: string): Promise<void> {
      const { pool, encryption } = encrypted(store, name, 'load');
      if (!encryption.locked) throw new HostError(`Key load error: Key already loaded for '${name}'.`);
      if (encryption.digest !== digestOf(key))
        throw new HostError(`Key load error: Incorrect key provided for '${name}'.`);
      store.replace(pool, { ...pool, encryption: Object.freeze({ ...encryption, locked: false }) }, outOfSpace(name));
    },

    async unloadKey(name: string): Promise<void> {
      const { pool, encryption } = encrypted(store, name, 'unload');
      if (encryption.locked) throw new HostError(`Key unload error: Key already unloaded for '${name}'.`);
      store.replace(pool, { ...pool, encryption: locked(encryption) }, outOfSpace(name));
    },

    async isKey(name: string, key: string): Promise<boolean> {
      return encrypted(store, name, 'load').encryption.digest === digestOf(key);
    },

    async changeKey(name: string, key: string): Promise<void> {
      const { pool, encryption } = encrypted(store, name, 'change');
      if (encryption.locked) throw new HostError('Key change error: Key must be loaded.');
      store.replace(
        pool,
        { ...pool, encryption: Object.freeze({ ...encryption, digest: digestOf(key) }) },
        outOfSpace(name),
      );
    },

    async setKeySlots(name: string, slots: string): Promise<void> {
      const pool = store.pool(name);
      store.replace(pool, { ...pool, keySlots: slots }, outOfSpace(name));
    },
  };
}

function encrypted(
  store: PoolStore,
  name: string,
  operation: string,
): { pool: PoolRecord; encryption: EncryptionRecord } {
  const pool = store.pool(name);
  if (pool.encryption === undefined)
    throw new HostError(`Key ${operation} error: Encryption not enabled for '${name}'.`);
  return { pool, encryption: pool.encryption };
}

export function digestOf(key: string): string {
  return hash('sha256', key);
}
