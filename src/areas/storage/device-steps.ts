import { actOnce, ensure, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import type { Tuning } from '../../host/ports/disks.ts';
import type { Host } from '../../host/ports/index.ts';

/** The steps on the devices of pools, and on disks. */

type Device = Texts<'pool' | 'guid'>;

const touches = () => ['storage', 'disks'] as const;

export const takeOffline = ensure<'pool' | 'guid', Device>({
  kind: 'take device offline',
  keeps: ['pool', 'guid'],
  title: ({ pool, guid }) => `take ${guid} of ${pool} offline`,
  is: isOffline,
  make: ({ zfs }, { pool, guid }) => zfs.offlineDevice(pool, guid),
  unmake: ({ zfs }, { pool, guid }) => zfs.onlineDevice(pool, guid),
  touches,
});

export const bringOnline = ensure<'pool' | 'guid', Device>({
  kind: 'bring device online',
  keeps: ['pool', 'guid'],
  // ZFS looks at the device again, also when it is online.
  isExclusive: true,
  title: ({ pool, guid }) => `bring ${guid} of ${pool} online`,
  is: async (host, device) => !(await isOffline(host, device)),
  make: ({ zfs }, { pool, guid }) => zfs.onlineDevice(pool, guid),
  unmake: ({ zfs }, { pool, guid }) => zfs.offlineDevice(pool, guid),
  touches,
});

async function isOffline({ zfs }: Host, { pool, guid }: Device): Promise<boolean> {
  const devices = (await zfs.pools()).find(({ name }) => name === pool)?.groups.flatMap((group) => group.devices);
  return devices?.find((device) => device.guid === guid)?.health === 'OFFLINE';
}

export const detachDevice = actOnce<'pool' | 'guid', Device>({
  kind: 'detach device',
  keeps: ['pool', 'guid'],
  title: ({ pool, guid }) => `detach ${guid} from ${pool}`,
  perform: ({ zfs }, { pool, guid }) => zfs.detachDevice(pool, guid),
  touches,
});

interface Removal extends Texts<'pool' | 'device'> {
  /** As the request names it. */
  readonly named: string;
}

export const removeDevice = actOnce<'pool' | 'device', Removal>({
  kind: 'remove device',
  keeps: ['pool', 'device'],
  title: ({ pool, named }) => `remove ${named} from ${pool}`,
  perform: ({ zfs }, { pool, device }) => zfs.removeDevice(pool, device),
  touches,
});

interface Replacement extends Device {
  readonly disk: string;
  readonly force: boolean;
}

export const replaceDevice = actOnce<'pool' | 'guid', Replacement>({
  kind: 'replace device',
  keeps: ['pool', 'guid'],
  title: ({ pool, guid, disk }) => `replace ${guid} of ${pool} by ${disk}`,
  perform: ({ zfs }, { pool, guid, disk, force }) => zfs.replaceDevice(pool, guid, disk, { force }),
  touches,
});

interface DiskChange extends Texts<'disk' | 'former'> {
  readonly tuning: Tuning;
}

/** `former` is the tuning that restores what there was, as JSON. */
export const tuneDisk = ensure<'disk' | 'former', DiskChange>({
  kind: 'tune disk',
  keeps: ['disk', 'former'],
  title: ({ disk }) => `apply the settings of the disk ${disk}`,
  make: ({ disks }, { disk, tuning }) => disks.tune(disk, tuning),
  async unmake({ disks }, { disk, former }) {
    const tuning: Tuning = JSON.parse(former);
    await disks.tune(disk, tuning);
  },
});

export const deviceStepKinds: readonly StepKind[] = [
  takeOffline,
  bringOnline,
  detachDevice,
  removeDevice,
  replaceDevice,
  tuneDisk,
].map(({ stepKind }) => stepKind);
