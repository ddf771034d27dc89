/**
 * `lab/enclosed node bench/where.ts [--datasets N] [--shares N] [--snapshots N]`, after any test of the test machine, which
 * makes its package and layers: where the time of one change goes on the test machine. For one more dataset, share,
 * snapshot and group, on the empty machine and on one with so many objects, it prints the seconds until the answer,
 * each program that the daemon ran, with its milliseconds, and the processor seconds of all processes until two seconds
 * after the answer. Then the same for a restart of the daemon and for `GET drift`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startNas, untilReady } from '../test/support/lab/nas.ts';
import type { Size } from './furnish.ts';
import { furnishMachine } from './furnish-machine.ts';
import { noteProgramsIn } from './programs.ts';

const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '300' },
    shares: { type: 'string', default: '150' },
    snapshots: { type: 'string', default: '1500' },
  },
});
const size: Size = {
  datasets: Number(values.datasets),
  shares: Number(values.shares),
  snapshots: Number(values.snapshots),
};

await using nas = await startNas({ disks: 1, diskSize: '3G', memory: 2048 });
const { api, machine } = nas;
await noteProgramsIn(nas);
await api.expect(201, 'POST', 'storage/volume/', {
  volume_name: 'tank',
  layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
});
await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
await report('empty');
await furnishMachine(nas, size);
await pause(10_000);
await report('full');

async function report(mark: string): Promise<void> {
  for (const n of [1, 2]) {
    await one(`${mark}: POST dataset`, () =>
      api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: `${mark}${n}` }),
    );
    await one(`${mark}: POST CIFS share`, () =>
      api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/tank/${mark}${n}`, cifs_name: `${mark}${n}` }),
    );
    await one(`${mark}: POST snapshot`, () =>
      api.expect(201, 'POST', 'storage/snapshot/', { dataset: `tank/${mark}${n}`, name: 'one' }),
    );
    await one(`${mark}: POST group`, () => api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: `${mark}${n}` }));
  }
  await one(`${mark}: GET drift`, () => api.list('/api/holdfast/v1/drift'));
  await one(`${mark}: restart`, async () => {
    await machine.run('systemctl restart holdfast', { seconds: 600 });
    await untilReady(api, 600);
  });
}

async function one(title: string, change: () => Promise<unknown>): Promise<void> {
  await machine.run('sync; : >/tmp/programs');
  const before = await processors();
  const begun = performance.now();
  await change();
  const passed = performance.now() - begun;
  await pause(2000);
  const after = await processors();
  console.log(`\n${title}: ${(passed / 1000).toFixed(2)} s`);
  const used = [...after]
    .map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)] as const)
    .filter(([, seconds]) => seconds >= 0.02)
    .sort(([, a], [, b]) => b - a);
  console.log(`  processor: ${used.map(([name, seconds]) => `${name} ${seconds.toFixed(2)}`).join(', ')}`);
  const programs = (await machine.run('cut -c1-150 /tmp/programs'))
    .trim()
    .split('\n')
    .filter((line) => line !== '');
  const [first] = programs;
  const start = Number(first?.split(' ')[0] ?? 0);
  for (const line of programs) {
    const [began, took, ...argv] = line.split(' ');
    console.log(`  ${String(Number(began) - start).padStart(6)} ${String(took).padStart(6)} ms ${argv.join(' ')}`);
  }
}

/** Processor seconds by the name of the process; `… below` those of its ended children. */
async function processors(): Promise<ReadonlyMap<string, number>> {
  const output = await machine.run('cat /proc/[0-9]*/stat 2>/dev/null; true');
  const seconds = new Map<string, number>();
  const add = (name: string, ticks: number) => seconds.set(name, (seconds.get(name) ?? 0) + ticks / 100);
  for (const line of output.split('\n')) {
    const [, name = '', rest = ''] = /\((.*)\) (.*)$/.exec(line) ?? [];
    const numbers = rest.split(' ').map(Number);
    if (name === '') continue;
    add(name, (numbers[11] ?? 0) + (numbers[12] ?? 0));
    add(`${name} below`, (numbers[13] ?? 0) + (numbers[14] ?? 0));
  }
  return seconds;
}
