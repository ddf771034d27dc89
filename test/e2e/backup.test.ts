import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject, sortedJson } from '../../src/lib/json.ts';
import type { Api } from '../support/api.ts';
import { appliance } from '../support/appliance.ts';
import { type Furnished, furnished } from '../support/furnished.ts';

const config = '/api/holdfast/v1/config';
const passphrase = 'correct horse';

const backUp = (api: Api, body: object = {}) => api.expect(200, 'POST', `${config}/backup`, body);

/** The file with other records in it, and the digest that goes with those. */
function forged(file: Readonly<Record<string, unknown>>, records: object): object {
  const { digest: _, ...rest } = file;
  const whole = { ...rest, resources: { ...(isObject(rest['resources']) ? rest['resources'] : {}), ...records } };
  return { ...whole, digest: createHash('sha256').update(sortedJson(whole)).digest('hex') };
}

test('after factory restore the records are those of a fresh system, the pools stay, and the backup made before takes it back', async () => {
  await using world = await furnished();
  await using fresh = await appliance();
  const pools = (await world.machine.zfs.pools()).map(({ name }) => name);
  const before = world.keptState();
  assert.equal(
    (await world.api.post('system/config/factory_restore/')).text,
    'Configuration restored to defaults. Reboot required.',
  );
  assert.deepEqual(await drifted(world.api), []);
  assert.deepEqual(
    (await world.machine.zfs.pools()).map(({ name }) => name),
    pools,
  );
  for (const path of [
    'sharing/cifs',
    'sharing/nfs',
    'tasks/cronjob',
    'account/users',
    'account/groups',
    'services/ftp',
    'system/ntpserver',
    'system/tunable',
    'system/settings',
  ])
    assert.equal(
      (await world.api.get(`${path}/`)).text.replaceAll(/"bsdusr_(unix|smb)hash":"[^"]*"/g, ''),
      (await fresh.api.get(`${path}/`)).text.replaceAll(/"bsdusr_(unix|smb)hash":"[^"]*"/g, ''),
      path,
    );
  const [revision] = await world.api.list('/api/holdfast/v1/revisions?limit=1');
  assert.deepEqual([revision?.['title'], revision?.['actor']], ['restore the defaults', 'root']);
  const [backup] = await world.api.list(`${config}/backups`);
  assert.equal(backup?.['title'], 'restore the defaults');
  await world.api.expect(200, 'POST', `${config}/restore`, { backup: backup?.['number'] });
  assert.deepEqual(world.keptState(), before);
  assert.deepEqual(await drifted(world.api), []);
});

async function drifted(api: Api): Promise<readonly unknown[]> {
  return (await api.list('/api/holdfast/v1/drift')).filter(
    (one) => one['degraded'] !== null || JSON.stringify(one['drift']) !== '[]',
  );
}

test('a file with secrets brings everything back, on the same machine and after a restart', async () => {
  await using world = await furnished();
  const before = world.keptState();
  const file = await backUp(world.api, { passphrase });
  await world.api.expect(202, 'POST', 'system/config/factory_restore/');
  await world.restart();
  await world.api.expect(200, 'POST', `${config}/restore`, { file, passphrase });
  assert.deepEqual(world.keptState(), before);
  assert.deepEqual(await drifted(world.api), []);
  const again = await backUp(world.api);
  await world.api.expect(200, 'POST', `${config}/restore`, { file: again });
  assert.deepEqual(world.keptState(), before, 'what a file without secrets lacks is what is there');
});

test('what no file tells is put back too: disks, the kernel and the time zone', async () => {
  await using one = await appliance();
  await one.api.expect(200, 'PUT', `storage/disk/${encodeURIComponent('{serial}VIRT0001')}/`, {
    disk_hddstandby: '60',
  });
  await one.api.expect(201, 'POST', 'system/tunable/', {
    tun_var: 'vm.swappiness',
    tun_value: '17',
    tun_type: 'sysctl',
  });
  await one.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Europe/Berlin' });
  const standby = () =>
    /"ada0":\{[^}]*"standby":(\d+)/.exec(readFileSync(join(one.folder, 'virtual', 'disks.json'), 'utf8'))?.[1];
  const { machine } = one.machine;
  const state = async () => [standby(), await machine.parameter('vm.swappiness'), await machine.zone()];
  const file = await backUp(one.api);
  await one.api.expect(202, 'POST', 'system/config/factory_restore/');
  assert.deepEqual(await state(), ['0', '60', 'America/Los_Angeles']);
  await one.api.expect(200, 'POST', `${config}/restore`, { file });
  assert.deepEqual(await state(), ['60', '17', 'Europe/Berlin']);
});

test('what is no whole backup is refused in words, and nothing has changed', async () => {
  await using one = await appliance();
  await one.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  await one.api.expect(200, 'PUT', 'services/snmp/', { snmp_community: 'known to few' });
  const file = await backUp(one.api, { passphrase });
  const before = (await one.api.get('tasks/cronjob/')).text;
  const holding = (records: object) => forged(file, records);
  for (const [body, words] of [
    [{}, /Expected either file, the content of a backup/],
    [{ file: 'tar', passphrase }, /Expected a backup of a Holdfast configuration/],
    [{ file: {}, passphrase }, /Expected a backup of a Holdfast configuration/],
    [{ file: { ...file, made: 'yesterday' }, passphrase }, /damaged or was changed/],
    [{ file: { ...file, holdfast_backup: 2 }, passphrase }, /A newer version of Holdfast wrote this/],
    [{ file }, /Send the passphrase/],
    [{ file, passphrase: 'another horse' }, /does not decrypt the secrets/],
    [
      { file: holding({ 'tasks/other': [] }), passphrase },
      /"tasks\/other":\["This version of Holdfast has no resource of this name\."\]/,
    ],
    [{ file: holding({ 'tasks/cronjob': 'none' }), passphrase }, /Expected a list of records/],
    [
      { file: holding({ 'tasks/cronjob': [{ id: 1, cron_user: 'root\nmary', cron_command: 'true' }] }), passphrase },
      /"tasks\/cronjob\/1":\["cron_user: /,
    ],
    [{ file: holding({ 'services/ftp': [] }), passphrase }, /Expected one record with the id 1/],
    [
      { file: holding({ 'storage/scrub': [{ id: 1, scrub_volume: 'nowhere' }] }), passphrase },
      /"storage\/scrub\/1":\["scrub_volume: /,
    ],
    [{ backup: 7 }, /The backup 7 does not exist/],
  ] as const) {
    const answer = await one.api.post(`${config}/restore`, body);
    assert.ok(
      answer.status === 400 || answer.status === 404,
      `${JSON.stringify(body).slice(0, 100)}: ${answer.status} ${answer.text}`,
    );
    assert.match(answer.text, words);
    assert.equal((await one.api.get('tasks/cronjob/')).text, before);
  }
  assert.deepEqual(await one.api.list(`${config}/backups`), []);
  assert.match((await one.api.post(`${config}/backup`, { passphrase: 'short' })).text, /at least 8/);
});

test('no secret lies about in the clear: not in a file, not in the database, not in what is told', async () => {
  await using one = await appliance();
  await one.api.expect(200, 'PUT', 'services/snmp/', { snmp_community: 'known to few' });
  await one.api.expect(202, 'POST', 'system/config/factory_restore/');
  const open = await backUp(one.api);
  const files = [open, await backUp(one.api, { passphrase })].map((file) => JSON.stringify(file));
  const told = [
    ...files,
    (await one.api.get('/api/holdfast/v1/revisions')).text,
    (await one.api.get(`${config}/backups`)).text,
    JSON.stringify(one.log),
  ];
  const kept = ['holdfast.sqlite', 'holdfast.sqlite-wal'].map((name) => readFileSync(join(one.folder, name), 'latin1'));
  for (const text of [...told, ...kept]) assert.ok(!text.includes('known to few'));
  await one.api.expect(200, 'POST', `${config}/restore`, { backup: 1 });
  assert.equal((await one.api.expect(200, 'GET', 'services/snmp/'))['snmp_community'], 'known to few');
  await one.api.expect(200, 'POST', `${config}/restore`, { file: open });
  assert.equal(
    (await one.api.expect(200, 'GET', 'services/snmp/'))['snmp_community'],
    'known to few',
    'the secret that is there stays',
  );
});

test('a restore that the machine refuses at any point leaves it and the records as they were', async () => {
  await using world = await furnished();
  const file = await backUp(world.api, { passphrase });
  await world.api.expect(202, 'POST', 'system/config/factory_restore/');
  const { length } = await callsOf(world, () => world.api.post(`${config}/restore`, { file, passphrase }));
  await world.api.expect(202, 'POST', 'system/config/factory_restore/');
  const before = { kept: world.keptState(), machine: await world.machineState() };
  assert.ok(length > 50, `${length} calls`);
  for (let n = 3; n < length; n += Math.ceil(length / 12)) {
    world.faults.failAt(n);
    const answer = await world.api.post(`${config}/restore`, { file, passphrase });
    world.faults.heal();
    if (answer.status === 200) {
      await world.api.expect(202, 'POST', 'system/config/factory_restore/');
      continue;
    }
    assert.match(answer.text, /made to fail/);
    assert.deepEqual(world.keptState(), before.kept);
    assert.deepEqual(await world.machineState(), before.machine, `call ${n}`);
  }
});

async function callsOf(world: Furnished, deed: () => Promise<unknown>): Promise<readonly string[]> {
  world.faults.heal();
  await deed();
  return [...world.faults.titles];
}
