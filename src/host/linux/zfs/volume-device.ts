import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Programs } from './programs.ts';

/** Waits for the device of what may be a volume. A filesystem has none. */
export async function volumeDevice(programs: Programs, name: string): Promise<void> {
  const { stdout } = await programs.do('zfs', 'get', '-Hp', '-o', 'value', 'type', name);
  if (stdout.trim() === 'volume') await deviceOfVolume(name);
}

/** Waits for the device of a volume, which udev makes. */
export async function deviceOfVolume(name: string): Promise<void> {
  for (let waited = 0; waited < 10_000 && !existsSync(`/dev/zvol/${name.replaceAll(' ', '+')}`); waited += 50)
    await wait(50);
}
