import { HostError } from '../../ports/index.ts';
import type { PoolDevices, Pools } from '../../ports/zfs.ts';
import { stablePaths } from '../devices.ts';
import type { Programs } from './programs.ts';

export function linuxDevices(programs: Programs, { pools }: Pick<Pools, 'pools'>): PoolDevices {
  /** A spare has to be named as in the pool, which may have been created with other names. */
  const sparePath = async (pool: string, disk: string) => {
    const groups = (await pools([pool])).flatMap((one) => one.groups).filter(({ kind }) => kind === 'spare');
    const label = groups.flatMap(({ devices }) => devices).find((device) => device.disk === disk)?.label;
    return label && `/dev/${label.replace(/-part1$/, '')}`;
  };
  return {
    async replaceDevice(
      pool: string,
      device: string,
      disk: string,
      { force = false }: { force?: boolean } = {},
    ): Promise<void> {
      const path = (await sparePath(pool, disk)) ?? (await stablePaths()).get(disk) ?? `/dev/${disk}`;
      await programs.do('zpool', 'replace', ...(force ? ['-f'] : []), '--', pool, device, path);
    },

    async offlineDevice(pool: string, device: string): Promise<void> {
      await programs.do('zpool', 'offline', '--', pool, device);
    },

    async onlineDevice(pool: string, device: string): Promise<void> {
      const { stdout } = await programs.do('zpool', 'online', '--', pool, device);
      if (/but remains in/.test(stdout)) throw new HostError(stdout.trim());
    },

    async detachDevice(pool: string, device: string): Promise<void> {
      await programs.do('zpool', 'detach', '--', pool, device);
    },

    async removeDevice(pool: string, device: string): Promise<void> {
      await programs.do('zpool', 'remove', '--', pool, device);
    },
  };
}
