/** The keys of encrypted volumes, datasets and zvols: how Holdfast finds them. */
import { createHmac, randomBytes } from 'node:crypto';
import { failed } from '../../engine/declare/errors.ts';
import { hidden, secret, text } from '../../engine/declare/fields.ts';
import { collection, type Operations, type View, type Work, type World } from '../../engine/declare/resource.ts';
import type { StartProgress } from '../../engine/declare/start-progress.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { forgetKey, heldFile, holdKey, loadKey, lockedByHand, writeSlots } from './key-steps.ts';
import { type KeySlots, keysOpenedBy, noSlots, readSlots, type Secret, settled } from './keyslots.ts';
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

/** An encryption root: an encrypted volume whose pool is imported, or a dataset or zvol with a key of its own. */
export interface Encrypted {
  readonly name: string;
  readonly kind: 'volume' | 'dataset' | 'zvol';
  /** What users call it: the volume tank. */
  readonly title: string;
  /** Names what is held of its key while it is open. */
  readonly heldAs: string;
  readonly isLocked: boolean;
  readonly slots: KeySlots;
}

/** The encryption of a volume; undefined for a plain volume and for a volume that Holdfast did not encrypt. */
export function encryptionOf({ record, root }: Volume): Encrypted | undefined {
  const slots = readSlots(root?.keySlots);
  if (root?.key === undefined || slots === undefined) return undefined;
  const { vol_name: name, vol_guid: heldAs } = record;
  return { name, kind: 'volume', title: `the volume ${name}`, heldAs, isLocked: root.key === 'unavailable', slots };
}

/** The encryption of a dataset or zvol; undefined for one without a key of its own. */
export function encryptionOfDataset({
  name,
  kind: ofZfs,
  key,
  encryptionRoot,
  keySlots,
}: Dataset): Encrypted | undefined {
  if (encryptionRoot !== name || !name.includes('/')) return undefined;
  const kind = ofZfs === 'volume' ? 'zvol' : 'dataset';
  const slots = readSlots(keySlots) ?? noSlots;
  return { name, kind, title: `the ${kind} ${name}`, heldAs: heldName(name), isLocked: key === 'unavailable', slots };
}

/** The name of a file, and never that of a pool's: those are numbers, and datasets begin with the letter of their pool. */
export const heldName = (dataset: string) => encodeURIComponent(dataset);

/** The encryption roots below a volume or dataset, parents first. */
export function encryptedBelow(name: string, { storage }: World['facts']): readonly Encrypted[] {
  return [...storage.datasets.values()]
    .filter((dataset) => dataset.name.startsWith(`${name}/`))
    .flatMap((dataset) => encryptionOfDataset(dataset) ?? []);
}

/** The nearest locked dataset or volume above, under which nothing can be mounted. */
export function lockedAbove(name: string, { storage }: Pick<World['facts'], 'storage'>): string | undefined {
  const above = name.slice(0, Math.max(0, name.lastIndexOf('/')));
  if (above === '') return undefined;
  return storage.datasets.get(above)?.key === 'unavailable' ? above : lockedAbove(above, { storage });
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
  const open = async (name: string) => {
    await openAtStart(operations, (world) => volumeCalled(name, world));
    for (const { name: below } of encryptedBelow(name, operations.world.facts))
      if (lockedAbove(below, operations.world.facts) === undefined)
        await openAtStart(operations, (world) => datasetCalled(below, world.facts));
  };
  const missing = facts.importable.filter(
    ({ name, guid }) => view.find(volumeRecord, 'vol_guid', guid)?.vol_name === name,
  );
  const imported = view
    .all(volumeRecord)
    .filter(
      ({ vol_name: name }) =>
        isDue(volumeCalled(name, operations.world)) || encryptedBelow(name, operations.world.facts).some(isDue),
    );
  await Promise.all([
    progress.each(
      'importing',
      missing,
      ({ name }) => name,
      async ({ name, guid }) => {
        await operations.work(`import the pool ${name}`, [`pool:${name}`], (work) =>
          work.step(importPool({ name, guid, isAsked: 'no' })),
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

function volumeCalled(name: string, world: World): Encrypted | undefined {
  const volume = findVolume(world, name);
  return volume && encryptionOf(volume);
}

export function datasetCalled(name: string, { storage }: World['facts']): Encrypted | undefined {
  const dataset = storage.datasets.get(name);
  return dataset && encryptionOfDataset(dataset);
}

/** The encryption root of this name, with the volume that a pool is. */
export function encryptedCalled(name: string, world: World): Encrypted | undefined {
  return name.includes('/') ? datasetCalled(name, world.facts) : volumeCalled(name, world);
}

/** Whether it is locked, or its key change was interrupted, for example by a power failure. */
function isDue(encrypted: Encrypted | undefined): boolean {
  return encrypted !== undefined && (encrypted.isLocked || encrypted.slots.next !== undefined);
}

/** Unlocks what the machine key opens, and settles an interrupted key change. */
async function openAtStart(operations: Operations, find: (world: World) => Encrypted | undefined): Promise<void> {
  const encrypted = find(operations.world);
  if (encrypted === undefined || !isDue(encrypted)) return;
  await operations.work(`open ${encrypted.title}`, [lockOf(encrypted.name)], (work) =>
    openByMachine(encrypted, work, operations.world),
  );
}

/** The lock of jobs that work on the pool of a dataset. */
export const lockOf = (name: string) => `pool:${name.split('/')[0] ?? name}`;

/** Unlocks what the machine key opens, unless a user has locked it: that stays locked when the daemon restarts. */
async function openByMachine(encrypted: Encrypted, work: Work, world: World): Promise<void> {
  if (encrypted.isLocked && (await heldNow(encrypted, work)) === lockedByHand) return;
  await openBy({ kind: 'machine', bytes: machineBytes(world.view) }, encrypted, work, world);
}

/** Unlocks the datasets and zvols below what was just unlocked, as far as the machine key opens them. */
export async function openBelow(name: string, work: Work, operations: Operations): Promise<void> {
  for (const { name: below } of encryptedBelow(name, operations.world.facts)) {
    const encrypted = datasetCalled(below, operations.world.facts);
    if (encrypted?.isLocked === true && lockedAbove(below, operations.world.facts) === undefined)
      await openByMachine(encrypted, work, operations.world);
  }
}

/** What unlocks: a secret of a slot, or the key itself. */
export type Opener = Secret | { readonly kind: 'key'; readonly key: string };

/** Unlocks an encryption root with a secret. Returns false, with nothing changed, when the secret is wrong. */
export async function openBy(by: Opener, encrypted: Encrypted, work: Work, { view }: World): Promise<boolean> {
  const { name, heldAs: guid, slots, isLocked } = encrypted;
  const key = await findKey(name, by.kind === 'key' ? [by.key] : await keysOpenedBy(by, slots), work);
  if (key === undefined) return false;
  if (isLocked) await work.step(loadKey({ name, key }));
  const now = settled(slots, key, machineBytes(view));
  if (now !== slots) await work.step(writeSlots({ name, before: slots, after: now }));
  const opensItself = now.slots.some(({ kind }) => kind === 'machine');
  await work.step(opensItself ? forgetKey({ guid }) : holdKey(guid, key, machineBytes(view)));
  return true;
}

/** The key of an encryption root: from the machine's slot, or from the copy held since a user unlocked it. */
export async function keyOf(encrypted: Encrypted, work: Work, view: View): Promise<string | undefined> {
  const machine: Secret = { kind: 'machine', bytes: machineBytes(view) };
  const held = readSlots(await heldNow(encrypted, work));
  const candidates = [
    ...(await keysOpenedBy(machine, encrypted.slots)),
    // While a new key replaces the held one, the slot `former` of the new slots opens with the held one.
    ...(held === undefined ? [] : await keysOpenedBy(machine, { ...encrypted.slots, ...held })),
  ];
  return findKey(encrypted.name, candidates, work);
}

function heldNow({ name, heldAs }: Encrypted, work: Work): Promise<string | undefined> {
  return work.ask(`look for the key of ${name}`, ({ files }) => files.read(heldFile(heldAs)));
}

/** The candidate that is the key. */
function findKey(name: string, candidates: readonly string[], work: Work): Promise<string | undefined> {
  return work.ask(`try the key of ${name}`, async ({ zfs }) => {
    for (const key of candidates) if (await zfs.isKey(name, key)) return key;
    return undefined;
  });
}

/** What programs learn of a request that needs the key of a locked one. */
export const lockedBy = (dataset: string) =>
  ({
    code: 'locked',
    help: { method: 'POST', path: '/api/holdfast/v1/encryption/unlock', body: { dataset } },
  }) as const;
