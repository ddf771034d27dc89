import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { copyTree } from '../../../src/host/virtual/sparse.ts';
import { scratchFolder, virtualHost } from '../../support/hosts.ts';

const MiB = 1024 ** 2;
const size = 3 * 1024 * MiB;

/** A file of 3 GB with data at its ends and across a boundary of the chunks. */
const marks = [0, 4 * MiB - 3, 1500 * MiB + 17, size - 5];

function writeSparse(path: string): void {
  const file = openSync(path, 'w');
  ftruncateSync(file, size);
  for (const at of marks) writeSync(file, 'data!', at);
  closeSync(file);
}

function assertCopied(path: string): void {
  const { size: copied, blocks } = statSync(path);
  assert.equal(copied, size);
  assert.ok(blocks * 512 < 64 * MiB, `the copy takes ${blocks * 512} bytes`);
  const file = openSync(path, 'r');
  for (const at of marks) {
    const data = Buffer.alloc(5);
    readSync(file, data, 0, 5, at);
    assert.equal(data.toString(), 'data!');
  }
  closeSync(file);
}

test('a snapshot of an extent of 3 GB takes the space of its data, and a rollback brings the data back', async (t) => {
  const folder = scratchFolder(t);
  const { zfs } = await virtualHost(t, { folder });
  await zfs.createPool({
    name: 'tank',
    mountpoint: '/mnt/tank',
    groups: [{ kind: 'stripe', disks: ['ada0'] }],
  });
  const extent = join(folder, 'root/mnt/tank/extent');
  writeSparse(extent);
  await zfs.createSnapshot('tank@before');
  writeFileSync(extent, 'overwritten');
  await zfs.rollback('tank@before');
  assertCopied(extent);
});

test('a copied folder has the same modes, links and files, without what is left out', async (t) => {
  const folder = scratchFolder(t);
  const from = join(folder, 'from');
  mkdirSync(join(from, 'kept/deep'), { recursive: true });
  mkdirSync(join(from, 'other'));
  chmodSync(join(from, 'kept'), 0o1777);
  writeFileSync(join(from, 'kept/deep/file'), 'text', { mode: 0o640 });
  symlinkSync('../nowhere', join(from, 'kept/link'));
  const to = join(folder, 'to');
  await copyTree(from, to, new Set([join(from, 'other')]));
  assert.equal(readFileSync(join(to, 'kept/deep/file'), 'utf8'), 'text');
  assert.equal(readlinkSync(join(to, 'kept/link')), '../nowhere');
  assert.equal(statSync(join(to, 'kept')).mode & 0o7777, 0o1777);
  assert.equal(statSync(join(to, 'kept/deep/file')).mode & 0o777, 0o640);
  assert.throws(() => statSync(join(to, 'other')), /ENOENT/);
});
