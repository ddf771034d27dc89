import { keySlotsProperty, type PoolKeys } from '../../ports/zfs.ts';
import { expectSuccess, messageOfProgram } from '../runner.ts';
import { mountAll, mounted } from './mounting.ts';
import type { Programs } from './programs.ts';
import { set } from './settings.ts';

export function linuxKeys(programs: Programs): PoolKeys {
  const keys: PoolKeys = {
    async loadKey(pool: string, key: string): Promise<void> {
      const argv = ['zfs', 'load-key', pool];
      expectSuccess(await programs.runWithKey(key, ...argv), argv);
      try {
        await mountAll(programs, pool);
      } catch (error) {
        await keys.unloadKey(pool);
        throw error;
      }
    },

    async unloadKey(pool: string): Promise<void> {
      try {
        for (const name of [...(await mounted(programs, pool))].reverse())
          await programs.patiently('zfs', 'unmount', name);
        await programs.patiently('zfs', 'unload-key', pool);
      } catch (error) {
        // Mounts the datasets that had already been unmounted.
        await mountAll(programs, pool).catch(() => {});
        throw error;
      }
    },

    async isKey(pool: string, key: string): Promise<boolean> {
      const argv = ['zfs', 'load-key', '-n', pool];
      const outcome = await programs.runWithKey(key, ...argv);
      if (outcome.status !== 0 && !/Incorrect key/.test(messageOfProgram(outcome))) expectSuccess(outcome, argv);
      return outcome.status === 0;
    },

    async changeKey(pool: string, key: string): Promise<void> {
      const argv = ['zfs', 'change-key', '-o', 'keyformat=hex', '-o', 'keylocation=prompt', pool];
      expectSuccess(await programs.runWithKey(key, ...argv), argv);
    },

    async setKeySlots(pool: string, slots: string): Promise<void> {
      await set(programs, pool, [[keySlotsProperty, slots]]);
    },
  };
  return keys;
}
