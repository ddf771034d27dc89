/** The keys of encrypted volumes: how Holdfast finds them, and the steps that change them. */
import { randomBytes } from 'node:crypto';
import { failed } from '../../engine/declare/errors.ts';
import { hidden, secret, text } from '../../engine/declare/fields.ts';
import {
  collection,
  type Operations,
  type Step,
  type View,
  type Work,
  type World,
} from '../../engine/declare/resource.ts';
import type { StartProgress } from '../../engine/declare/start-progress.ts';
import type { Host } from '../../host/ports/index.ts';
import {
  type KeySlots,
  keysOpenedBy,
  newSlots,
  readSlots,
  type Secret,
  settled,
  slotsText,
  wrapped,
} from './keyslots.ts';
import { findVolume, importPool, type Volume, volumeRecord } from './volumes.ts';

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
        await operations.work(`import the pool ${name}`, [`pool:${name}`], (work) => work.step(importPool(name, guid)));
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
  if (isLocked) await work.step(loadKey(name, key));
  const now = settled(slots, key, machineBytes(view));
  if (now !== slots) await work.step(writeSlots(name, slots, now));
  const opensItself = now.slots.some(({ kind }) => kind === 'machine');
  await work.step(opensItself ? forgetKey(guid) : holdKey(guid, key, machineBytes(view)));
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

async function heldNow({ name, guid }: Encrypted, work: Work): Promise<string | undefined> {
  let held: string | undefined;
  await work.step({
    title: `look for the key of ${name}`,
    perform: async ({ files }) => {
      held = await files.read(heldFile(guid));
    },
  });
  return held;
}

/** The candidate that is the key of the pool. */
async function findKey(name: string, candidates: readonly string[], work: Work): Promise<string | undefined> {
  let found: string | undefined;
  await work.step({
    title: `try the key of ${name}`,
    perform: async ({ zfs }) => {
      for (const key of candidates) if (found === undefined && (await zfs.isKey(name, key))) found = key;
    },
  });
  return found;
}

// Steps ---------------------------------------------------------------------------------------------------------------

export function loadKey(name: string, key: string): Step {
  return {
    title: `load the key of ${name}`,
    perform: ({ zfs }) => zfs.loadKey(name, key),
    left: async (host) => (await keyState(host, name)) === 'available',
    undo: ({ zfs }) => zfs.unloadKey(name),
    touches: [{ dataset: name, below: true }],
  };
}

/** `key` is loaded again by the undo; a step without it cannot be undone. */
export function unloadKey(name: string, key: string | undefined): Step {
  const step: Step = {
    title: `unload the key of ${name}`,
    perform: ({ zfs }) => zfs.unloadKey(name),
    touches: [{ dataset: name, below: true }],
  };
  if (key === undefined) return step;
  return {
    ...step,
    left: async (host) => (await keyState(host, name)) === 'unavailable',
    undo: ({ zfs }) => zfs.loadKey(name, key),
  };
}

async function keyState({ zfs }: Host, name: string): Promise<string | undefined> {
  return (await zfs.datasets({ names: [name] }))[0]?.key;
}

export function changeKey(name: string, before: string, after: string): Step {
  return {
    title: `change the key of ${name}`,
    perform: ({ zfs }) => zfs.changeKey(name, after),
    left: ({ zfs }) => zfs.isKey(name, after),
    undo: ({ zfs }) => zfs.changeKey(name, before),
  };
}

export function writeSlots(name: string, before: KeySlots, after: KeySlots): Step {
  return {
    title: `write the key slots of ${name}`,
    perform: ({ zfs }) => zfs.setKeySlots(name, slotsText(after)),
    // Writing the old slots over themselves is harmless, so there is no need to check the host.
    left: async () => true,
    undo: ({ zfs }) => zfs.setKeySlots(name, slotsText(before)),
    touches: [{ dataset: name, below: true }],
  };
}

/** In memory only: lost when the machine restarts, as is the key in the kernel. */
const heldFolder = '/run/holdfast-keys';
const heldFile = (guid: string) => `${heldFolder}/${guid}`;
/** The content of the file, in place of a key, for a volume that a user has locked. */
const lockedByHand = 'locked';

/** Keeps the key of an unlocked volume that the machine key does not open, so that its slots can still be changed. */
export function holdKey(guid: string, key: string, machine: Buffer): Step {
  return heldStep('hold the key of an open volume', guid, slotsText(newSlots(wrapped('machine', key, machine))));
}

/** Forgets the key, and keeps the volume locked until the machine restarts. */
export function markLocked(guid: string): Step {
  return heldStep('remember that a volume was locked', guid, lockedByHand);
}

export function forgetKey(guid: string): Step {
  return heldStep('forget the key of a volume', guid, undefined);
}

function heldStep(title: string, guid: string, content: string | undefined): Step {
  const path = heldFile(guid);
  let before: { readonly content: string | undefined } | undefined;
  const put = async ({ files }: Host, text: string | undefined) => {
    if (text !== undefined) return files.write(path, text, { mode: 0o600 });
    await files.remove(path);
    await files.removeEmptyFolder(heldFolder);
  };
  return {
    title,
    async perform(host) {
      before = { content: await host.files.read(path) };
      if (before.content !== content) await put(host, content);
    },
    left: async () => before !== undefined,
    undo: (host) => put(host, before?.content),
  };
}
