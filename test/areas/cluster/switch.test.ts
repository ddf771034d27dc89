import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { HostError } from '../../../src/host/ports/index.ts';
import { type FaultyHost, withFaults } from '../../support/faults.ts';
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

test('an order that the cluster refuses after the answer is a failed job with the reason, and another one is taken', async () => {
  let faulty: FaultyHost | undefined;
  const { world } = await paired((host) => {
    faulty = withFaults(host);
    return faulty.host;
  });
  const order = async () => {
    assert.equal((await world.api.send('POST', `${managementRoot}/cluster/switch`, { to: 'beta' })).status, 202);
    let job = await newest();
    while (job?.['state'] === 'running') {
      await pause(5);
      job = await newest();
    }
    return [job?.['title'], job?.['state'], JSON.stringify(job)] as const;
  };
  const newest = async () => (await world.api.list(`${managementRoot}/jobs?limit=1`))[0];
  faulty?.heed((call, when) => {
    if (call === 'lease.move' && when === 'before') throw new HostError('Resource holdfast not found');
  });
  const [title, state, shown] = await order();
  assert.deepEqual([title, state], ['move the pool to beta', 'failed']);
  assert.match(shown, /Resource holdfast not found/);
  const { self } = await world.api.expect(200, 'GET', `${managementRoot}/cluster`);
  assert.equal(self, 'alpha');
  faulty?.heed();
  assert.equal((await order())[1], 'finished');
});
