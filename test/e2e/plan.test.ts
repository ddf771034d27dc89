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
  for (const body of [{}, { method: 'GET', path: 'sharing/cifs/' }, { method: 'POST', path: 'storage/volume/' }, []]) {
    const answer = await box.api.post(plan, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
  }
});
