/** The keys of encrypted volumes: how Holdfast finds them. */
import { createHmac, randomBytes } from 'node:crypto';
import { failed } from '../../engine/declare/errors.ts';
import { hidden, secret, text } from '../../engine/declare/fields.ts';
import { collection, type Operations, type View, type Work, type World } from '../../engine/declare/resource.ts';
import type { StartProgress } from '../../engine/declare/start-progress.ts';
import { forgetKey, heldFile, holdKey, loadKey, lockedByHand, writeSlots } from './key-steps.ts';
import { type KeySlots, keysOpenedBy, readSlots, type Secret, settled } from './keyslots.ts';
import { importPool } from './steps.ts';
import { findVolume, type Volume, volumeRecord } from './volumes.ts';

/** The key that unlocks volumes without a passphrase. It is sealed at rest and never leaves the machine. */
export const machineKey = collection('holdfast/machinekey', {
  title: 'machine key',
  description: 'The key that unlocks the volumes of this machine.',
  verbs: [],
  ofMachine: true,
  fields: { key: hidden(secret(text({ description: '256 random bits.', max: 64 }))) },
  seed: () => [{ key: randomBytes(32).toString('base64url') }],
  atStart: importAndOpenVolumes,
});

export function machineBytes(view: View): Buffer {
  const [record] = view.all(machineKey);
  if (record === undefined)
    throw failed('The key of this machine is lost. Unlock volumes with their passphrase or recovery key.');
  return Buffer.from(record.key, 'base64url');
}

/**
 * Bytes that no other machine has, and that are the same each time for the same purpose: what a request draws must be
 * what its dry run has shown. They say nothing of the key.
 */
export function drawnFor(purpose: string, view: View): Buffer {
  const [record] = view.all(machineKey);
  return record === undefined ? randomBytes(32) : createHmac('sha256', record.key).update(purpose).digest();
}

/** An encrypted volume whose pool is imported. */
export interface Encrypted {
  readonly name: string;
  readonly guid: string;
  readonly isLocked: boolean;
  readonly slots: KeySlots;
}

/** The encryption of a volume; undefined for a plain volume and for a volume that Holdfast did not encrypt. */
export function encryptionOf({ record, root }: Volume): Encrypted | undefined {
  const slots = readSlots(root?.keySlots);
  if (root?.key === undefined || slots === undefined) return undefined;
  return { name: record.vol_name, guid: record.vol_guid, isLocked: root.key === 'unavailable', slots };
}

export function hasPassphrase({ slots }: KeySlots): boolean {
  return slots.some(({ kind }) => kind === 'passphrase');
}

/**
 * At start, imports the pools of known volumes that are not imported, because the pool cache of the machine may have
 * been lost, and then unlocks each volume that the machine key opens. All volumes are handled in parallel, so that no
 * volume waits for the disks of another.
 */
async function importAndOpenVolumes(operations: Operations, progress: StartProgress): Promise<void> {
  const { view, facts } = operations.world;
  const open = (name: string) => openAtStart(operations, name);
  const missing = facts.importable.filter(
    ({ name, guid }) => view.find(volumeRecord, 'vol_guid', guid)?.vol_name === name,
  );
  const imported = view
    .all(volumeRecord)
    .filter(({ vol_name: name }) => dueAtStart(operations.world, name) !== undefined);
  await Promise.all([
    progress.each(
      'importing',
      missing,
      ({ name }) => name,
      async ({ name, guid }) => {
        await operations.work(`import the pool ${name}`, [`pool:${name}`], (work) =>
          work.step(importPool({ name, guid })),
        );
        await open(name);
      },
    ),
    progress.each(
      'opening',
      imported,
      ({ vol_name: name }) => name,
      ({ vol_name: name }) => open(name),
    ),
  ]);
}

/** An encrypted volume that is locked, or whose key change was interrupted, for example by a power failure. */
function dueAtStart(world: World, name: string): Encrypted | undefined {
  const volume = findVolume(world, name);
  const encrypted = volume && encryptionOf(volume);
  return encrypted !== undefined && (encrypted.isLocked || encrypted.slots.next !== undefined) ? encrypted : undefined;
}

/** Unlocks the volume if the machine key opens it, and settles an interrupted key change. */
async function openAtStart(operations: Operations, name: string): Promise<void> {
  const encrypted = dueAtStart(operations.world, name);
  if (encrypted === undefined) return;
  await operations.work(`open the volume ${name}`, [`pool:${name}`], async (work) => {
    // A volume that a user has locked stays locked when the daemon restarts.
    if (encrypted.isLocked && (await heldNow(encrypted, work)) === lockedByHand) return;
    await openBy({ kind: 'machine', bytes: machineBytes(operations.world.view) }, encrypted, work, operations.world);
  });
}

/** Unlocks a volume with a secret. Returns false, with nothing changed, when the secret is wrong. */
export async function openBy(secret: Secret, encrypted: Encrypted, work: Work, { view }: World): Promise<boolean> {
  const { name, guid, slots, isLocked } = encrypted;
  const key = await findKey(name, await keysOpenedBy(secret, slots), work);
  if (key === undefined) return false;
  if (isLocked) await work.step(loadKey({ name, key }));
  const now = settled(slots, key, machineBytes(view));
  if (now !== slots) await work.step(writeSlots({ name, before: slots, after: now }));
  const opensItself = now.slots.some(({ kind }) => kind === 'machine');
  await work.step(opensItself ? forgetKey({ guid }) : holdKey(guid, key, machineBytes(view)));
  return true;
}

/** The key of an unlocked volume: from the machine's slot, or from the copy held since a user unlocked it. */
export async function keyOf(encrypted: Encrypted, work: Work, view: View): Promise<string | undefined> {
  const machine: Secret = { kind: 'machine', bytes: machineBytes(view) };
  const held = readSlots(await heldNow(encrypted, work));
  const candidates = [
    ...(await keysOpenedBy(machine, encrypted.slots)),
    ...(held === undefined ? [] : await keysOpenedBy(machine, held)),
  ];
  return findKey(encrypted.name, candidates, work);
}

function heldNow({ name, guid }: Encrypted, work: Work): Promise<string | undefined> {
  return work.ask(`look for the key of ${name}`, ({ files }) => files.read(heldFile(guid)));
}

/** The candidate that is the key of the pool. */
function findKey(name: string, candidates: readonly string[], work: Work): Promise<string | undefined> {
  return work.ask(`try the key of ${name}`, async ({ zfs }) => {
    for (const key of candidates) if (await zfs.isKey(name, key)) return key;
    return undefined;
  });
}
