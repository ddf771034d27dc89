/** The keys of encrypted volumes: where they are found, and the steps that change them. */
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
import type { StartProgress } from '../../engine/upkeep/startup.ts';
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

/** The machine's own key, which opens volumes without a passphrase. It is sealed at rest and never leaves the machine. */
export const machineKey = collection('holdfast/machinekey', {
  title: 'machine key',
  description: 'The key that opens the volumes of this machine.',
  verbs: [],
  ofMachine: true,
  fields: { key: hidden(secret(text({ description: '256 random bits.', max: 64 }))) },
  seed: () => [{ key: randomBytes(32).toString('base64url') }],
  atStart: takeUpVolumes,
});

export function machineBytes(view: View): Buffer {
  const [record] = view.all(machineKey);
  if (record === undefined)
    throw failed('The key of this machine is lost; volumes open by passphrase or recovery key only.');
  return Buffer.from(record.key, 'base64url');
}

/** An encrypted volume of which the pool is there. */
export interface Encrypted {
  readonly name: string;
  readonly guid: string;
  readonly isLocked: boolean;
  readonly slots: KeySlots;
}

/** What is known of the volume's encryption; undefined for a plain one and for one that Holdfast did not encrypt. */
export function encryptionOf({ record, root }: Volume): Encrypted | undefined {
  const slots = readSlots(root?.keySlots);
  if (root?.key === undefined || slots === undefined) return undefined;
  return { name: record.vol_name, guid: record.vol_guid, isLocked: root.key === 'unavailable', slots };
}

export function hasPassphrase({ slots }: KeySlots): boolean {
  return slots.some(({ kind }) => kind === 'passphrase');
}

/**
 * At the start: pools of volumes that are not imported yet are imported, since the machine's own list of pools may have been
 * lost; then the volume is opened if the machine's key opens it. All volumes at once, so that none waits for another's disks.
 */
async function takeUpVolumes(operations: Operations, progress: StartProgress): Promise<void> {
  const { view, facts } = operations.world;
  const open = (name: string) => openAtStart(operations, name);
  const missing = facts.importable.filter(
    ({ name, guid }) => view.find(volumeRecord, 'vol_guid', guid)?.vol_name === name,
  );
  const there = view.all(volumeRecord).filter(({ vol_name: name }) => dueAtStart(operations.world, name) !== undefined);
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
      there,
      ({ vol_name: name }) => name,
      ({ vol_name: name }) => open(name),
    ),
  ]);
}

/** An encrypted volume that is locked, or whose keys were being changed when the power was cut. */
function dueAtStart(world: World, name: string): Encrypted | undefined {
  const volume = findVolume(world, name);
  const encrypted = volume && encryptionOf(volume);
  return encrypted !== undefined && (encrypted.isLocked || encrypted.slots.next !== undefined) ? encrypted : undefined;
}

/** What the machine's key opens is opened, and what the power cut short is settled. */
async function openAtStart(operations: Operations, name: string): Promise<void> {
  const encrypted = dueAtStart(operations.world, name);
  if (encrypted === undefined) return;
  await operations.work(`open the volume ${name}`, [`pool:${name}`], async (work) => {
    // Whoever locked it does not expect that the daemon's end opens it.
    if (encrypted.isLocked && (await heldNow(encrypted, work)) === lockedByHand) return;
    await openBy({ kind: 'machine', bytes: machineBytes(operations.world.view) }, encrypted, work, operations.world);
  });
}

/** Opens a volume by a secret. False, and nothing has been done, when it is the wrong one. */
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

/** The key of an open volume: from the machine's slot, or as it was held when somebody opened it. */
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

/** The one of these keys that the pool has. */
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

/** `key` is what takes it back, where that is known. */
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
    // To write the old ones over themselves is no fault, so there is no need to look.
    left: async () => true,
    undo: ({ zfs }) => zfs.setKeySlots(name, slotsText(before)),
    touches: [{ dataset: name, below: true }],
  };
}

/** In memory only: gone when the machine starts anew, as the key in the kernel is. */
const heldFolder = '/run/holdfast-keys';
const heldFile = (guid: string) => `${heldFolder}/${guid}`;
/** Stands there instead of a key. */
const lockedByHand = 'locked';

/** Holds the key of a volume that only people's secrets open, as long as it is open: its slots can be changed meanwhile. */
export function holdKey(guid: string, key: string, machine: Buffer): Step {
  return heldStep('hold the key of an open volume', guid, slotsText(newSlots(wrapped('machine', key, machine))));
}

/** Forgets the key, and lets the volume stay locked until the machine starts anew. */
export function markLocked(guid: string): Step {
  return heldStep('remember that a volume was locked', guid, lockedByHand);
}

export function forgetKey(guid: string): Step {
  return heldStep('forget the key of a volume', guid, undefined);
}

function heldStep(title: string, guid: string, content: string | undefined): Step {
  const path = heldFile(guid);
  let before: { readonly content: string | undefined } | undefined;
  const put = async ({ files }: Host, wanted: string | undefined) => {
    if (wanted !== undefined) return files.write(path, wanted, { mode: 0o600 });
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
