import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type App, openApp } from '../../src/app.ts';
import { promptTopics } from '../../src/engine/facts/facts.ts';
import { openVirtualHost } from '../../src/host/virtual/index.ts';
import { isObject } from '../../src/lib/json.ts';
import { Store } from '../../src/store/store.ts';
import { programs } from '../../src/subsystems/index.ts';
import { sharesPrefix } from '../../src/subsystems/samba/paths.ts';
import { Api } from '../support/api.ts';
import { appliance, GiB, rootPassword } from '../support/appliance.ts';
import { type GatedHost, withGates } from '../support/gates.ts';

/** A daemon that listens and has not begun its start. */
interface Opened extends AsyncDisposable {
  readonly app: App;
  readonly api: Api;
  readonly gates: GatedHost;
  /** What the start reported as under way, in order. */
  readonly progress: readonly string[];
}

async function opened(folder: string, patience?: number): Promise<Opened> {
  const progress: string[] = [];
  const virtual = await openVirtualHost({
    programs,
    folder: join(folder, 'virtual'),
    disks: Array<number>(8).fill(2 * GiB),
    now: Date.now,
  });
  const gates = withGates(virtual);
  const app = await openApp({
    host: gates.host,
    store: Store.open(folder),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    now: Date.now,
    profile: 'document',
    version: 'test',
    rootPassword,
    progressed: (what) => progress.push(what),
    ...(patience !== undefined && { patience }),
  });
  await app.server.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const api = new Api(`http://127.0.0.1:${address.port}`, { user: 'root', password: rootPassword });
  const close = async () => {
    gates.open();
    await app.close();
  };
  return { app, api, gates, progress, [Symbol.asyncDispose]: close };
}

async function scratch(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-start-'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** A state folder of an appliance that had these pools, one disk each, and a share on each. They have been exported. */
async function withPools(folder: string, ...names: readonly string[]): Promise<void> {
  const box = await appliance({ folder });
  for (const [index, name] of names.entries()) {
    await box.api.expect(201, 'POST', 'storage/volume/', {
      volume_name: name,
      layout: [{ vdevtype: 'stripe', disks: [`ada${index}`] }],
    });
    await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/${name}/share`, cifs_name: `on-${name}` });
  }
  await box.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  for (const name of names) await box.machine.zfs.exportPool(name);
  await box.app.close();
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it did not come true within 20 s');
    await pause(5);
  }
}

/** The share sections of Samba's configuration. */
async function sharesOf({ gates }: Opened): Promise<string> {
  const { files } = gates.host;
  const texts = await Promise.all((await files.beginning(sharesPrefix)).map((path) => files.read(path)));
  return texts.join('\n');
}

const whatOf = (answer: { readonly json: unknown }) => (isObject(answer.json) ? String(answer.json['what']) : '');

test('a login that arrives while the daemon starts is answered before the start ends', async () => {
  await using state = await scratch();
  await withPools(state.folder, 'tank');
  await using box = await opened(state.folder);
  let isBegun = false;
  const begun = box.app.begin().then(() => {
    isBegun = true;
  });
  assert.equal((await box.api.get('sharing/cifs/1/')).status, 200);
  assert.equal(isBegun, false);
  await begun;
});

test('a daemon that starts answers health and what is kept, and holds reads of the machine and all changes', async () => {
  await using state = await scratch();
  await withPools(state.folder, 'tank');
  await using box = await opened(state.folder);
  const release = box.gates.hold((call) => call === 'zfs.pools');
  const begun = box.app.begin();

  assert.deepEqual((await box.api.get('/healthz')).json, { status: 'alive' });
  await until(async () => whatOf(await box.api.get('/readyz')).startsWith('reading'));
  const readiness = await box.api.get('/readyz');
  assert.equal(readiness.status, 503);
  assert.equal(readiness.headers.get('retry-after'), '5');
  assert.match(readiness.text, /^\{"status":"starting","what":"reading [a-z ]+, \d of \d+"\}$/);

  assert.deepEqual(
    (await box.api.list('sharing/cifs/')).map((share) => share['cifs_name']),
    ['on-tank'],
  );
  assert.equal((await box.api.get('account/users/1/')).status, 200);
  assert.equal((await box.api.get('/api/holdfast/v1/revisions')).status, 200);
  for (const path of [
    'storage/volume/',
    'storage/snapshot/',
    'system/alert/',
    '/api/holdfast/v1/drift',
    '/system/debug/download/',
  ]) {
    const held = await box.api.get(path);
    assert.deepEqual([path, held.status, held.headers.get('retry-after')], [path, 503, '5']);
    assert.match(held.text, /Holdfast is starting \(reading [^)]+\)\. .*Send the request again/);
  }
  const held = [
    await box.api.post('account/groups/', { bsdgrp_group: 'team' }),
    await box.api.put('services/services/cifs/', { srv_enable: false }),
    await box.api.delete('sharing/cifs/1/'),
    await box.api.post('/api/holdfast/v1/plan', { method: 'DELETE', path: 'sharing/cifs/1/' }),
  ];
  for (const { status, headers, text } of held) {
    assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
    assert.match(text, /Nothing was changed\. Send the request again/);
  }

  release();
  await begun;
  assert.deepEqual((await box.api.get('/readyz')).json, { status: 'ready' });
  assert.equal((await box.api.list('sharing/cifs/')).length, 1);
  assert.equal((await box.api.get('storage/volume/')).status, 200);
  await box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });
});

test('a pool that takes long to import keeps neither the interface nor services on another pool waiting', async () => {
  await using state = await scratch();
  await withPools(state.folder, 'slow', 'tank');
  await using box = await opened(state.folder, 50);
  const importable = await box.gates.host.zfs.importable();
  const guid = importable.find(({ name }) => name === 'slow')?.guid;
  const release = box.gates.hold((call, [which]) => call === 'zfs.importPool' && which === guid);
  await box.app.begin();

  await until(async () =>
    (await box.api.list('storage/volume/')).some(
      (volume) => volume['vol_name'] === 'tank' && volume['status'] === 'HEALTHY',
    ),
  );
  const readiness = await box.api.get('/readyz');
  assert.deepEqual([readiness.status, whatOf(readiness)], [503, 'importing slow, 1 of 2']);
  await until(async () => (await sharesOf(box)).includes('[on-tank]'));
  assert.equal((await sharesOf(box)).includes('[on-slow]'), false, 'a share was served whose pool is not there');
  await box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });

  release();
  await until(async () => (await box.api.get('/readyz')).status === 200);
  await until(async () => (await sharesOf(box)).includes('[on-slow]'));
  assert.deepEqual(
    (await box.api.list('storage/volume/')).map((volume) => volume['status']),
    ['HEALTHY', 'HEALTHY'],
  );
});

test('a pool that comes while the machine is being configured is served, though its services were configured before', async () => {
  await using state = await scratch();
  await withPools(state.folder, 'tank');
  await using box = await opened(state.folder, 50);
  const bring = box.gates.hold((call) => call === 'zfs.importPool');
  // The last subsystem waits, so that those on volumes are done by then.
  const release = box.gates.hold((call) => call === 'web.serve' || call === 'web.served');
  const begun = box.app.begin();
  await until(() => box.progress.includes('importing tank'));
  await until(() => box.app.engine.startup.phase === 'configuring');
  await until(async () => !(await sharesOf(box)).includes('[on-tank]'));
  bring();
  await until(() => box.app.engine.world.facts.storage.datasets.get('tank')?.mountpoint !== undefined);
  release();
  await begun;
  await until(async () => (await sharesOf(box)).includes('[on-tank]'));
});

test('during the first start the future password of root can read, and no other password can', async () => {
  await using state = await scratch();
  await using box = await opened(state.folder);
  const release = box.gates.hold((call) => call === 'accounts.known');
  const begun = box.app.begin();
  const readiness = await box.api.get('/readyz');
  assert.equal(readiness.status, 503);
  assert.equal((await box.api.get('account/users/')).status, 503);
  assert.equal((await new Api(box.api.url, { user: 'root', password: 'another' }).get('/readyz')).status, 401);
  release();
  await begun;
  assert.equal((await box.api.get('/readyz')).status, 200);
  assert.ok((await box.api.list('account/users/')).length > 0);
  assert.equal((await new Api(box.api.url, { user: 'root', password: 'another' }).get('/readyz')).status, 401);
});

test('every look and every subsystem of a start is progress, and a start in which nothing moves reports none', async () => {
  await using state = await scratch();
  await using box = await opened(state.folder);
  const release = box.gates.hold((call) => call === 'network.look');
  const begun = box.app.begin();
  // All other looks end.
  await until(() => promptTopics.every((topic) => topic === 'network' || box.app.engine.startup.hasSeen(topic)));
  await until(() => box.app.engine.startup.what.startsWith('reading network'));
  const before = box.progress.length;
  await pause(100);
  assert.equal(box.progress.length, before);
  release();
  await begun;
  const configured = new Set(box.progress.flatMap((what) => /^configuring (.+), \d+ of \d+$/.exec(what)?.[1] ?? []));
  assert.ok(configured.has('samba') && configured.has('network') && configured.has('accounts'), [...configured].join());
});

test('an answer waits only for the records it needs, and a damaged one ends the start', async () => {
  await using place = await scratch();
  const { folder } = place;
  await withPools(folder, 'tank');
  const database = new Database(join(folder, 'holdfast.sqlite'));
  database.prepare("UPDATE documents SET body = '{' WHERE resource = 'sharing/cifs'").run();
  database.close();
  await using box = await opened(folder);
  await box.api.expect(200, 'GET', 'services/cifs/');
  // Not an empty list, at the second request neither.
  await box.api.expect(500, 'GET', 'sharing/cifs/');
  await box.api.expect(500, 'GET', 'sharing/cifs/');
  await assert.rejects(box.app.begin(), /database is damaged: the record sharing\/cifs\/1 cannot be read/);
});
