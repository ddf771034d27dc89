import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { at } from '../support/description.ts';

let box: Appliance;

before(async () => {
  box = await appliance({ profile: 'clients' });
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const job = (more: object) => ({ cron_user: 'root', cron_command: 'true', ...more });
const ignoredOf = (answer: { readonly headers: Headers }) => answer.headers.get('x-holdfast-ignored');

test('fields that a resource does not have are named in the answer, and once in the log', async () => {
  const from = box.log.length;
  const answer = await box.api.post('tasks/cronjob/', job({ cron_comand: 'false', pool: 'tank', id: 7 }));
  assert.equal(answer.status, 201, answer.text);
  assert.equal(ignoredOf(answer), 'cron_comand, pool');
  const lines = box.log.slice(from).filter(({ fields }) => 'ignored' in fields);
  assert.deepEqual(
    lines.map(({ level, fields, message }) => [level, 'ignored' in fields && fields.ignored, message]),
    [['info', ['cron_comand', 'pool'], 'POST /api/v1.0/tasks/cronjob/: unknown fields']],
  );
  assert.equal(ignoredOf(await box.api.put('services/ftp/', { ftp_port: 21 })), null);
  assert.equal(ignoredOf(await box.api.put('services/ftp/', { ftp_port: 0, ftp_prot: 21 })), 'ftp_prot');
  assert.equal(ignoredOf(await box.api.post('storage/volume/tank/datasets/', { name: 'a', refquote: 1 })), 'refquote');
  assert.equal(ignoredOf(await box.api.delete('storage/volume/tank/datasets/a/', { force: true })), null);
  assert.equal(ignoredOf(await box.api.post('storage/volume/tank/lock/', { now: true })), null);
});

test('the names are bounded, and contain no character that a header cannot carry', async () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, 1]));
  const answer = await box.api.post(
    'tasks/cronjob/',
    job({ 'a, b\r\nx-y: ä\ud800': 1, ['l'.repeat(500)]: 1, ...many }),
  );
  assert.equal(answer.status, 201, answer.text);
  const names = ignoredOf(answer)?.split(', ') ?? [];
  assert.equal(names[0], 'a%2C%20b%0D%0Ax-y%3A%20%C3%A4%EF%BF%BD');
  assert.equal(names[1], `${'l'.repeat(64)}%E2%80%A6`);
  assert.deepEqual(names.slice(-2), ['f17', '...']);
  assert.equal(names.length, 21);
});

test('a field that asks for protection is refused where the resource does not have it', async () => {
  const refusals = async (path: string, body: object, status: number) => {
    const answer = await box.api.post(path, body);
    assert.equal(answer.status, status, answer.text);
    return answer.json;
  };
  const sentence = 'There is no such field here, so nothing would be protected by it.';
  assert.deepEqual(await refusals('tasks/cronjob/', job({ password: 'x', keyfile: '/a' }), 409), {
    password: [`${sentence} Leave it out to have this done without that protection.`],
    keyfile: [`${sentence} Leave it out to have this done without that protection.`],
  });
  const volume = {
    volume_name: 'safe',
    layout: [{ vdevtype: 'stripe', disks: ['ada1'] }],
    encryptionOptions: { a: 1 },
  };
  assert.deepEqual(await refusals('storage/volume/', volume, 409), {
    encryptionOptions: [
      `${sentence} Fields of it with a similar name: encryption and encryption_inirand. ` +
        'Leave it out to have this done without that protection.',
    ],
  });
  assert.equal((await box.api.get('storage/volume/safe/')).status, 404);
  const unlocking = await box.api.post('storage/volume/tank/unlock/', { key: 'x' });
  assert.match(unlocking.text, /"key":\["There is no such field.* similar name: recovery_key/);
  const sent = await box.api.post('/api/holdfast/v1/email/test', { to: 'a@example.com', encrypt: true, cc: 'b' });
  assert.deepEqual(at(sent.json, 'fields'), {
    encrypt: [`${sentence} Leave it out to have this done without that protection.`],
  });
  assert.equal(ignoredOf(sent), 'encrypt, cc');
});

test('what programs send with no such wish is accepted', async () => {
  // Automation sends the settings of a service to the path that switches it (gaps 1.5).
  const body = { srv_enable: false, webdav_password: 'x', snmp_v3_privpassphrase: 'y', dc_passwd: 'z' };
  const answer = await box.api.put('services/services/webdav/', body);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(ignoredOf(answer), 'webdav_password, snmp_v3_privpassphrase, dc_passwd');
  for (const nothing of [false, null, '', 'off', {}, [], 0]) {
    const made = await box.api.post('tasks/cronjob/', job({ encryption: nothing, key: nothing }));
    assert.equal(made.status, 201, made.text);
    assert.equal(ignoredOf(made), 'encryption, key');
  }
});
