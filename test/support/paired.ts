import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { readPair } from '../../src/engine/pair/pair.ts';
import type { Host } from '../../src/host/ports/index.ts';
import { openVirtualHost, type VirtualHost } from '../../src/host/virtual/index.ts';
import { programs } from '../../src/subsystems/index.ts';
import { type Appliance, appliance, GiB } from './appliance.ts';
import { type Furnished, watched } from './furnished.ts';

/** The appliance `alpha` of a pair whose pool is `tank`, and the machine `beta`, on which no daemon runs. */
export interface Paired {
  readonly alpha: Appliance;
  /** The same appliance, with what can be compared of it. */
  readonly world: Furnished;
  readonly beta: VirtualHost;
}

/** It ends with the test that makes it. `wrap` is put around the machine `alpha`. */
export async function paired(wrap = (host: Host): Host => host): Promise<Paired> {
  const begun: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of begun.reverse()) await end();
  });
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pair-'));
  begun.push(() => rm(folder, { recursive: true, force: true }));
  const shelf = (node: string) => ({ folder: join(folder, 'shelf'), node });
  const [disks, now] = [Array<number>(4).fill(GiB), Date.now];
  const open = (node: string, at: string) => openVirtualHost({ programs, folder: at, disks, now, shelf: shelf(node) });
  const first = await open('alpha', join(folder, 'alpha', 'virtual'));
  await first.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
  await first.lease.take();
  const guid = (await first.zfs.pools())[0]?.guid;
  await first.close();
  const nodes = { alpha: 'http://127.0.0.1:1', beta: 'http://127.0.0.1:2' };
  const pair = readPair({ pool: 'tank', guid, nodes, links: { alpha: ['192.0.2.11'], beta: ['192.0.2.12'] } });
  if (pair === undefined) throw new Error('it is no pair');
  const beta = await open('beta', join(folder, 'beta', 'virtual'));
  begun.push(() => beta.close());
  const world = await watched((around) =>
    appliance({
      ...{ folder: join(folder, 'alpha'), disks, now, shelf: shelf('alpha') },
      around: (host) => around(wrap(host)),
      pair: { ...pair, self: 'alpha' },
    }),
  );
  begun.push(() => world.appliance.app.close());
  return { alpha: world.appliance, world, beta };
}
