import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Host } from '../../src/host/ports/index.ts';
import type { Replica } from '../../src/host/ports/replication.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';

const minute = 60_000;

const hostkey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0';

const body = {
  repl_filesystem: 'tank',
  repl_zfs: 'backup/nas',
  repl_remote_hostname: 'far.example.com',
  repl_remote_hostkey: `far.example.com ${hostkey}`,
  repl_userepl: true,
};

/** An appliance whose clock the test sets, with a snapshot every five minutes of tank and what lies below. */
async function withTask(t: TestContext, around?: (host: Host) => Host) {
  const clock = standingClock(Date.UTC(2026, 0, 12, 7, 59, 0, 20));
  const one = await appliance({ now: clock.now, ...(around === undefined ? {} : { around }) });
  t.after(() => one[Symbol.asyncDispose]());
  await one.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Europe/Berlin' });
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  await one.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'papers' });
  await one.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank',
    task_recursive: true,
    task_interval: 5,
    task_ret_unit: 'hour',
  });
  return {
    one,
    async pass(minutes: number) {
      for (let passed = 0; passed < minutes; passed += 1) {
        clock.advance(minute);
        one.engine.lookAtClock();
        await rested(one);
      }
    },
    status: async () => {
      const record = await one.api.expect(200, 'GET', 'storage/replication/1/');
      return [record['repl_status'], record['repl_lastsnapshot']];
    },
  };
}

async function rested({ engine }: Appliance): Promise<void> {
  while (engine.jobs.list(20).some(({ state }) => state === 'running'))
    await new Promise((resolve) => setTimeout(resolve, 2));
}

/** What the other machine has, as `dataset@time`. */
async function there({ host, engine }: Appliance): Promise<readonly string[]> {
  const { replicationTask } = await import('../../src/areas/storage/replication.ts');
  const [record] = engine.table(replicationTask).all();
  if (record === undefined) return [];
  const files = { identity: '/run/holdfast/replication/key', knownHosts: '/run/holdfast/replication/known_hosts' };
  const far = await host.replication.far(
    { hostname: 'far.example.com', port: 22, user: 'root', sudo: false, ciphers: [], ...files, alias: 'replication-1' },
    'backup/nas',
  );
  return far.flatMap(({ name, snapshots }: Replica) =>
    snapshots.map((snapshot) => `${name}@${snapshot.name.slice(14, 18)}`),
  );
}

test('a task has the defaults of the document and waits', async (t) => {
  const { one } = await withTask(t);
  assert.deepEqual(await one.api.expect(201, 'POST', 'storage/replication/', body), {
    id: 1,
    ...body,
    repl_remote_port: 22,
    repl_remote_cipher: 'standard',
    repl_remote_dedicateduser_enabled: false,
    repl_remote_dedicateduser: null,
    repl_followdelete: false,
    repl_compression: 'lz4',
    repl_limit: 0,
    repl_begin: '00:00:00',
    repl_end: '23:59:00',
    repl_enabled: true,
    repl_status: 'Waiting',
    repl_lastsnapshot: '',
  });
});

test('what a task wants is asked for, all at once', async (t) => {
  const { one } = await withTask(t);
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'other',
    layout: [{ vdevtype: 'mirror', disks: ['ada2', 'ada3'] }],
  });
  const answer = await one.api.post('storage/replication/', {
    repl_filesystem: 'other',
    repl_zfs: 'backup',
    repl_remote_hostname: 'far',
    repl_remote_dedicateduser_enabled: true,
  });
  assert.equal(answer.status, 409);
  assert.deepEqual(Object.keys(JSON.parse(answer.text)).sort(), [
    'repl_filesystem',
    'repl_remote_dedicateduser',
    'repl_remote_hostkey',
  ]);
  const wrong = await one.api.post('storage/replication/', {
    ...body,
    repl_remote_hostname: '-oProxyCommand=x',
    repl_zfs: 'a b',
    repl_remote_hostkey: 'no key',
    repl_begin: 'noon',
  });
  assert.deepEqual(Object.keys(JSON.parse(wrong.text)).sort(), [
    'repl_begin',
    'repl_remote_hostkey',
    'repl_remote_hostname',
    'repl_zfs',
  ]);
});

test('ssh has a key of this machine that it can read, and the key of the other, while there is a task', async (t) => {
  const { one } = await withTask(t);
  const key = () => one.host.files.read('/run/holdfast/replication/key');
  assert.equal(await key(), undefined);
  await one.api.expect(201, 'POST', 'storage/replication/', body);
  assert.equal(await one.host.files.mode('/run/holdfast/replication/key'), 0o600);
  assert.equal(
    await one.host.files.read('/run/holdfast/replication/known_hosts'),
    `# Written by Holdfast.\nreplication-1 ${hostkey}\n`,
  );
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'key'), (await key()) ?? '', { mode: 0o600 });
  const shown = execFileSync('ssh-keygen', ['-y', '-f', join(folder, 'key')], { encoding: 'utf8' });
  const told = (await one.api.get('storage/replication/publickey/')).text;
  assert.equal(told.trim().replaceAll('"', ''), shown.trim());
  assert.doesNotMatch(JSON.stringify(one.log), /PRIVATE KEY/);
  assert.equal((await one.api.delete('storage/replication/1/')).status, 204);
  assert.equal(await key(), undefined);
});

test('snapshots are sent as they come, below too, and nothing is begun while there is nothing new', async (t) => {
  const { one, pass, status } = await withTask(t);
  await one.api.expect(201, 'POST', 'storage/replication/', body);
  await pass(2);
  assert.deepEqual(await there(one), ['backup/nas@0900', 'backup/nas/papers@0900']);
  assert.deepEqual(await status(), ['Succeeded', 'tank/papers@auto-20260112.0900-2h']);
  await pass(3);
  assert.equal((await one.api.list('/api/holdfast/v1/jobs?subject=storage/replication/1')).length, 1);
  await pass(2);
  assert.deepEqual(await there(one), [
    'backup/nas@0900',
    'backup/nas@0905',
    'backup/nas/papers@0900',
    'backup/nas/papers@0905',
  ]);
});

test('deletions are followed where that is wanted, and what was sent stays a beginning for the next', async (t) => {
  const { one, pass, status } = await withTask(t);
  await one.api.expect(201, 'POST', 'storage/replication/', { ...body, repl_userepl: false, repl_followdelete: true });
  await pass(7);
  assert.deepEqual(await there(one), ['backup/nas@0900', 'backup/nas@0905']);
  for (const time of ['0900', '0905'])
    await one.api.expect(204, 'DELETE', `storage/snapshot/tank@auto-20260112.${time}-2h/`);
  await pass(5);
  assert.deepEqual([await there(one), (await status())[0]], [['backup/nas@0910'], 'Succeeded']);
});

test('outside its time, and switched off, a task rests', async (t) => {
  const { one, pass, status } = await withTask(t);
  await one.api.expect(201, 'POST', 'storage/replication/', { ...body, repl_begin: '22:00', repl_end: '06:00' });
  await pass(3);
  assert.deepEqual(await status(), ['Waiting', '']);
  await one.api.expect(200, 'PUT', 'storage/replication/1/', { repl_end: '09:30:00' });
  await pass(1);
  assert.equal((await status())[0], 'Succeeded');
});

test('a failure is the status, with the words of the machine, and is tried again', async (t) => {
  const broken = { on: true };
  const { one, pass, status } = await withTask(t, (host) => ({
    ...host,
    replication: {
      near: (dataset, options) => host.replication.near(dataset, options),
      far: (remote, dataset) => host.replication.far(remote, dataset),
      release: (remote, datasets) => host.replication.release(remote, datasets),
      abandon: (remote, dataset) => host.replication.abandon(remote, dataset),
      destroy: (remote, snapshots) => host.replication.destroy(remote, snapshots),
      mark: (snapshot, name) => host.replication.mark(snapshot, name),
      pair: (request) => host.replication.pair(request),
      async send(transfer) {
        if (!broken.on) return host.replication.send(transfer);
        transfer.progress(1024 ** 2, 4 * 1024 ** 2);
        throw new Error('Connection closed by remote host');
      },
    },
  }));
  await one.api.expect(201, 'POST', 'storage/replication/', body);
  await pass(2);
  const [said] = await status();
  assert.equal(
    said,
    'Failed: Sending tank@auto-20260112.0900-2h failed after 1.0 MiB. The other machine keeps what has arrived, and the next run resumes there. Connection closed by remote host',
  );
  broken.on = false;
  await pass(1);
  assert.equal((await status())[0], 'Succeeded');
});

test('another key than the one that is known, and a host that is not there, are told', async (t) => {
  const { one, pass, status } = await withTask(t);
  await one.api.expect(201, 'POST', 'storage/replication/', { ...body, repl_remote_hostname: 'nobody.invalid' });
  await pass(2);
  assert.match(String((await status())[0]), /^Failed: .*Could not resolve hostname nobody\.invalid/);
  await one.api.expect(200, 'PUT', 'storage/replication/1/', { repl_remote_hostname: 'far.example.com' });
  await pass(1);
  assert.equal((await status())[0], 'Succeeded');
  await one.api.expect(200, 'PUT', 'storage/replication/1/', { repl_remote_hostkey: hostkey.replace('IFh0', 'IFh1') });
  await pass(1);
  assert.equal((await status())[0], 'Failed: Host key verification failed.');
});

test('in the mode SEMIAUTOMATIC the other machine is asked for its key', async (t) => {
  const { one, pass, status } = await withTask(t);
  const { repl_remote_hostkey: _, ...half } = body;
  const asking = { ...half, repl_remote_mode: 'SEMIAUTOMATIC' };
  assert.match((await one.api.post('storage/replication/', asking)).text, /repl_remote_token/);
  assert.match(
    (await one.api.post('storage/replication/', { ...asking, repl_remote_token: 'expired' })).text,
    /did not let this machine's key in/,
  );
  const made = await one.api.expect(201, 'POST', 'storage/replication/', { ...asking, repl_remote_token: 'given out' });
  assert.match(String(made['repl_remote_hostkey']), /^ssh-ed25519 AAAA/);
  assert.equal(made['repl_remote_token'], undefined);
  await pass(2);
  assert.equal((await status())[0], 'Succeeded');
});

test('a token lets another machine pair itself, once, for ten minutes, and opens nothing else', async (t) => {
  const { one, pass } = await withTask(t);
  const issue = async () => ({
    authorization: `Token ${(await one.api.expect(201, 'POST', '/api/holdfast/v1/tokens/'))['token']}`,
  });
  const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0 holdfast-replication-1';
  const pairing = (headers: Readonly<Record<string, string>>) =>
    one.api.send('POST', 'storage/replication/pair/', { key, user: 'root' }, headers);
  assert.equal((await one.api.send('POST', '/api/holdfast/v1/tokens/', undefined, await issue())).status, 401);
  // Whatever it is sent with, a token is used up.
  const elsewhere = await issue();
  assert.equal((await one.api.get('storage/volume/', elsewhere)).status, 401);
  assert.equal((await pairing(elsewhere)).status, 401);
  const token = await issue();
  const answer = await pairing(token);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.text, /^\{"hostkey":"ssh-ed25519 AAAA[^" ]+","port":22\}$/);
  assert.equal(
    await one.host.files.read('/root/.ssh/authorized_keys'),
    `restrict,command="/usr/lib/holdfast/replicate" ${key}\n`,
  );
  assert.equal(await one.host.files.mode('/root/.ssh/authorized_keys'), 0o600);
  assert.equal((await pairing(token)).status, 401);
  const late = await issue();
  await pass(11);
  assert.equal((await pairing(late)).status, 401);
  // One that is there is not added again.
  assert.equal((await pairing(await issue())).status, 200);
  assert.equal(
    await one.host.files.read('/root/.ssh/authorized_keys'),
    `restrict,command="/usr/lib/holdfast/replicate" ${key}\n`,
  );
});
