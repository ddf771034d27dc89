/** State folders of virtual hosts with very many datasets, snapshots and shares, for benches in one process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../src/lib/json.ts';
import { openApp } from './app.ts';
import { send } from './send.ts';
import { shareOf } from './shares.ts';

export interface Size {
  readonly datasets: number;
  readonly shares: number;
  readonly snapshots: number;
}

/** The snapshots are written into the state of the virtual host: creating them one by one would take minutes. */
export async function furnish(state: string, { datasets, shares, snapshots }: Size): Promise<void> {
  const app = await openApp(state);
  await send(app, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await send(app, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await send(app, 'POST', 'storage/volume/tank/datasets/', { name: 'd0' });
  await app.close();
  const path = join(state, 'virtual/zfs.json');
  const memory: unknown = JSON.parse(readFileSync(path, 'utf8'), (_key, value: unknown) => {
    const [one] = Array.isArray(value) ? value.filter((it) => isObject(it) && it['name'] === 'tank/d0') : [];
    if (!isObject(one) || !Array.isArray(value)) return value;
    const copies = Array.from({ length: datasets - 1 }, (_, index) => ({
      ...one,
      guid: String(1_000_000 + index),
      name: `tank/d${index + 1}`,
    }));
    return [...value, ...copies].map((it: unknown) =>
      isObject(it) && it !== value[0]
        ? { ...it, snapshots: snapshotsOf(String(it['guid']), snapshots / datasets) }
        : it,
    );
  });
  writeFileSync(path, JSON.stringify(memory));
  const again = await openApp(state);
  await again.engine.change('create shares', { actor: 'bench', request: 'shares' }, (draft) => {
    for (let index = 0; index < shares; index += 1) shareOf('cifs', index, `/mnt/tank/d${index}`).put(draft);
  });
  await again.close();
}

function snapshotsOf(guid: string, count: number) {
  return Array.from({ length: count }, (_, n) => ({
    guid: `${guid}${n}`,
    name: `auto-${n}`,
    created: 1_700_000_000 + n,
    properties: {},
  }));
}
