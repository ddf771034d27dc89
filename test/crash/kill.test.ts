import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killAtRandom } from './kill.ts';

const rounds = 8;
const seed = Number(process.env['HOLDFAST_SEED'] ?? 20_260_101);

test(`answered changes survive kills, full disks and jumps of the clock; a damaged state is whole or refused (seed ${seed})`, {
  timeout: 120_000,
}, async () => {
  const { kills, answered, full, jumps, damaged } = await killAtRandom({ rounds, seed, faults: true });
  assert.ok(kills >= rounds && answered > 0);
  assert.ok(full > 0 && jumps > 0 && damaged.served + damaged.refused > 0, 'each fault happened');
});
