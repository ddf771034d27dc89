import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { drift } from '../crash/daemon.ts';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';

/**
 * The only disk of a pool takes no more writes while the pool is changed, and ZFS suspends the pool. Another pool is
 * whole. The file of that disk is on a small file system outside of the machine, which becomes full.
 */
let nas: Nas;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-disk-'));
  await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'disk', folder]);
  nas = await startNas({ disks: 2, diskFolders: [folder] });
  for (const [name, disk] of [
    ['tank', 'ubdc'],
    ['other', 'ubdd'],
  ])
    await nas.api.expect(201, 'POST', 'storage/volume/', {
      volume_name: name,
      layout: [{ vdevtype: 'stripe', disks: [disk] }],
    });
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await promisify(execFile)('umount', ['--lazy', folder]);
  await rm(folder, { recursive: true, force: true });
});

const stateOf = async (pool: string) => (await nas.machine.run(`cat /proc/spl/kstat/zfs/${pool}/state`)).trim();

/** The disk refuses each write to where it was not written before. */
async function failDisk(): Promise<void> {
  const file = await open(join(folder, 'filler'), 'w');
  // A full file system takes a part of the last piece.
  while (
    await file.appendFile(Buffer.alloc(2 ** 20)).then(
      () => true,
      () => false,
    )
  );
  await file.close();
  await nas.machine.run(
    '(timeout 5 dd if=/dev/urandom of=/mnt/tank/filler bs=64k count=64 conv=fsync >/dev/null 2>&1 &) >/dev/null 2>&1',
  );
}

/** The disk works again, and the administrator says so, as the alert asks. */
async function putBack(): Promise<void> {
  await rm(join(folder, 'filler'));
  await nas.machine.run('timeout 60 zpool clear tank');
}

const names = async (list: string, member: string) =>
  (await nas.api.list(`${list}/?limit=0`)).map((record) => String(record[member]));

test('while a pool is suspended a change of it ends with the reason, and everything else goes on', {
  timeout: 900_000,
}, async (t) => {
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'before' });
  const client = (async () => {
    const answers: { readonly name: string; readonly status: number; readonly text: string; readonly ms: number }[] =
      [];
    for (let n = 0; ; n += 1) {
      const begun = performance.now();
      const { status, text } = await nas.api.post('storage/volume/tank/datasets/', { name: `n${n}` });
      answers.push({ name: `n${n}`, status, text, ms: performance.now() - begun });
      if (status !== 201) return answers;
    }
  })();
  await failDisk();
  await eventually(60, async () => assert.equal(await stateOf('tank'), 'SUSPENDED'));
  const slowest = { read: 0, change: 0 };
  for (let n = 0; n < 5; n += 1) {
    let begun = performance.now();
    assert.equal((await nas.api.get('storage/volume/')).status, 200);
    assert.equal((await nas.api.get('storage/dataset/')).status, 200);
    slowest.read = Math.max(slowest.read, performance.now() - begun);
    begun = performance.now();
    await nas.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: `during${n}` });
    await nas.api.expect(201, 'POST', 'storage/volume/other/datasets/', { name: `during${n}` });
    await nas.api.expect(201, 'POST', 'sharing/cifs/', {
      cifs_path: `/mnt/other/during${n}`,
      cifs_name: `during${n}`,
    });
    slowest.change = Math.max(slowest.change, performance.now() - begun);
  }
  t.diagnostic(`the slowest reads took ${slowest.read.toFixed(0)} ms, three changes ${slowest.change.toFixed(0)} ms`);
  const answers = await client;
  const last = answers.at(-1);
  t.diagnostic(
    `${answers.length - 1} changes before; then ${last?.status} after ${last?.ms.toFixed(0)} ms: ${last?.text}`,
  );
  assert.equal(last?.status, 400, JSON.stringify(last));
  assert.match(last.text, /The pool tank is suspended, .* zpool clear tank/);
  const alerts = await names('system/alert', 'message');
  assert.ok(
    alerts.some((message) => /tank is SUSPENDED/.test(message)),
    alerts.join('\n'),
  );
  await putBack();
  await eventually(120, async () => {
    const [volume] = (await nas.api.list('storage/volume/')).filter(({ name }) => name === 'tank');
    assert.equal(volume?.['status'], 'HEALTHY', await journal(nas.machine));
    await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: `after${Date.now()}` });
  });
  // What was answered is there, and what was refused is not.
  const there = await names('storage/volume/tank/datasets', 'name');
  for (const { name, status } of answers)
    assert.equal(there.includes(`tank/${name}`) || there.includes(name), status === 201, `${name}: ${status}`);
  const real = await nas.machine.run('zfs list -H -o name -r tank');
  for (const { name, status } of answers)
    assert.equal(real.split('\n').includes(`tank/${name}`), status === 201, `${name}: ${status}\n${real}`);
  assert.deepEqual(await drift(nas.api), []);
});
