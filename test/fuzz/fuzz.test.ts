import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzz } from './fuzz.ts';

test('hostile requests to every address are answered without 5xx, inject no line, leave no drift, and survive a restart', async (t) => {
  const report = await fuzz({ seconds: 8, seed: Number(process.env['HOLDFAST_SEED'] ?? 20_260_101) });
  t.diagnostic(`${report.requests} requests, longest wait of others ${report.longestWait.toFixed(0)} ms`);
  for (const stall of report.stalls) t.diagnostic(`stalled ${stall}`);
  assert.ok(report.requests >= 100, `${report.requests} requests`);
  assert.deepEqual([report.failures, report.slow, report.injected, report.drift, report.changed], [[], [], [], [], []]);
});
