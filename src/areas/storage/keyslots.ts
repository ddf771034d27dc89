/**
 * The key slots of an encryption root: of an encrypted volume, or of a dataset or zvol with a key of its own. The key
 * itself is random and only ZFS holds it; each slot contains the key wrapped with one secret: the machine key, a
 * passphrase or a recovery key. The slots are stored in a property of the encryption root, so they move with its disks.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID, scrypt } from 'node:crypto';
import { isObject } from '../../lib/json.ts';

export interface KeySlots {
  /** Identifier of the key. A new key gets a new identifier. */
  readonly id: string;
  readonly slots: readonly Slot[];
  /**
   * The slots of a new key while it replaces this one. Until the replacement is complete the pool has either key. The
   * slot `former` holds the new key wrapped with the old one, so a secret that opens the old slots yields both keys.
   */
  readonly next?: { readonly id: string; readonly slots: readonly Slot[] };
}

export interface Slot {
  readonly kind: SlotKind;
  readonly salt: string;
  /** Nonce, tag and the wrapped key. */
  readonly box: string;
  /** Cost of deriving the wrapping key from a passphrase. */
  readonly cost?: Cost;
}

const slotKinds = ['machine', 'passphrase', 'recovery', 'former'] as const;
export type SlotKind = (typeof slotKinds)[number];

/** Parameters of scrypt: N is two to the power of `log`. */
interface Cost {
  readonly log: number;
  readonly r: number;
  readonly p: number;
}

/**
 * On Linux each attempt at a passphrase costs 128 MiB and some tenths of a second. Volumes of the virtual host hold no
 * secrets, and clients tested against it should not wait that long, so the cost there is lower.
 */
const costs = { linux: { log: 17, r: 8, p: 1 }, virtual: { log: 12, r: 8, p: 1 } } as const satisfies Readonly<
  Record<string, Cost>
>;
/** The maximum cost accepted from the slots of an imported pool. */
const most: Cost = { log: 18, r: 8, p: 4 };

/** 256 bits in hex digits, as the ZFS port expects them. */
export function newKey(): string {
  return randomBytes(32).toString('hex');
}

export function newSlots(...slots: readonly Slot[]): KeySlots {
  return Object.freeze({ id: randomUUID(), slots: Object.freeze(slots) });
}

/** Wraps a key with a secret of 256 random bits. */
export function wrapped(kind: Exclude<SlotKind, 'passphrase'>, key: string, secret: Buffer): Slot {
  const salt = randomBytes(16);
  return Object.freeze({ kind, salt: salt.toString('base64url'), box: close(derived(secret, salt), kind, key) });
}

/** Wraps a key with a passphrase, through a memory-hard function. */
export async function wrappedByPassphrase(key: string, passphrase: string, host: keyof typeof costs): Promise<Slot> {
  const salt = randomBytes(16);
  const cost = costs[host];
  const box = close(await stretched(passphrase, salt, cost), 'passphrase', key);
  return Object.freeze({ kind: 'passphrase', salt: salt.toString('base64url'), box, cost });
}

/** Those of a dataset that Holdfast did not encrypt, such as one that a replication received. */
export const noSlots: KeySlots = Object.freeze({ id: '', slots: Object.freeze([]) });

export type Secret =
  | { readonly kind: 'machine' | 'recovery'; readonly bytes: Buffer }
  | { readonly kind: 'passphrase'; readonly text: string };

/** The keys that a secret opens: one, or two while a new key replaces the old one; none when the secret is wrong. */
export async function keysOpenedBy(secret: Secret, { slots, next }: KeySlots): Promise<readonly string[]> {
  const keys: string[] = [];
  for (const slot of [...slots, ...(next?.slots ?? [])]) {
    if (slot.kind !== secret.kind) continue;
    const salt = Buffer.from(slot.salt, 'base64url');
    const by =
      secret.kind === 'passphrase'
        ? await stretched(secret.text, salt, slot.cost ?? costs.linux)
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

/** The slots after an interrupted key change, given the key that the pool has. Without a key change, the same slots. */
export function settled(slots: KeySlots, key: string, machine: Buffer): KeySlots {
  const { next } = slots;
  if (next === undefined) return slots;
  const former = next.slots.find(({ kind }) => kind === 'former');
  // The old key is the one that unwraps the slot `former`.
  const isOld =
    former !== undefined &&
    open(derived(Buffer.from(key, 'hex'), Buffer.from(former.salt, 'base64url')), former) !== undefined;
  // Another machine may have begun the change, and this one has to open it by itself as well.
  const own = next.slots
    .filter(({ kind }) => kind !== 'former')
    .map((slot) => (slot.kind === 'machine' ? wrapped('machine', key, machine) : slot));
  return Object.freeze(isOld ? { id: slots.id, slots: slots.slots } : { id: next.id, slots: own });
}

/** The slots while `key` replaces `former`. The slot contains the new key. */
export function withNext(slots: KeySlots, former: string, key: string, slot: Slot): KeySlots {
  const next = newSlots(slot, wrapped('former', key, Buffer.from(former, 'hex')));
  return Object.freeze({ id: slots.id, slots: slots.slots, next });
}

/** The slots as text without spaces, for a ZFS property. */
export function slotsText(slots: KeySlots): string {
  return Buffer.from(JSON.stringify(slots)).toString('base64url');
}

/** Reads the property, or returns undefined when Holdfast did not write it. */
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
  return (
    slotKinds.some((kind) => kind === value['kind']) && (value['cost'] === undefined || isAcceptable(value['cost']))
  );
}

function isAcceptable(value: unknown): value is Cost {
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
  // Keyboards may send the same passphrase in different Unicode forms (NFC, NFD).
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
