/** What is done to the devices of a volume, and to the volume as a whole (gaps 11.3). */
import { Fault, failed, invalid, refused } from '../../engine/declare/errors.ts';
import { type Fields, flag, inputOnly, required, text } from '../../engine/declare/fields.ts';
import { type Action, action, type Operations, type Step, type World } from '../../engine/declare/resource.ts';
import type { Host } from '../../host/ports/index.ts';
import type { Pool, PoolDevice, PoolGroup } from '../../host/ports/zfs.ts';
import { lastElement } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { isData } from './layout.ts';
import { findVolume, type Volume } from './volumes.ts';

const label = required(
  inputOnly(
    text({
      description: 'Label or guid of the device, as the status tree shows it, or its name in `zpool status`.',
      max: 255,
    }),
  ),
);

export const maintenance: readonly Action<Fields, unknown, Volume>[] = [
  action({
    segment: 'scrub',
    title: 'Starts reading and checking all data.',
    perform: ({ target, operations }) => scrub(target, operations, 'start'),
  }),
  action({
    method: 'DELETE',
    segment: 'scrub',
    title: 'Stops the scrub.',
    perform: ({ target, operations }) => scrub(target, operations, 'stop'),
  }),
  action({
    segment: 'upgrade',
    title: 'Switches on every feature that this ZFS knows. Older ones cannot read the volume any more.',
    perform: ({ target, operations }) => upgrade(target, operations),
  }),
  action({
    segment: 'replace',
    title: 'Begins to copy what a device holds to a disk that takes its place.',
    fields: {
      label,
      replace_disk: required(
        inputOnly(text({ description: 'Name of the disk that takes the place, as in storage/disk.', max: 64 })),
      ),
      force: inputOnly(flag(false, { description: 'Whether what is on that disk is given up.' })),
    },
    perform: ({ target, sent, operations }) =>
      replace(target, { label: '', replace_disk: '', force: false, ...sent }, operations),
  }),
  action({
    segment: 'offline',
    title: 'Stops using a device until it is brought online.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      await onDevice(target, sent.label ?? '', operations, 'offline', (pool, { guid }) => ({
        title: `take ${guid} of ${pool} offline`,
        perform: ({ zfs }) => zfs.offlineDevice(pool, guid),
        left: async (host) => (await healthOf(host, pool, guid)) === 'OFFLINE',
        undo: ({ zfs }) => zfs.onlineDevice(pool, guid),
      }));
      return "Disk offline'd.";
    },
  }),
  action({
    segment: 'online',
    title: 'Uses a device again.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      // A disk of the document's encrypted volumes is useless without a key of its own (gaps 11.3).
      if (target.root?.key !== undefined)
        throw failed('A device of an encrypted volume is not brought online again; replace it.');
      await onDevice(target, sent.label ?? '', operations, 'online', (pool, { guid, health }) => ({
        title: `bring ${guid} of ${pool} online`,
        perform: ({ zfs }) => zfs.onlineDevice(pool, guid),
        left: async () => health === 'OFFLINE',
        undo: ({ zfs }) => (health === 'OFFLINE' ? zfs.offlineDevice(pool, guid) : Promise.resolve()),
      }));
      return "Disk online'd.";
    },
  }),
  action({
    segment: 'detach',
    title: 'Takes a device out of a mirror or a replacement, for good.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      await onDevice(target, sent.label ?? '', operations, 'detach', (pool, { guid }) => ({
        title: `detach ${guid} from ${pool}`,
        perform: ({ zfs }) => zfs.detachDevice(pool, guid),
      }));
      return 'Disk detached.';
    },
  }),
  action({
    segment: 'remove',
    title: 'Takes a log, cache or spare out of the volume.',
    fields: { label },
    perform: async ({ target, sent, operations }) => {
      await remove(target, sent.label ?? '', operations);
      return 'Disk removed.';
    },
  }),
];

async function scrub({ record }: Volume, operations: Operations, what: 'start' | 'stop'): Promise<string> {
  const name = record.vol_name;
  await operations.perform({
    title: `${what} the scrub of ${name}`,
    perform: (host) => (what === 'start' ? host.zfs.startScrub(name) : host.zfs.stopScrub(name)),
    touches: [{ pool: name }],
  });
  return what === 'start' ? 'Volume scrub started.' : 'Volume scrub stopped.';
}

async function upgrade({ record, pool }: Volume, operations: Operations): Promise<string> {
  const name = record.vol_name;
  if (pool === undefined) throw refused(`The pool of ${name} is not there.`);
  await operations.work(`upgrade the volume ${name}`, [`pool:${name}`], (work) =>
    work.step({
      title: `upgrade the pool ${name}`,
      perform: ({ zfs }) => zfs.upgradePool(name),
      touches: [{ pool: name }],
    }),
  );
  return 'Volume has been upgraded.';
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
    const { device } = deviceIn(poolOf(name, operations.world), old);
    const found = operations.world.facts.disks.find((one) => one.name === disk);
    if (found === undefined) throw invalid({ replace_disk: [`There is no disk ${disk}.`] });
    if (found.usedBy !== undefined) throw invalid({ replace_disk: [`The disk ${disk} is in use: ${found.usedBy}.`] });
    await inFields(
      work.step({
        title: `replace ${device.guid} of ${name} by ${disk}`,
        perform: ({ zfs }) => zfs.replaceDevice(name, device.guid, disk, { force }),
        touches: ['storage', 'disks'],
      }),
    );
  });
  return 'Disk replacement started.';
}

/** What zpool objects to in the new disk belongs to the field that could change it. */
async function inFields(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (error) {
    const words = error instanceof Error && !(error instanceof Fault) ? error.message : '';
    if (/use '-f' to override/.test(words)) throw invalid({ force: [`The disk is not empty: ${words}`] });
    if (/device is too small/.test(words)) throw invalid({ replace_disk: [words] });
    throw error;
  }
}

async function remove({ record }: Volume, named: string, operations: Operations): Promise<void> {
  const name = record.vol_name;
  await operations.work(`remove ${named} from the volume ${name}`, [`pool:${name}`], async (work) => {
    const pool = poolOf(name, operations.world);
    // A mirrored log leaves as a whole, by its own name.
    const whole = pool.groups.find((group) => group.kind === 'log' && group.devices.length > 1 && group.name === named);
    const { group, device } = whole === undefined ? deviceIn(pool, named) : { group: whole, device: undefined };
    if (isData(group)) throw failed(`${named} holds data of ${name}; only logs, caches and spares can be removed.`);
    if (device !== undefined && group.devices.length > 1)
      throw failed(`${named} is a part of the log ${group.name}: detach it, or remove ${group.name}.`);
    await work.step({
      title: `remove ${named} from ${name}`,
      perform: ({ zfs }) => zfs.removeDevice(name, device?.guid ?? group.name),
      touches: ['storage', 'disks'],
    });
  });
}

/** One step on the device that `label` names, once nothing else works on the pool. */
async function onDevice(
  { record }: Volume,
  named: string,
  operations: Operations,
  deed: string,
  stepOn: (pool: string, device: PoolDevice) => Step,
): Promise<void> {
  const name = record.vol_name;
  await operations.work(`${deed} ${named} of the volume ${name}`, [`pool:${name}`], (work) => {
    const { device } = deviceIn(poolOf(name, operations.world), named);
    return work.step({ ...stepOn(name, device), touches: ['storage', 'disks'] });
  });
}

function poolOf(name: string, world: World): Pool {
  const pool = findVolume(world, name)?.pool;
  if (pool === undefined) throw failed(`The pool ${name} is not there.`);
  return pool;
}

function deviceIn(pool: Pool, named: string): { readonly group: PoolGroup; readonly device: PoolDevice } {
  for (const group of pool.groups) {
    const device = group.devices.find((one) => [one.label, one.guid, one.disk, shortOf(one.label)].includes(named));
    if (device !== undefined) return { group, device };
  }
  throw failed(`The volume ${pool.name} has no device ${quote(named)}.`);
}

/** As `zpool status` prints it: without the folder, and whole disks without the partition that ZFS made. */
const shortOf = (label: string) => lastElement(label).replace(/-part1$/, '');

async function healthOf({ zfs }: Host, pool: string, guid: string): Promise<string | undefined> {
  const devices = (await zfs.pools()).find(({ name }) => name === pool)?.groups.flatMap((group) => group.devices);
  return devices?.find((device) => device.guid === guid)?.health;
}
