import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { appliance, GiB } from '../support/appliance.ts';

/** Milliseconds that a request took, and those of the slowest of the requests which another client sent meanwhile. */
async function beside<T>(work: Promise<T>, ask: () => Promise<unknown>): Promise<{ took: number; slowest: number }> {
  const begun = performance.now();
  let isDone = false;
  const took = work.then(() => {
    isDone = true;
    return performance.now() - begun;
  });
  let slowest = 0;
  while (!isDone) {
    const sent = performance.now();
    await ask();
    slowest = Math.max(slowest, performance.now() - sent);
    await pause(20);
  }
  return { took: await took, slowest };
}

test('while a snapshot of an extent of 3 GB is taken and rolled back, another client is answered', async (t) => {
  await using nas = await appliance();
  const { api } = nas;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0', 'ada1'] }],
  });
  const extent = openSync(join(nas.folder, 'virtual/root/mnt/tank/extent'), 'w');
  ftruncateSync(extent, 3 * GiB);
  for (const at of [0, GiB, 3 * GiB - 4]) writeSync(extent, 'data', at);
  closeSync(extent);
  const ask = () => api.expect(200, 'GET', 'storage/volume/');
  const asked = {
    snapshot: () => api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'before' }),
    rollback: () => api.expect(202, 'POST', 'storage/snapshot/tank@before/rollback/', { force: true }),
  };
  for (const [name, request] of Object.entries(asked)) {
    const { took, slowest } = await beside(request(), ask);
    t.diagnostic(`${name}: ${took.toFixed(0)} ms; slowest request of another client: ${slowest.toFixed(0)} ms`);
    assert.ok(slowest < 200 + took / 4, `${name}: ${took} ms, and another client waited ${slowest} ms`);
  }
});
