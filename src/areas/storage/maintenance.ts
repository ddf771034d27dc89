/** The actions on a volume and on its devices (gaps 11.3). */
import { Fault, failed, invalid, refused } from '../../engine/declare/errors.ts';
import { type Fields, flag, inputOnly, required, text, titled } from '../../engine/declare/fields.ts';
import { type Action, action, type Operations, type World } from '../../engine/declare/resource.ts';
import type { Step } from '../../engine/plan/steps.ts';
import type { Pool, PoolDevice, PoolGroup } from '../../host/ports/zfs.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { bringOnline, detachDevice, removeDevice, replaceDevice, takeOffline } from './device-steps.ts';
import { passphrase } from './encryption.ts';
import { encryptionOf, hasPassphrase } from './keys.ts';
import { keysOpenedBy } from './keyslots.ts';
import { isData } from './layout.ts';
import { sparesOf } from './spares.ts';
import { switchScrub, upgradePool } from './steps.ts';
import { findVolume, type Volume } from './volumes.ts';

const label = required(
  inputOnly(
    text({
      description: 'Label or guid of the device from the status tree, or its name in `zpool status`.',
      max: 255,
    }),
  ),
);

export const maintenance: readonly Action<Fields, unknown, Volume>[] = [
  action({
    segment: 'scrub',
    title: 'Starts a scrub.',
    perform: ({ target, operations }) => scrub(target, operations, 'start'),
  }),
  action({
    method: 'DELETE',
    segment: 'scrub',
    verb: 'stop-scrub',
    title: 'Stops the scrub.',
    perform: ({ target, operations }) => scrub(target, operations, 'stop'),
  }),
  action({
    segment: 'upgrade',
    title: 'Enables every pool feature of this ZFS version. Older versions can no longer import the volume.',
    perform: ({ target, operations }) => upgrade(target, operations),
  }),
  action({
    segment: 'replace',
    title: 'Starts to replace a device by another disk.',
    fields: {
      label,
      replace_disk: required(
        inputOnly(
          text({
            description: 'Name of the new disk, as in storage/disk: an unused one, or a spare of the volume.',
            max: 64,
          }),
        ),
      ),
      force: inputOnly(flag(false, { description: 'Whether to use the new disk even if it holds data.' })),
      pass: titled(
        'Passphrase',
        passphrase(
          'The passphrase of the volume. It is verified when it is sent; replacing a disk does not require it.',
        ),
      ),
    },
    perform: async ({ target, sent: { pass = '', ...sent }, operations }) => {
      await mustOpen(target, pass);
      return replace(target, { label: '', replace_disk: '', force: false, ...sent }, operations);
    },
  }),
  action({
    segment: 'offline',
    title: 'Takes a device offline.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      await onDevice(target, sent.label ?? '', operations, 'offline', takeOffline);
      return "Disk offline'd.";
    },
  }),
  action({
    segment: 'online',
    title: 'Brings a device online.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      // Gaps 11.3: in the original system, taking a disk of an encrypted volume offline discards the key of the disk.
      if (target.root?.key !== undefined)
        throw failed('A device of an encrypted volume cannot be brought online again. Replace it.');
      await onDevice(target, sent.label ?? '', operations, 'online', bringOnline);
      return "Disk online'd.";
    },
  }),
  action({
    segment: 'detach',
    title: 'Detaches a device from a mirror or a replacement; a spare in use becomes available again.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      await detach(target, sent.label ?? '', operations);
      return 'Disk detached.';
    },
  }),
  action({
    segment: 'remove',
    title: 'Removes a log, cache or spare device from the volume.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      await remove(target, sent.label ?? '', operations);
      return 'Disk removed.';
    },
  }),
];

async function scrub({ record }: Volume, operations: Operations, what: 'start' | 'stop'): Promise<string> {
  const name = record.vol_name;
  await operations.perform(switchScrub({ pool: name, what }));
  return what === 'start' ? 'Volume scrub started.' : 'Volume scrub stopped.';
}

async function upgrade({ record, pool }: Volume, operations: Operations): Promise<string> {
  const name = record.vol_name;
  if (pool === undefined) throw refused(`The pool ${name} is not imported.`);
  await operations.work(`upgrade the volume ${name}`, [`pool:${name}`], (work) => work.step(upgradePool({ name })));
  return 'Volume has been upgraded.';
}

/** The original requires the passphrase for the key of the new disk (gaps 11.3). Disks of OpenZFS have no keys. */
async function mustOpen(volume: Volume, pass: string): Promise<void> {
  const encrypted = encryptionOf(volume);
  if (pass === '' || encrypted === undefined || !hasPassphrase(encrypted.slots)) return;
  const keys = await keysOpenedBy({ kind: 'passphrase', text: pass }, encrypted.slots);
  if (keys.length === 0) throw invalid({ pass: ['Incorrect passphrase.'] });
}

interface Replacement {
  readonly label: string;
  readonly replace_disk: string;
  readonly force: boolean;
}

async function replace(
  { record }: Volume,
  { label: old, replace_disk: disk, force }: Replacement,
  operations: Operations,
): Promise<string> {
  const name = record.vol_name;
  await operations.work(`replace ${old} in the volume ${name}`, [`pool:${name}`, `disk:${disk}`], async (work) => {
    const pool = poolOf(name, operations.world);
    const { device } = deviceIn(pool, old);
    const found = operations.world.facts.disks.find((candidate) => candidate.name === disk);
    if (found === undefined) throw invalid({ replace_disk: [`The disk ${disk} does not exist.`] });
    const spare = spareNamed(pool, disk);
    if (spare?.health === 'INUSE')
      throw invalid({ replace_disk: [`The spare ${disk} already stands in for another disk. Detach it first.`] });
    if (found.usedBy !== undefined && spare?.health !== 'AVAIL')
      throw invalid({ replace_disk: [`The disk ${disk} is in use: ${found.usedBy}.`] });
    await reportInFields(work.step(replaceDevice({ pool: name, guid: device.guid, disk, force })));
  });
  return 'Disk replacement started.';
}

/** Reports an error of zpool about the new disk as a problem of the field that can resolve it. */
async function reportInFields(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (error) {
    const message = error instanceof Error && !(error instanceof Fault) ? error.message : '';
    // Only the words of zpool itself, which are the cause of the explanation, say whether force would help.
    const own = error instanceof Error && error.cause instanceof Error ? error.cause.message : message;
    if (/use '-f' to override/.test(own)) throw invalid({ force: [`The disk is not empty: ${message}`] });
    if (/device is too small/.test(message)) throw invalid({ replace_disk: [message] });
    throw error;
  }
}

/** Logs, caches and spares have nothing to be detached from, so they are removed. */
async function detach(target: Volume, named: string, operations: Operations): Promise<void> {
  const found = target.pool === undefined ? undefined : deviceIn(target.pool, named);
  if (found !== undefined && !isData(found.group) && found.group.devices.length === 1)
    return await remove(target, named, operations);
  await onDevice(target, named, operations, 'detach', detachDevice);
}

async function remove({ record }: Volume, named: string, operations: Operations): Promise<void> {
  const name = record.vol_name;
  await operations.work(`remove ${named} from the volume ${name}`, [`pool:${name}`], async (work) => {
    const pool = poolOf(name, operations.world);
    const spare = spareNamed(pool, named);
    if (spare?.health === 'INUSE')
      throw failed(
        `The spare ${spare.disk} stands in for a disk of ${name}. Detach the spare, or detach the failed disk, which ` +
          'makes the spare a permanent part of the volume.',
      );
    // A mirrored log is removed as a whole, by the name of its group.
    const whole = pool.groups.find((group) => group.kind === 'log' && group.devices.length > 1 && group.name === named);
    const { group, device } = whole === undefined ? deviceIn(pool, named) : { group: whole, device: undefined };
    if (isData(group))
      throw failed(`${named} is a data device of ${name}. Only log, cache and spare devices can be removed.`);
    if (device !== undefined && group.devices.length > 1)
      throw failed(`${named} is part of the mirrored log ${group.name}. Detach the device, or remove ${group.name}.`);
    await work.step(removeDevice({ pool: name, device: device?.guid ?? group.name, named }));
  });
}

/** Runs one step on the device that `named` identifies, with the pool locked. */
async function onDevice(
  { record }: Volume,
  named: string,
  operations: Operations,
  operation: string,
  stepOn: (device: { readonly pool: string; readonly guid: string }) => Step,
): Promise<void> {
  const name = record.vol_name;
  await operations.work(`${operation} ${named} of the volume ${name}`, [`pool:${name}`], (work) => {
    const { device } = deviceIn(poolOf(name, operations.world), named);
    return work.step(stepOn({ pool: name, guid: device.guid }));
  });
}

function poolOf(name: string, world: World): Pool {
  const pool = findVolume(world, name)?.pool;
  if (pool === undefined) throw failed(`The pool ${name} is not imported.`);
  return pool;
}

function deviceIn(pool: Pool, named: string): { readonly group: PoolGroup; readonly device: PoolDevice } {
  for (const group of pool.groups) {
    const device = group.devices.find((one) => isNamed(one, named));
    if (device !== undefined) return { group, device };
  }
  throw failed(`The volume ${pool.name} has no device ${quote(named)}.`);
}

/** The spare that `named` identifies, also while it is in use and therefore in another group too. */
function spareNamed(pool: Pool, named: string): PoolDevice | undefined {
  return sparesOf(pool).find((device) => isNamed(device, named));
}

const isNamed = ({ label, guid, disk }: PoolDevice, named: string) =>
  [label, guid, disk, shortOf(label)].includes(named);

/** The name that `zpool status` prints: without the folder, and for whole disks without the partition that ZFS made. */
const shortOf = (label: string) => lastElement(label).replace(/-part1$/, '');
