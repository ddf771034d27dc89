/**
 * `node bench/iscsi.ts [COUNT...]`: the cost of another iSCSI target (an extent, a target, its group and its
 * association:
 * four POSTs) on the virtual host when COUNT targets exist. The aim is a cost that does not depend on their number.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { iscsiExtent } from '../src/areas/services/iscsi/extent.ts';
import { iscsiTarget } from '../src/areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../src/areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../src/areas/services/iscsi/targettoextent.ts';
import type { Draft } from '../src/engine/declare/resource.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { isObject } from '../src/lib/json.ts';
import { programs } from '../src/subsystems/index.ts';
import { appOn } from './app.ts';
import { send } from './send.ts';

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1, 100, 1000, 4000];
const samples = 40;
const state = mkdtempSync('/var/tmp/holdfast-bench-');

const nameOf = (n: number) => `disk${String(n).padStart(6, '0')}`;
const extentOf = (n: number) =>
  ({
    iscsi_target_extent_name: nameOf(n),
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: `/mnt/tank/${nameOf(n)}`,
    iscsi_target_extent_filesize: '1MB',
  }) as const;

function make(draft: Draft, n: number): void {
  const extent = draft.create(iscsiExtent, extentOf(n));
  const target = draft.create(iscsiTarget, { iscsi_target_name: nameOf(n) });
  draft.create(iscsiTargetGroup, { iscsi_target: target.id, iscsi_target_portalgroup: 1 });
  draft.create(iscsiTargetToExtent, { iscsi_target: target.id, iscsi_extent: extent.id });
}

const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks: [1024 ** 4], now: Date.now });
const app = await appOn(host, state);

async function idOf(method: 'POST' | 'PUT', path: string, body: object): Promise<number> {
  const record = await send(app, method, path, body);
  return isObject(record) ? Number(record['id']) : 0;
}

try {
  await idOf('POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ada0'] }] });
  await idOf('POST', 'services/iscsi/portal/', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  await idOf('PUT', 'services/services/iscsitarget/', { srv_enable: true });
  let made = 0;
  for (const count of counts) {
    while (made < count) {
      const last = Math.min(made + 200, count);
      const from = made;
      await app.engine.change('create targets', { actor: 'bench', request: '' }, (draft) => {
        for (let n = from; n < last; n += 1) make(draft, n);
      });
      made = last;
    }
    const times: number[] = [];
    for (let n = 0; n < samples; n += 1) {
      const begun = performance.now();
      const extent = await idOf('POST', 'services/iscsi/extent/', extentOf(made));
      const target = await idOf('POST', 'services/iscsi/target/', { iscsi_target_name: nameOf(made) });
      await idOf('POST', 'services/iscsi/targetgroup/', { iscsi_target: target, iscsi_target_portalgroup: 1 });
      await idOf('POST', 'services/iscsi/targettoextent/', { iscsi_target: target, iscsi_extent: extent });
      times.push(performance.now() - begun);
      made += 1;
    }
    const sorted = times.toSorted((a, b) => a - b);
    process.stdout.write(
      `with ${String(count).padStart(6)} targets: another takes ${sorted[samples / 2]?.toFixed(1)} ms (median), ${sorted[samples - 2]?.toFixed(1)} ms (slowest but one)\n`,
    );
  }
} finally {
  await app.close();
  rmSync(state, { recursive: true, force: true });
}
