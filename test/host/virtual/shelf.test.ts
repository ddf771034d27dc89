import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scratchFolder, virtualHost } from '../../support/hosts.ts';

/** Two machines on one shelf, of which the first has a pool with a file. */
async function pair(t: TestContext) {
  const folder = scratchFolder(t);
  const open = (node: string) =>
    virtualHost(t, { folder: join(folder, node), shelf: { folder: join(folder, 'shelf'), node } });
  const [alpha, beta] = [await open('alpha'), await open('beta')];
  await alpha.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
  await alpha.zfs.createDataset('tank/media');
  await alpha.files.write('/mnt/tank/media/a.txt', 'first');
  const guid = (await alpha.zfs.pools())[0]?.guid ?? assert.fail('there is no pool');
  return { alpha, beta, guid, open };
}

const names = async (host: { zfs: { pools(): Promise<readonly { readonly name: string }[]> } }) =>
  (await host.zfs.pools()).map(({ name }) => name);

test('a pool on a shelf is imported on one machine at a time, and its files with it', async (t) => {
  const { alpha, beta, guid } = await pair(t);
  assert.deepEqual(await names(beta), []);
  const [seen] = await beta.zfs.importable();
  assert.deepEqual([seen?.name, seen?.usedBy], ['tank', 'alpha']);
  assert.match((await beta.disks.list())[0]?.usedBy ?? '', /part of the exported pool tank/);
  await assert.rejects(beta.zfs.importPool(guid, { mountpoint: '/mnt/tank' }), /alpha used it last/);
  await alpha.zfs.exportPool('tank', { shared: true });
  assert.equal((await beta.zfs.importable())[0]?.usedBy, undefined);
  await beta.zfs.importPool(guid, { mountpoint: '/mnt/tank', shared: true });
  assert.deepEqual([await names(alpha), await names(beta)], [[], ['tank']]);
  assert.equal(await beta.zfs.isGuarded('tank'), true);
  assert.equal(await beta.files.read('/mnt/tank/media/a.txt'), 'first');
  assert.equal(await alpha.files.read('/mnt/tank/media/a.txt'), undefined);
});

test('a machine whose pool was taken over can no longer change it, also after its next start', async (t) => {
  const { alpha, beta, guid, open } = await pair(t);
  await beta.zfs.importPool(guid, { mountpoint: '/mnt/tank', takesOver: true, shared: true });
  assert.equal(await beta.files.read('/mnt/tank/media/a.txt'), 'first');
  await beta.files.write('/mnt/tank/media/a.txt', 'second');
  await assert.rejects(alpha.zfs.createDataset('tank/more'), /no such pool/);
  const again = await open('alpha');
  assert.deepEqual(await names(again), []);
  assert.equal(await beta.files.read('/mnt/tank/media/a.txt'), 'second');
});

test('an encrypted dataset is locked where its pool was taken over', async (t) => {
  const { alpha, beta, guid } = await pair(t);
  const key = 'ab'.repeat(32);
  await alpha.zfs.createDataset('tank/secret', { encryption: { key, slots: '' } });
  await beta.zfs.importPool(guid, { mountpoint: '/mnt/tank', takesOver: true });
  const secret = (await beta.zfs.datasets()).find(({ name }) => name === 'tank/secret');
  assert.equal(secret?.key, 'unavailable');
});
