import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance } from '../support/appliance.ts';

const plan = '/api/holdfast/v1/plan';

test('a plan says what a change would do to the machine, and does nothing', async () => {
  await using box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const answer = await box.api.post(plan, {
    method: 'POST',
    path: 'sharing/cifs/',
    body: { cifs_path: '/mnt/tank/media' },
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, [
    'create the folder /mnt/tank/media',
    'write /etc/samba/holdfast/shares-0.conf',
    'write /etc/samba/smb.conf',
  ]);
  assert.deepEqual(await box.api.list('sharing/cifs/'), []);
  assert.equal(await box.host.files.kind('/mnt/tank/media'), undefined);
});

test('a plan of a wrong change names what is wrong', async () => {
  await using box = await appliance();
  const answer = await box.api.post(plan, {
    method: 'POST',
    path: 'tasks/cronjob',
    body: { cron_user: 'nobody-knows' },
  });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /"cron_command":\["This field is required\."\]/);
});

test('what cannot be planned is refused in words', async () => {
  await using box = await appliance();
  for (const body of [{}, { method: 'GET', path: 'sharing/cifs/' }, { method: 'POST', path: 'no/such/' }, []]) {
    const answer = await box.api.post(plan, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
  }
});

test('actions and objects of the host can be planned, and nothing is done', async () => {
  await using box = await appliance();
  const planned = async (method: string, path: string, body: object = {}) => {
    const answer = await box.api.post(plan, { method, path, body });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  assert.deepEqual(await planned('POST', 'storage/volume/', { volume_name: 'tank', layout }), ['create the pool tank']);
  assert.deepEqual(await box.api.list('storage/volume/'), []);
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  assert.deepEqual(await planned('POST', 'storage/volume/tank/datasets/', { name: 'media' }), [
    'create the dataset tank/media',
  ]);
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'media', cifs_path: '/mnt/tank/media' });
  assert.deepEqual(await planned('DELETE', 'storage/volume/tank/datasets/media/'), ['destroy the dataset tank/media']);
  const destruction = await planned('DELETE', 'storage/volume/tank/', { destroy: true });
  assert.ok(Array.isArray(destruction));
  assert.equal(destruction.at(-1), 'destroy the pool tank');
  assert.ok(destruction.includes('write /etc/samba/smb.conf'), JSON.stringify(destruction));
  assert.deepEqual(await planned('POST', 'storage/volume/tank/scrub/'), ['start the scrub of tank']);
  assert.match(JSON.stringify(await planned('POST', 'system/reboot/')), /Restarts the machine/);
  assert.equal((await box.api.get('storage/volume/tank/datasets/media/')).status, 200);
  assert.deepEqual(
    (await box.api.list('sharing/cifs/')).map(({ cifs_name }) => cifs_name),
    ['media'],
  );
});

test('a plan of a request that would be refused is refused for the same reason', async () => {
  await using box = await appliance();
  for (const [method, path, body, reason] of [
    ['DELETE', 'storage/volume/none/', {}, /^$|none/],
    ['POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['none'] }] }, /none/],
    ['POST', 'storage/volume/none/scrub/', {}, /^$|none/],
    ['POST', 'storage/snapshot/', { dataset: 'none', name: 'now' }, /"dataset":\[".*none/],
  ] as const) {
    const dry = await box.api.post(plan, { method, path, body });
    assert.ok(dry.status >= 400 && dry.status < 500, `${path}: ${dry.status} ${dry.text}`);
    assert.match(dry.text, reason);
    assert.ok((await box.api.send(method, path, body)).status >= 400);
  }
});
