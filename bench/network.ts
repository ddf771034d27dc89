/**
 * `node bench/network.ts`: the processor time for checking, rendering and applying VLANs and static routes on the
 * virtual host, up to 1,000 VLANs with an address each and 4,000 routes. It is linear while the columns `µs each` stay
 * constant.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { networkInterface } from '../src/areas/network/interface.ts';
import { staticRoute } from '../src/areas/network/staticroute.ts';
import { vlan } from '../src/areas/network/vlan.ts';
import type { Draft } from '../src/engine/declare/resource.ts';
import type { Engine } from '../src/engine/engine.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { programs } from '../src/subsystems/index.ts';
import { networkSubsystem } from '../src/subsystems/network/subsystem.ts';
import { appOn } from './app.ts';

const context = { actor: 'bench', request: 'network' };
const fleets = [125, 250, 500, 1000];
const routesPerVlan = 4;

const folder = mkdtempSync('/var/tmp/holdfast-bench-');
try {
  console.log('VLANs  routes   one change for all   µs each   rendering   µs each   one more VLAN   one more route');
  for (const vlans of fleets) await measure(vlans, join(folder, String(vlans)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(vlans: number, state: string): Promise<void> {
  const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks: [], now: Date.now });
  const app = await appOn(host, state);
  const { engine } = app;
  try {
    await engine.change('an interface', context, (draft) =>
      draft.create(networkInterface, {
        int_name: 'a',
        int_interface: 'em0',
        int_ipv4address: '10.0.0.1',
        int_v4netmaskbit: '16',
      }),
    );
    const routes = vlans * routesPerVlan;
    const all = await timed(() =>
      engine.change('a fleet', context, (draft) => {
        for (let n = 0; n < vlans; n += 1) addVlan(draft, n);
        for (let n = 0; n < routes; n += 1) addRoute(draft, n);
      }),
    );
    const render = await timed(async () => void networkSubsystem.render(engine.world.view, engine.world.facts));
    const oneVlan = await best(engine, (draft, turn) => addVlan(draft, vlans + turn));
    const oneRoute = await best(engine, (draft, turn) => addRoute(draft, routes + turn));
    const records = vlans + routes;
    const cells = [
      vlans,
      routes,
      ms(all),
      each(all, records),
      ms(render),
      each(render, records),
      ms(oneVlan),
      ms(oneRoute),
    ];
    console.log(
      cells.map((cell, column) => String(cell).padStart([5, 7, 20, 9, 11, 9, 15, 16][column] ?? 0)).join(' '),
    );
  } finally {
    await app.close();
  }
}

function addVlan(draft: Draft, n: number): void {
  const { vlan_row } = draft.create(vlan, { vlan_vint: `vlan${n}`, vlan_pint: 'em0', vlan_tag: 1 + n });
  if (vlan_row === null) throw new Error('a VLAN without a record of its interface');
  draft.update(networkInterface, vlan_row, {
    int_ipv4address: `10.${1 + Math.floor(n / 250)}.${n % 250}.1`,
    int_v4netmaskbit: '24',
  });
}

function addRoute(draft: Draft, n: number): void {
  draft.create(staticRoute, {
    sr_destination: `172.${16 + Math.floor(n / 250)}.${n % 250}.0/24`,
    sr_gateway: `10.0.0.${2 + (n % 250)}`,
  });
}

/** The fastest of several turns: other load on the machine can only add time. */
async function best(engine: Engine, make: (draft: Draft, turn: number) => void): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 5; turn += 1)
    least = Math.min(least, await timed(() => engine.change('one more', context, (draft) => make(draft, turn))));
  return least;
}

/** Milliseconds of processor time, which other load on the machine affects least. */
async function timed(operation: () => Promise<unknown>): Promise<number> {
  const begun = process.cpuUsage();
  await operation();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(milliseconds < 100 ? 1 : 0)} ms`;
}

function each(milliseconds: number, records: number): string {
  return ((milliseconds * 1000) / records).toFixed(0);
}
