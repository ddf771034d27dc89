import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isObject } from '../lib/json.ts';

/**
 * Encrypts secret values at rest with AES-256-GCM. The key is stored next to the database, readable only by its owner.
 */
export class Seal {
  readonly #key: KeyObject;

  constructor(key: Buffer) {
    if (key.length !== 32) throw new Error(`Expected a key of 32 bytes, got ${key.length}.`);
    this.#key = createSecretKey(key);
  }

  /** Reads the key, or creates one if there is none. */
  static at(file: string): Seal {
    if (!existsSync(file)) writeFileSync(file, randomBytes(32), { mode: 0o600, flag: 'wx' });
    return new Seal(readFileSync(file));
  }

  /** Identifies a text that may contain secrets: without the key, they cannot be guessed from it. */
  digest(text: string): string {
    return createHmac('sha256', this.#key).update('digest').update(text).digest('base64url').slice(0, 22);
  }

  close(value: unknown): Sealed {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    const body = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return { $sealed: Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64') };
  }

  /**
   * Encrypts a value for one purpose. The nonce follows from value and purpose, so that the same gives the same text, and
   * equal values for different purposes give different ones.
   */
  closeFor(purpose: string, value: unknown): string {
    const text = JSON.stringify(value);
    const nonce = createHmac('sha256', this.#key)
      .update(JSON.stringify(['nonce', purpose, text]))
      .digest()
      .subarray(0, 12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(purpose));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return `hf1:${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
  }

  /** Undefined if the text was encrypted with another key, for another purpose, or altered. */
  openFor(purpose: string, sealed: string): unknown {
    const bytes = Buffer.from(/^hf1:([\w-]{38,})$/.exec(sealed)?.[1] ?? '', 'base64url');
    if (bytes.length < 28) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12));
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(12, 28));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
      const value: unknown = JSON.parse(text);
      return value;
    } catch {
      return undefined;
    }
  }

  /** Throws if the value was encrypted with another key or altered. */
  open(sealed: Sealed): unknown {
    const bytes = Buffer.from(sealed.$sealed, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(12, 28));
    const value: unknown = JSON.parse(
      Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8'),
    );
    return value;
  }
}

export interface Sealed {
  readonly $sealed: string;
}

export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value['$sealed'] === 'string';
}
