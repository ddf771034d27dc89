import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { suspendedPool, suspendedPoolAt } from '../../../src/host/linux/zfs/suspension.ts';
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

test('a path leads into the pool of the innermost mount, also with white space in its name', async (t) => {
  const folder = scratchFolder(t);
  for (const [pool, state] of Object.entries({ tank: 'SUSPENDED', other: 'ONLINE' })) {
    mkdirSync(`${folder}/${pool}`);
    writeFileSync(`${folder}/${pool}/state`, `${state}\n`);
  }
  const mounts = `${folder}/mountinfo`;
  writeFileSync(
    mounts,
    `24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
161 24 0:43 / /mnt/tank rw,noatime shared:83 - zfs tank rw,xattr,posixacl
162 161 0:44 / /mnt/tank/my\\040files rw,noatime shared:84 - zfs tank/my\\040files rw,xattr
163 161 0:45 / /mnt/tank/elsewhere rw,noatime - zfs other/elsewhere rw
164 24 0:46 / /mnt/other rw,noatime - zfs other rw
`,
  );
  const found = (path: string) => suspendedPoolAt(path, { states: folder, mounts });
  assert.equal(await found('/mnt/tank'), 'tank');
  assert.equal(await found('/mnt/tank/my files/a'), 'tank');
  assert.equal(await found('/mnt/tank/elsewhere/a'), undefined);
  assert.equal(await found('/mnt/other/a'), undefined);
  assert.equal(await found('/mnt/tankful'), undefined);
  assert.equal(await found('/etc/hosts'), undefined);
});
