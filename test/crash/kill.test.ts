import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killAtRandom } from './kill.ts';

const rounds = 12;
const seed = Number(process.env['HOLDFAST_SEED'] ?? 20_260_101);

test(`every change that was answered before the daemon was killed exists after its restart (seed ${seed})`, {
  timeout: 120_000,
}, async () => {
  const { kills, answered } = await killAtRandom({ rounds, seed });
  assert.ok(kills >= rounds && answered > 0);
});
