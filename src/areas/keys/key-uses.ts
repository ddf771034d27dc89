import type { Log } from '../../engine/declare/log.ts';
import type { KeyUse, KeyUses } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';

export interface StoredUse {
  readonly key: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly address: string;
}

export interface KeyUseStore {
  keyUses(): readonly StoredUse[];
  putKeyUses(uses: readonly StoredUse[]): void;
}

/** Milliseconds between two writes. A crash loses the uses of that time. */
const pause = 60_000;

/** When and from where keys were last used. Written together once in a while, so that no request waits for the disk. */
export class LastUses implements KeyUses {
  readonly #store: KeyUseStore;
  readonly #log: Log;
  readonly #uses: Map<number, StoredUse>;
  readonly #unwritten = new Set<number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: KeyUseStore, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#uses = new Map(store.keyUses().map((use) => [use.key, use]));
  }

  note(key: number, at: number, address: string): void {
    this.#uses.set(key, { key, at, address });
    this.#unwritten.add(key);
    this.#timer ??= setTimeout(() => this.write(), pause).unref();
  }

  get(key: number): KeyUse | undefined {
    const use = this.#uses.get(key);
    return use && { at: new Date(use.at).toISOString(), address: use.address };
  }

  /** Writes what was noted since the last time. On a full disk it stays noted. */
  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#unwritten.size === 0) return;
    try {
      this.#store.putKeyUses([...this.#unwritten].map((key) => this.#uses.get(key)).filter((use) => use !== undefined));
      this.#unwritten.clear();
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'keys: the last uses could not be stored');
    }
  }
}
