/** What can be done with the keys of volumes, datasets and zvols: each function is one request. */
import { failed, invalid, missing, refused } from '../../engine/declare/errors.ts';
import type { Operations, Work, World } from '../../engine/declare/resource.ts';
import type { Step } from '../../engine/declare/step.ts';
import type { NewEncryption } from '../../host/ports/zfs.ts';
import { quote } from '../../lib/text.ts';
import { changeKey, forgetKey, holdKey, markLocked, prepareKeyChange, unloadKey, writeSlots } from './key-steps.ts';
import {
  datasetCalled,
  type Encrypted,
  encryptedBelow,
  encryptedCalled,
  heldName,
  keyOf,
  lockedAbove,
  lockedBy,
  lockOf,
  machineBytes,
  type Opener,
  openBelow,
  openBy,
} from './keys.ts';
import { newKey, newSlots, type Slot, settled, slotsText, withNext, wrapped, wrappedByPassphrase } from './keyslots.ts';
import { namingOccupants } from './occupants.ts';

/** A new key of this slot: of the passphrase, or without one of the machine. */
function newSlot(key: string, passphrase: string | undefined, { view, facts }: World): Promise<Slot> | Slot {
  return passphrase === undefined
    ? wrapped('machine', key, machineBytes(view))
    : wrappedByPassphrase(key, passphrase, facts.host);
}

/** What makes a new dataset or zvol an encryption root, and the steps to take before it is created. */
export async function newDatasetEncryption(
  name: string,
  passphrase: string | undefined,
  world: World,
): Promise<{ readonly encryption: NewEncryption; readonly steps: readonly Step[] }> {
  const key = newKey();
  const slots = slotsText(newSlots(await newSlot(key, passphrase, world)));
  const isHeld = passphrase !== undefined;
  return {
    encryption: { key, slots },
    steps: isHeld ? [holdKey(heldName(name), key, machineBytes(world.view))] : [forgetKey({ guid: heldName(name) })],
  };
}

/** The steps that forget the keys of what is destroyed with a dataset. */
export function forgetKeysOf(name: string, facts: World['facts']): readonly Step[] {
  const own = datasetCalled(name, facts) ?? [];
  return [own, encryptedBelow(name, facts)].flat().map(({ heldAs }) => forgetKey({ guid: heldAs }));
}

/** The encryption root that a request names. */
export function namedRoot(name: string, world: World): Encrypted {
  const encrypted = encryptedCalled(name, world);
  if (encrypted !== undefined) return encrypted;
  const dataset = world.facts.storage.datasets.get(name);
  if (dataset === undefined) throw missing(`There is no volume, dataset or zvol ${quote(name)}.`);
  if (dataset.encryptionRoot === undefined) throw refused(`${name} is not encrypted.`);
  if (dataset.encryptionRoot === name)
    throw refused(`The volume ${name} was not encrypted by Holdfast and has no key slots.`);
  throw refused(`${name} has no key of its own: it is encrypted with the key of ${dataset.encryptionRoot}. Name that.`);
}

export async function lockRoot(name: string, operations: Operations): Promise<void> {
  const { title } = namedRoot(name, operations.world);
  const locking = operations.work(`lock ${title}`, [lockOf(name)], async (work) => {
    const { world } = operations;
    const encrypted = namedRoot(name, world);
    if (encrypted.isLocked) throw refused(`${upperFirst(title)} is already locked.`);
    const below = encryptedBelow(name, world.facts).filter(({ isLocked }) => !isLocked);
    const steps: Step[] = [];
    for (const inner of below.toReversed())
      steps.push(
        unloadKey({ name: inner.name, key: await keyOf(inner, work, world.view) }),
        forgetKey({ guid: inner.heldAs }),
      );
    const key = await keyOf(encrypted, work, world.view);
    await work.steps([...steps, unloadKey({ name, key }), markLocked({ guid: encrypted.heldAs })]);
  });
  await namingOccupants(operations, { dataset: name }, locking);
}

/** Unlocks with the first of these that opens it. */
export async function unlockRoot(
  name: string,
  openers: readonly Opener[],
  operations: Operations,
  then?: (work: Work) => Promise<void>,
): Promise<void> {
  const root = namedRoot(name, operations.world);
  const { title } = root;
  const opensItself = root.slots.slots.some(({ kind }) => kind === 'machine');
  if (openers.length === 0 && !opensItself) throw invalid({ __all__: [nothingSent(root)] });
  await operations.work(`unlock ${title}`, [lockOf(name)], async (work) => {
    const { world } = operations;
    const encrypted = namedRoot(name, world);
    if (!encrypted.isLocked) throw refused(`${upperFirst(title)} is not locked.`);
    const above = lockedAbove(name, world.facts);
    if (above !== undefined)
      throw refused(`${upperFirst(title)} is below ${above}, which is locked. Unlock that first.`, lockedBy(above));
    const machine: Opener = { kind: 'machine', bytes: machineBytes(world.view) };
    const all = openers.length === 0 ? [machine] : openers;
    let isOpen = false;
    for (const opener of all) isOpen ||= await openBy(opener, encrypted, work, world);
    const [{ kind } = machine] = all;
    if (!isOpen) throw failed(`The ${openerTitles[kind]} does not unlock ${title}.`);
    await openBelow(name, work, operations);
    await then?.(work);
  });
}

const openerTitles: Readonly<Record<Opener['kind'], string>> = {
  machine: 'key of the machine',
  passphrase: 'passphrase',
  recovery: 'recovery key',
  key: 'key',
};

function nothingSent({ kind, title }: Encrypted): string {
  const [secret, what] = kind === 'volume' ? ['recovery_key', 'this volume'] : ['key', title];
  return `Send passphrase or ${secret}: the machine has no key of ${what}.`;
}

/**
 * Gives an encryption root a new key, which only the passphrase opens, or without one only the machine. After each step
 * the slots open the key that ZFS has at that moment: see `KeySlots.next`.
 */
export async function rotateKey(name: string, passphrase: string | undefined, operations: Operations): Promise<void> {
  const { title } = namedRoot(name, operations.world);
  await operations.work(`rekey ${title}`, [lockOf(name)], async (work) => {
    const { encrypted, key, machine, slots } = await opened(name, operations, work);
    const { heldAs: guid } = encrypted;
    const fresh = newKey();
    const both = withNext(slots, key, fresh, await newSlot(fresh, passphrase, operations.world));
    await work.steps([
      prepareKeyChange({ name, before: encrypted.slots, after: both }),
      changeKey({ name, before: key, after: fresh }),
      writeSlots({ name, before: both, after: settled(both, fresh, machine) }),
    ]);
    // Not known beforehand: a start that finds the change of the key begun must not forget the key before it.
    await work.step(passphrase === undefined ? forgetKey({ guid }) : holdKey(guid, fresh, machine));
  });
}

/** An open encryption root with its key, and its slots with an interrupted key change settled. */
export async function opened(name: string, operations: Operations, work: Work) {
  const { view } = operations.world;
  const encrypted = namedRoot(name, operations.world);
  const { kind, title } = encrypted;
  if (encrypted.isLocked) throw failed(`${upperFirst(title)} is locked; unlock it first.`, undefined, lockedBy(name));
  const key = await keyOf(encrypted, work, view);
  if (key === undefined)
    throw failed(`Holdfast no longer has the key of ${title}. Lock the ${kind} and unlock it again.`);
  const machine = machineBytes(view);
  return { encrypted, key, machine, slots: settled(encrypted.slots, key, machine) };
}

/** The key itself, in hex digits. A job remains that shows that it was given out, without the key. */
export async function exportedKey(name: string, operations: Operations): Promise<string> {
  const { title } = namedRoot(name, operations.world);
  return operations.work(`export the key of ${title}`, [lockOf(name)], async (work) => {
    const key = await keyOf(namedRoot(name, operations.world), work, operations.world.view);
    if (key === undefined)
      throw failed(`Holdfast does not have the key of ${title}. Unlock it with its passphrase or its key first.`);
    return key;
  });
}

function upperFirst(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}
