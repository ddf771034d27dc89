import { type EncryptionKeys, keySlotsProperty } from '../../ports/zfs.ts';
import { expectSuccess, messageOfProgram } from '../runner.ts';
import type { MountPoints } from './mount-points.ts';
import { keyedBy, mountKeyed, mountpointOf } from './mounting.ts';
import type { Programs } from './programs.ts';
import { set } from './settings.ts';

export function linuxKeys(programs: Programs, mountPoints: MountPoints): EncryptionKeys {
  const keys: EncryptionKeys = {
    async loadKey(root: string, key: string): Promise<void> {
      const argv = ['zfs', 'load-key', root];
      expectSuccess(await programs.runWithKey(key, ...argv), argv);
      try {
        await mountKeyed(programs, root);
      } catch (error) {
        await keys.unloadKey(root);
        throw error;
      }
    },

    async unloadKey(root: string): Promise<void> {
      try {
        const mounted = (await keyedBy(programs, root)).filter((one) => one.isMounted);
        for (const { name } of mounted.reverse()) await programs.patiently('zfs', 'unmount', name);
        // A pool of an earlier version, or of another machine, was mounted on a folder without protection.
        if (!root.includes('/')) await mountPoints.protect(await mountpointOf(programs, root));
        for (const name of [...(await openRootsBelow(programs, root))].reverse())
          await programs.patiently('zfs', 'unload-key', name);
        await programs.patiently('zfs', 'unload-key', root);
      } catch (error) {
        // Mounts the datasets that had already been unmounted.
        await mountKeyed(programs, root).catch(() => {});
        throw error;
      }
    },

    async isKey(root: string, key: string): Promise<boolean> {
      const argv = ['zfs', 'load-key', '-n', root];
      const outcome = await programs.runWithKey(key, ...argv);
      if (outcome.status !== 0 && !/Incorrect key/.test(messageOfProgram(outcome))) expectSuccess(outcome, argv);
      return outcome.status === 0;
    },

    async changeKey(root: string, key: string): Promise<void> {
      const argv = ['zfs', 'change-key', '-o', 'keyformat=hex', '-o', 'keylocation=prompt', root];
      expectSuccess(await programs.runWithKey(key, ...argv), argv);
    },

    async setKeySlots(root: string, slots: string): Promise<void> {
      await set(programs, root, [[keySlotsProperty, slots]]);
    },
  };
  return keys;
}

/** The encryption roots below whose keys are loaded, parents first. */
async function openRootsBelow(programs: Programs, root: string): Promise<readonly string[]> {
  const argv = ['zfs', 'list', '-H', '-r', '-t', 'filesystem,volume', '-o', 'name,encryptionroot,keystatus', root];
  return (await programs.do(...argv)).stdout.split('\n').flatMap((line) => {
    const [name = '', encryptionRoot, keystatus] = line.split('\t');
    return name !== root && name === encryptionRoot && keystatus === 'available' ? [name] : [];
  });
}
