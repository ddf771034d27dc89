import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Appliance, appliance } from '../support/appliance.ts';
import { type GatedHost, withGates } from '../support/gates.ts';

/** An appliance with a pool, and a monitor of the UPS whose start is held until the gates open. */
async function withSlowUps(): Promise<{ readonly nas: Appliance; readonly gates: () => GatedHost }> {
  let gates: GatedHost | undefined;
  const nas = await appliance({
    around: (host) => {
      gates = withGates(host);
      return gates.host;
    },
  });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  return {
    nas,
    gates() {
      assert.ok(gates !== undefined);
      return gates;
    },
  };
}

const isUpsStart = (call: string, [name]: readonly unknown[]) => call === 'services.start' && name === 'nut-monitor';

async function milliseconds(operation: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await operation();
  return performance.now() - begun;
}

function median(of: readonly number[]): number {
  return of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;
}

test('while the monitor of a UPS takes its time to start, groups and shares are made at their usual speed', async () => {
  const { nas, gates } = await withSlowUps();
  await using _ = nas;
  let number = 0;
  const make = async () => {
    number += 1;
    const { id } = await nas.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: `group${number}` });
    assert.equal(typeof id, 'number');
    await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/tank/c${number}`, cifs_name: `c${number}` });
    await nas.api.expect(201, 'POST', 'sharing/afp/', { afp_path: `/mnt/tank/a${number}`, afp_name: `a${number}` });
  };
  const several = async () => {
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) times.push(await milliseconds(make));
    return median(times);
  };
  await several();
  const usual = await several();
  const open = gates().hold(isUpsStart);
  const ups = nas.api.put('services/services/ups/', { srv_enable: true });
  let isAnswered = false;
  void ups.then(() => {
    isAnswered = true;
  });
  const meanwhile = await several();
  assert.equal(isAnswered, false);
  assert.ok(meanwhile < 3 * usual + 50, `${meanwhile} ms meanwhile, ${usual} ms before`);
  open();
  const answer = await ups;
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await nas.machine.services.states(['nut-monitor'])).get('nut-monitor')?.running, true);
  assert.deepEqual(
    (await nas.engine.report()).flatMap(({ drift }) => drift),
    [],
  );
});

test('a change of what a slow one works on waits for it, and is checked against what that one has stored', async () => {
  const { nas, gates } = await withSlowUps();
  await using _ = nas;
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_port: 3493 });
  const order: string[] = [];
  const noted = async (name: string, request: ReturnType<typeof nas.api.put>) => {
    const answer = await request;
    order.push(name);
    return answer;
  };
  const open = gates().hold(isUpsStart);
  const ups = noted('the UPS', nas.api.put('services/services/ups/', { srv_enable: true }));
  await wait(50);
  const settings = noted('its settings', nas.api.put('services/ups/', { ups_identifier: 'other' }));
  // Whether the port of the UPS is taken depends on the switch that is about to be stored.
  const ftp = nas.api.put('services/services/ftp/', { srv_enable: true });
  const share = await noted('a share', nas.api.post('sharing/cifs/', { cifs_path: '/mnt/tank/c', cifs_name: 'c' }));
  assert.equal(share.status, 201, share.text);
  open();
  assert.equal((await ups).status, 200);
  assert.equal((await settings).status, 200);
  const refusal = await ftp;
  assert.equal(refusal.status, 409, refusal.text);
  assert.match(refusal.text, /TCP port 3493 of the service ftp is already used by the service ups/);
  assert.deepEqual(order, ['a share', 'the UPS', 'its settings']);
});

test('what a change is about to apply is not reported as drift', async () => {
  const { nas, gates } = await withSlowUps();
  await using _ = nas;
  const open = gates().hold(isUpsStart);
  const ups = nas.api.put('services/services/ups/', { srv_enable: true });
  await wait(50);
  assert.notDeepEqual(
    (await nas.engine.report()).flatMap(({ drift }) => drift),
    [],
  );
  const inspected = nas.engine.inspect();
  await wait(50);
  open();
  await Promise.all([ups, inspected]);
  const drifted = () => nas.engine.problems.flatMap(({ kind, about }) => (kind === 'drift' ? [about] : []));
  assert.deepEqual(drifted(), []);
  await nas.api.expect(200, 'PUT', '/api/holdfast/v1/drift/ups', { policy: 'report' });
  await nas.machine.services.stop('nut-monitor');
  await nas.engine.inspect();
  assert.deepEqual(drifted(), ['subsystem/ups']);
});
