/** Very many datasets, snapshots and shares on a test machine, for benches. */
import type { Nas } from '../test/support/lab/nas.ts';
import type { Size } from './furnish.ts';

/** Makes datasets `tank/d1` and so on, shares of them and snapshots, until the machine has so many of each. */
export async function furnishMachine({ api, machine }: Nas, { datasets, shares, snapshots }: Size): Promise<void> {
  await machine.run(`for n in $(seq ${datasets}); do zfs list tank/d$n >/dev/null 2>&1 || zfs create tank/d$n; done`, {
    seconds: 3600,
  });
  for (let n = 1; n <= Math.ceil(snapshots / datasets); n += 1)
    await machine.run(`zfs snapshot -r tank@of-${datasets}-${n}`, { seconds: 600 });
  const known = new Set((await api.list('sharing/cifs/?limit=0')).map(({ cifs_name }) => cifs_name));
  const names = Array.from({ length: shares }, (_, index) => `d${index + 1}`).filter((name) => !known.has(name));
  const make = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop())
      await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/tank/${name}`, cifs_name: name });
  };
  await Promise.all(Array.from({ length: 16 }, make));
}
