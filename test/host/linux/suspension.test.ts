import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { suspendedPool } from '../../../src/host/linux/zfs/suspension.ts';
import { scratchFolder } from '../../support/hosts.ts';

test('a program waits for the suspended pool that it names, or for any if it names none', async (t) => {
  const folder = scratchFolder(t);
  for (const [pool, state] of Object.entries({ tank: 'SUSPENDED', other: 'ONLINE' })) {
    mkdirSync(`${folder}/${pool}`);
    writeFileSync(`${folder}/${pool}/state`, `${state}\n`);
  }
  writeFileSync(`${folder}/arcstats`, '');
  const found = (...argv: readonly string[]) => suspendedPool(argv, folder);
  assert.equal(await found('zfs', 'create', '--', 'tank/a'), 'tank');
  assert.equal(await found('zfs', 'destroy', 'tank@monday'), 'tank');
  assert.equal(await found('zpool', 'list'), 'tank');
  assert.equal(await found('zfs', 'create', '--', 'other/tank'), undefined);
  assert.equal(await suspendedPool(['zfs', 'list'], `${folder}/none`), undefined);
});
