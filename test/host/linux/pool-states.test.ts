import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { PoolStates } from '../../../src/host/linux/zfs/pool-states.ts';
import { scratchFolder } from '../../support/hosts.ts';

/** The files of ZFS for two pools, and a clock. */
function machine(t: TestContext) {
  const states = scratchFolder(t);
  const mounts = `${states}/mountinfo`;
  let seconds = 0;
  writeFileSync(`${states}/arcstats`, '');
  writeFileSync(
    mounts,
    `24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
161 24 0:43 / /mnt/tank rw,noatime shared:83 - zfs tank rw,xattr,posixacl
162 161 0:44 / /mnt/tank/my\\040files rw,noatime shared:84 - zfs tank/my\\040files rw,xattr
163 161 0:45 / /mnt/tank/elsewhere rw,noatime - zfs other/elsewhere rw
164 24 0:46 / /mnt/other rw,noatime - zfs other rw
`,
  );
  const set = (pool: string, state: string, txgs: string) => {
    mkdirSync(`${states}/${pool}`, { recursive: true });
    writeFileSync(`${states}/${pool}/state`, `${state}\n`);
    writeFileSync(`${states}/${pool}/txgs`, `txg      birth            state ndirty       otime\n${txgs}`);
  };
  set('other', 'ONLINE', '90       71530224013      C     0            0\n');
  return {
    set,
    pass: (more: number) => {
      seconds += more;
    },
    states: new PoolStates({ states, mounts }, () => seconds * 1000),
    none: new PoolStates({ states: `${states}/none`, mounts }),
  };
}

test('a program waits for the suspended pool that it names, or for any if it names none', async (t) => {
  const { set, states, none } = machine(t);
  set('tank', 'SUSPENDED', '');
  const suspended = /^The pool tank is suspended.*zpool clear tank/;
  assert.match(String(await states.waitOf(['zfs', 'create', '--', 'tank/a'])), suspended);
  assert.match(String(await states.waitOf(['zfs', 'destroy', 'tank@monday'])), suspended);
  assert.match(String(await states.waitOf(['zpool', 'list'])), suspended);
  assert.equal(await states.waitOf(['zfs', 'create', '--', 'other/tank']), undefined);
  assert.equal(await none.waitOf(['zfs', 'list']), undefined);
});

test('a path leads into the pool of the innermost mount, also with white space in its name', async (t) => {
  const { set, states } = machine(t);
  set('tank', 'SUSPENDED', '');
  for (const path of ['/mnt/tank', '/mnt/tank/my files/a'])
    assert.match(String(await states.waitAt(path)), /^The pool tank is suspended/);
  for (const path of ['/mnt/tank/elsewhere/a', '/mnt/other/a', '/mnt/tankful', '/etc/hosts'])
    assert.equal(await states.waitAt(path), undefined, path);
});

test('a pool that writes the same group of transactions for a minute serves nothing, although it is online', async (t) => {
  const { set, pass, states } = machine(t);
  const writes = (txg: number, state: string) =>
    set(
      'tank',
      'ONLINE',
      `${txg - 1}      71530224013      C     0            5119932371\n${txg}      76650156384      ${state}     88576        5120002113\n`,
    );
  const wait = () => states.waitOf(['zfs', 'create', 'tank/a']);
  writes(813, 'S');
  assert.equal(await wait(), undefined);
  pass(59);
  assert.equal(await wait(), undefined);
  // A busy pool gets on, however slowly.
  writes(814, 'S');
  pass(59);
  assert.equal(await wait(), undefined);
  pass(59);
  assert.equal(await wait(), undefined);
  pass(1);
  assert.match(String(await wait()), /^The pool tank has written nothing for a minute.*zpool status tank/);
  assert.match(String(await states.waitAt('/mnt/tank/a')), /^The pool tank has written nothing/);
  assert.equal(await states.waitOf(['zfs', 'create', 'other/a']), undefined);
  writes(815, 'O');
  pass(1);
  assert.equal(await wait(), undefined);
});
