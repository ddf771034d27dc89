import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type GatedHost, withGates } from '../../support/gates.ts';
import { managementRoot } from '../../support/management.ts';
import { paired } from '../../support/paired.ts';

test('a switch is answered before the cluster has the order, and another one is refused until then', async () => {
  let gates: GatedHost | undefined;
  const { world } = await paired((host) => {
    gates = withGates(host);
    return gates.host;
  });
  const release = gates?.hold((call) => call === 'lease.move') ?? assert.fail('the machine has no gates');
  const order = () => world.api.send('POST', `${managementRoot}/cluster/switch`, { to: 'beta' });
  assert.equal((await order()).status, 202);
  const second = await order();
  assert.deepEqual([second.status, /Already running as job/.test(second.text)], [400, true]);
  const job = async () => (await world.api.list(`${managementRoot}/jobs?limit=1`))[0];
  assert.deepEqual([(await job())?.['title'], (await job())?.['state']], ['move the pool to beta', 'running']);
  release();
  while ((await job())?.['state'] === 'running') await pause(5);
  assert.equal((await job())?.['state'], 'finished');
});
