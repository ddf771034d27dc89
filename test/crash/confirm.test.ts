import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { drift, startDaemon, stateFolder } from './daemon.ts';

const tagged = (vlan_tag: number) => ({ vlan_vint: 'vlan7', vlan_pint: 'em0', vlan_tag });

test('a daemon that is killed while a change waits for confirmation starts with the configuration before it', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await first.api.expect(201, 'POST', 'network/vlan/', tagged(7));
  await first.end('SIGKILL');
  for (const [query, milliseconds] of [
    ['?confirm_within=600', 0],
    ['?confirm_within=1', 0],
    ['?confirm_within=1', 950],
  ] as const) {
    const daemon = await startDaemon(state.path);
    const [vlan] = await daemon.api.list('network/vlan/');
    await daemon.api.expect(200, 'PUT', `network/vlan/${vlan?.['id']}/${query}`, { vlan_tag: 8 });
    await wait(milliseconds);
    await daemon.end('SIGKILL');
    const next = await startDaemon(state.path);
    assert.deepEqual(
      (await next.api.list('network/vlan/')).map((one) => one['vlan_tag']),
      [7],
      `${query}, killed after ${milliseconds} ms`,
    );
    assert.deepEqual(await drift(next.api), []);
    await next.end('SIGKILL');
  }
});

test('a daemon that is killed after a change was confirmed starts with that change', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await first.api.expect(201, 'POST', 'network/vlan/?confirm_within=600', tagged(7));
  assert.equal((await first.api.list('network/vlan/')).length, 1);
  await first.end('SIGKILL');
  const second = await startDaemon(state.path);
  assert.deepEqual(
    (await second.api.list('network/vlan/')).map((one) => one['vlan_tag']),
    [7],
  );
  await second.end('SIGKILL');
});
