/**
 * Keys of encryption roots: 64 hex digits. An encryption root is a pool, dataset or volume that was created with a key of
 * its own. Its key also encrypts what is created below it, and what is cloned from any of these.
 */
export interface EncryptionKeys {
  /** Loads the key of an encryption root, and mounts what it encrypts. */
  loadKey(root: string, key: string): Promise<void>;
  /**
   * Unmounts what the key encrypts, with everything below it, and unloads the key and those of encryption roots below.
   * Throws when something is in use.
   */
  unloadKey(root: string): Promise<void>;
  /** Whether this is the key of the encryption root. The key need not be loaded. */
  isKey(root: string, key: string): Promise<boolean>;
  /** Changes the key of an encryption root whose current key is loaded. */
  changeKey(root: string, key: string): Promise<void>;
  /** Stores the key slots, a text without blanks, with the encryption root. The key need not be loaded. */
  setKeySlots(root: string, slots: string): Promise<void>;
}

/** What makes something new an encryption root (AES-256-GCM). */
export interface NewEncryption {
  readonly key: string;
  readonly slots: string;
}

/** The user property of an encryption root for its key slots, which contain the wrapped key. */
export const keySlotsProperty = 'holdfast:keyslots';
