/**
 * The slots in which a volume's key is kept. The key itself is random and only ZFS knows it; each slot holds it wrapped
 * by one secret: the machine's own key, a passphrase, or a recovery key. They are kept in a property of the pool.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID, scrypt } from 'node:crypto';
import { isObject } from '../../lib/json.ts';

export interface KeySlots {
  /** What the key is called. Another key has another name. */
  readonly id: string;
  readonly slots: readonly Slot[];
  /**
   * Of a key that is taking this one's place: until that is done, the pool has the one or the other. `former` holds the
   * new key wrapped by the old one, so that whoever can open the old slots has both.
   */
  readonly next?: { readonly id: string; readonly slots: readonly Slot[] };
}

export interface Slot {
  readonly kind: SlotKind;
  readonly salt: string;
  /** Nonce, tag and the wrapped key. */
  readonly box: string;
  /** Of the function that makes a key of a passphrase. */
  readonly cost?: Cost;
}

const slotKinds = ['machine', 'passphrase', 'recovery', 'former'] as const;
export type SlotKind = (typeof slotKinds)[number];

/** Of scrypt: N is two to the power of `log`. */
interface Cost {
  readonly log: number;
  readonly r: number;
  readonly p: number;
}

/**
 * What each try of a passphrase costs: 128 MiB and some tenths of a second. The volumes of the virtual host hold no
 * secrets, and programs that are tested against it should not wait that long.
 */
const costs = { linux: { log: 17, r: 8, p: 1 }, virtual: { log: 12, r: 8, p: 1 } } as const satisfies Readonly<
  Record<string, Cost>
>;
/** What a pool from elsewhere may ask for. */
const most: Cost = { log: 18, r: 8, p: 4 };

/** 256 bits in hex digits, as the ZFS port wants them. */
export function newKey(): string {
  return randomBytes(32).toString('hex');
}

export function newSlots(...slots: readonly Slot[]): KeySlots {
  return Object.freeze({ id: randomUUID(), slots: Object.freeze(slots) });
}

/** Wraps a key by a secret of 256 random bits. */
export function wrapped(kind: Exclude<SlotKind, 'passphrase'>, key: string, secret: Buffer): Slot {
  const salt = randomBytes(16);
  return Object.freeze({ kind, salt: salt.toString('base64url'), box: close(derived(secret, salt), kind, key) });
}

/** Wraps a key by a passphrase, by way of a function that costs much memory. */
export async function wrappedByPassphrase(key: string, passphrase: string, host: keyof typeof costs): Promise<Slot> {
  const salt = randomBytes(16);
  const cost = costs[host];
  const box = close(await stretched(passphrase, salt, cost), 'passphrase', key);
  return Object.freeze({ kind: 'passphrase', salt: salt.toString('base64url'), box, cost });
}

export type Secret =
  | { readonly kind: 'machine' | 'recovery'; readonly bytes: Buffer }
  | { readonly kind: 'passphrase'; readonly words: string };

/** The keys that a secret opens: one, or two while one key is taking another's place; none when it is the wrong secret. */
export async function keysOpenedBy(secret: Secret, { slots, next }: KeySlots): Promise<readonly string[]> {
  const keys: string[] = [];
  for (const slot of [...slots, ...(next?.slots ?? [])]) {
    if (slot.kind !== secret.kind) continue;
    const salt = Buffer.from(slot.salt, 'base64url');
    const by =
      secret.kind === 'passphrase'
        ? await stretched(secret.words, salt, slot.cost ?? costs.linux)
        : derived(secret.bytes, salt);
    const key = open(by, slot);
    if (key !== undefined) keys.push(key);
  }
  const later = (next?.slots ?? []).filter(({ kind }) => kind === 'former');
  for (const key of [...keys])
    for (const slot of later)
      keys.push(...[open(derived(Buffer.from(key, 'hex'), Buffer.from(slot.salt, 'base64url')), slot) ?? []].flat());
  return [...new Set(keys)];
}

/** One key was taking another's place when the power went, and the pool has `key`: what its slots are then. */
export function settled(slots: KeySlots, key: string, machine: Buffer): KeySlots {
  const { next } = slots;
  if (next === undefined) return slots;
  const former = next.slots.find(({ kind }) => kind === 'former');
  // What wraps the new key is the old one.
  const isOld =
    former !== undefined &&
    open(derived(Buffer.from(key, 'hex'), Buffer.from(former.salt, 'base64url')), former) !== undefined;
  return Object.freeze(
    isOld ? { id: slots.id, slots: slots.slots } : { id: next.id, slots: [wrapped('machine', key, machine)] },
  );
}

/** With a new key on its way. */
export function withNext(slots: KeySlots, former: string, key: string, machine: Buffer): KeySlots {
  const next = newSlots(wrapped('machine', key, machine), wrapped('former', key, Buffer.from(former, 'hex')));
  return Object.freeze({ id: slots.id, slots: slots.slots, next });
}

/** As one word, for a property. */
export function slotsText(slots: KeySlots): string {
  return Buffer.from(JSON.stringify(slots)).toString('base64url');
}

/** What a property says, or undefined when it is nothing that Holdfast wrote. */
export function readSlots(text: string | undefined): KeySlots | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isKeySet(value)) return undefined;
    const { next } = value;
    return next === undefined
      ? Object.freeze({ id: value.id, slots: value.slots })
      : isKeySet(next)
        ? Object.freeze({ id: value.id, slots: value.slots, next })
        : undefined;
  } catch {
    return undefined;
  }
}

function isKeySet(
  value: unknown,
): value is { readonly id: string; readonly slots: readonly Slot[]; readonly next?: unknown } {
  return (
    isObject(value) && typeof value['id'] === 'string' && Array.isArray(value['slots']) && value['slots'].every(isSlot)
  );
}

function isSlot(value: unknown): value is Slot {
  if (!isObject(value) || typeof value['salt'] !== 'string' || typeof value['box'] !== 'string') return false;
  return slotKinds.some((kind) => kind === value['kind']) && (value['cost'] === undefined || isBearable(value['cost']));
}

function isBearable(value: unknown): value is Cost {
  const within = (number: unknown, limit: number) =>
    typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= limit;
  return isObject(value) && within(value['log'], most.log) && within(value['r'], most.r) && within(value['p'], most.p);
}

function derived(secret: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, 'key slot of a volume', 32));
}

function stretched(passphrase: string, salt: Buffer, { log, r, p }: Cost): Promise<Buffer> {
  const N = 2 ** log;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  // One passphrase may be typed as different characters (NFC, NFD) that look the same.
  scrypt(passphrase.normalize('NFC'), salt, 32, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
    error === null ? resolve(key) : reject(error),
  );
  return promise;
}

function close(by: Buffer, kind: SlotKind, key: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', by, nonce).setAAD(Buffer.from(kind));
  const body = Buffer.concat([cipher.update(key, 'hex'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
}

function open(by: Buffer, { kind, box }: Slot): string | undefined {
  const bytes = Buffer.from(box, 'base64url');
  try {
    const decipher = createDecipheriv('aes-256-gcm', by, bytes.subarray(0, 12)).setAAD(Buffer.from(kind));
    decipher.setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('hex');
  } catch {
    return undefined;
  }
}
