import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientList, handOverClients } from '../../../src/engine/pair/clients.ts';
import { HostError } from '../../../src/host/ports/index.ts';
import type { Connection } from '../../../src/host/ports/network.ts';

const onPool = '/mnt/tank/.holdfast-state/clients';
const former = '/run/holdfast/clients';
const pair = { pool: 'tank' };
const nfs: Connection = { port: 2049, client: '192.0.2.77', clientPort: 701 };
const smb: Connection = { port: 445, client: '198.51.100.9', clientPort: 50000 };
const rows = { nfs: '192.0.2.10:2049 192.0.2.77:701', smb: '192.0.2.10:445 198.51.100.9:50000' };

/** The list on a machine whose clients and files are values. */
function holder() {
  const files = new Map<string, string>();
  const world = { clients: [nfs] as readonly Connection[], address: '192.0.2.10', fails: false, writes: 0 };
  const warnings: string[] = [];
  const list = new ClientList({
    pair,
    address: () => world.address,
    host: {
      network: { connections: async (address) => (address === '192.0.2.10' ? world.clients : []) },
      files: {
        write: async (path, content) => {
          if (world.fails) throw new HostError('no space');
          world.writes += 1;
          files.set(path, content);
        },
      },
    },
    log: { debug() {}, info() {}, error() {}, warn: (_, message) => void warnings.push(message) },
  });
  return { files, list, world, warnings };
}

test('the clients of the address are on the pool, and are written when they change', async () => {
  const { files, list, world } = holder();
  await list.look();
  assert.equal(files.get(onPool), `${rows.nfs}\n`);
  world.clients = [smb, nfs];
  await list.look();
  assert.equal(files.get(onPool), `${rows.nfs}\n${rows.smb}\n`);
  world.clients = [nfs, smb];
  await list.look();
  assert.equal(world.writes, 2, 'the order of the connections is no change');
  world.clients = [];
  await list.look();
  await list.look();
  assert.equal(files.get(onPool), '');
});

test('connections that end when the address goes stay in the list, whether that is seen once or twice', async () => {
  for (const times of [0, 1]) {
    const { files, list, world } = holder();
    world.clients = [nfs];
    await list.look();
    world.clients = [smb];
    for (let n = 0; n < times; n += 1) await list.look();
    await list.close();
    assert.equal(files.get(onPool), `${rows.nfs}\n${rows.smb}\n`);
  }
});

test('without an address nothing is noted', async () => {
  const { files, list, world } = holder();
  world.address = '';
  await list.look();
  assert.equal(files.size, 0);
});

test('a list that cannot be written is written later, and reported once', async () => {
  const { files, list, world, warnings } = holder();
  world.fails = true;
  await list.look();
  await list.look();
  assert.equal(warnings.length, 1);
  world.fails = false;
  await list.look();
  assert.equal(files.get(onPool), `${rows.nfs}\n`);
});

test('the machine that takes the pool gets the list, and one after it does not', async () => {
  const { files, list } = holder();
  await list.look();
  const host = {
    files: {
      read: async (path: string) => files.get(path),
      write: async (path: string, content: string) => void files.set(path, content),
      remove: async (path: string) => void files.delete(path),
    },
  };
  await handOverClients(host, pair);
  assert.deepEqual([files.get(former), files.has(onPool)], [`${rows.nfs}\n`, false]);
  await handOverClients(host, pair);
  assert.equal(files.get(former), '');
});
