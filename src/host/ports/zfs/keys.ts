/** Keys of encrypted pools: 64 hex digits. The key of a pool's root dataset also encrypts all datasets below it. */
export interface PoolKeys {
  /** Loads the key of an encrypted pool, and mounts its datasets. */
  loadKey(pool: string, key: string): Promise<void>;
  /** Unmounts all datasets of the pool and unloads its key. Throws when something is in use. */
  unloadKey(pool: string): Promise<void>;
  /** Whether this is the pool's key. The key need not be loaded. */
  isKey(pool: string, key: string): Promise<boolean>;
  /** Changes the key of a pool whose current key is loaded. */
  changeKey(pool: string, key: string): Promise<void>;
  /** Stores the key slots, a text without blanks, in the pool. The key need not be loaded. */
  setKeySlots(pool: string, slots: string): Promise<void>;
}

/** The user property of a pool's root dataset for its key slots, which contain the wrapped key. */
export const keySlotsProperty = 'holdfast:keyslots';
