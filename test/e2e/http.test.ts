import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const job = (description: string) => ({ cron_user: 'root', cron_command: 'true', cron_description: description });
const authorization = `Basic ${Buffer.from('root:a test password').toString('base64')}`;

/** The answer's bytes, as a client without any library would see them. */
async function rawAnswer(request: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(box.api.url).port), '127.0.0.1');
  let answer = '';
  socket.on('data', (part) => {
    answer += part.toString('utf8');
  });
  socket.write(request.join('\r\n'));
  await once(socket, 'close');
  return answer;
}

test('H1: JSON is labelled without a charset, and keys are in alphabetical order', async () => {
  const { headers, text } = await box.api.get('services/ftp/');
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('vary'), 'Accept');
  const keys = [...text.matchAll(/"(\w+)":/g)].map((match) => match[1]);
  assert.deepEqual(keys, keys.toSorted());
});

test('H2: sentences are not labelled JSON, and 204 has neither type nor body', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('H2'));
  const run = await box.api.post(`tasks/cronjob/${id}/run/`);
  assert.equal(run.status, 202);
  assert.equal(run.text, 'Cron job started.');
  assert.doesNotMatch(run.headers.get('content-type') ?? '', /json/);
  const gone = await box.api.delete(`tasks/cronjob/${id}/`);
  assert.equal(gone.status, 204);
  assert.equal(gone.headers.get('content-type'), null);
  assert.equal(gone.text, '');
});

test('H3, H4: bodies that nobody needs are accepted', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('H3'));
  assert.equal((await box.api.send('POST', `tasks/cronjob/${id}/run/`)).status, 202);
  assert.equal((await box.api.send('DELETE', `tasks/cronjob/${id}/`, { any: 'thing' })).status, 204);
  for (const body of ['{}', '""', 'nonsense']) {
    const answer = await rawAnswer([
      'GET /api/v1.0/services/ftp/ HTTP/1.1',
      'host: localhost',
      'connection: close',
      `authorization: ${authorization}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      '',
      body,
    ]);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/, body);
  }
});

test('H5, H6: slashes may be repeated, and missing at the end', async () => {
  for (const path of ['//api//v1.0//services/ftp//', '/api/v1.0/services/ftp', '/api//v1.0/services//ftp/'])
    assert.equal((await box.api.get(path)).status, 200, path);
  assert.equal((await box.api.send('POST', '/api/v1.0/tasks/cronjob', job('H6'))).status, 201);
});

test('H8: names with slashes are the same raw and encoded', async () => {
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'a' });
  await box.api.expect(201, 'POST', 'storage/dataset/tank/a/', { name: 'b c' });
  for (const path of [
    'storage/dataset/tank/a/b%20c/',
    'storage/dataset/tank%2Fa%2Fb%20c',
    'storage/volume/tank/datasets/a/b%20c/',
    'storage/volume/1/datasets/a%2Fb%20c/',
  ]) {
    assert.equal((await box.api.get(path)).status, 200, path);
  }
});

test('H9: lists take any limit and offset and ignore what they do not know', async () => {
  const all = (await box.api.list('account/users/?limit=0')).length;
  assert.equal(all, 28);
  assert.equal((await box.api.list('account/users/')).length, 20);
  assert.equal((await box.api.list('account/users/?limit=90000000001&format=json&x=&')).length, all);
  const page = await box.api.get('account/users/?offset=25&limit=2');
  assert.equal(page.headers.get('content-range'), 'items 25-26/28');
  const past = await box.api.get('account/users/?offset=1000');
  assert.deepEqual([past.status, past.text], [200, '[]']);
  assert.equal(
    (await box.api.get('account/users/', { range: 'items=3-4' })).headers.get('content-range'),
    'items 3-4/28',
  );
  for (const query of ['limit=-1', 'limit=x', 'offset=1.5']) {
    const wrong = await box.api.get(`account/users/?${query}`);
    assert.equal(wrong.status, 400, query);
    assert.match(wrong.text, /^{"error":"/);
  }
  assert.equal((await box.api.get('account/users/?bsdusr_uid=0')).status, 400);
});

test('several sort fields are stable sorts one after the other, so that the last dominates', async () => {
  const users = await box.api.list('account/users/?sort(-bsdusr_uid,bsdusr_shell)&limit=0');
  const keys = users.map((user) => [String(user['bsdusr_shell']), -Number(user['bsdusr_uid'])] as const);
  const expected = keys.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]));
  assert.deepEqual(keys, expected);
});

test('H12: a client that waits to be told to continue is told', async () => {
  const body = JSON.stringify(job('H12'));
  const answer = await rawAnswer([
    'POST /api/v1.0/tasks/cronjob/ HTTP/1.1',
    'host: localhost',
    'connection: close',
    `authorization: ${authorization}`,
    'content-type: application/json',
    'expect: 100-continue',
    `content-length: ${body.length}`,
    '',
    body,
  ]);
  assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
});

test('H14: other versions of the interface are not there', async () => {
  assert.equal((await box.api.get('/api/v2.0/system/info')).status, 404);
});

test('a wrong method is told with the right ones, but not to strangers', async () => {
  const stranger = await fetch(`${box.api.url}/api/v1.0/services/ftp/`, { method: 'POST' });
  assert.deepEqual([stranger.status, stranger.headers.get('allow')], [401, null]);
  const known = await box.api.post('services/ftp/', {});
  assert.deepEqual([known.status, known.headers.get('allow')], [405, 'GET,PUT']);
  const options = await box.api.send('OPTIONS', 'storage/disk/');
  assert.deepEqual([options.status, options.headers.get('allow')], [200, 'GET']);
  assert.equal((await box.api.send('POST', 'services/ftp/', {}, { 'x-http-method-override': 'PUT' })).status, 200);
});

test('what is missing is said in the form that its place has', async () => {
  const missing = await box.api.get('tasks/cronjob/77/');
  assert.deepEqual([missing.status, missing.text], [404, '']);
  const put = await box.api.put('tasks/cronjob/77/', {});
  assert.deepEqual([put.status, put.text], [404, '"Object not found"']);
  assert.match((await box.api.delete('tasks/cronjob/77/')).text, /^{"error_message":"/);
  assert.match((await box.api.get('storage/dataset/tank/none/')).text, /^{"error_message":"/);
  assert.equal((await box.api.get('tasks/cronjob/word/')).status, 404);
});

test('a body that is no JSON, or of another kind, is a 400', async () => {
  assert.match((await box.api.send('POST', 'tasks/cronjob/', '{bad')).text, /^{"error":"/);
  assert.equal((await box.api.send('POST', 'tasks/cronjob/', '')).status, 400);
  const xml = await box.api.send('POST', 'tasks/cronjob/', '<x/>', { 'content-type': 'text/xml' });
  assert.equal(xml.status, 400);
  assert.match(xml.text, /^{"error_message":"/);
  assert.equal(
    (
      await box.api.send('POST', 'tasks/cronjob/', job('charset'), {
        'content-type': 'application/json; charset=utf-8',
      })
    ).status,
    201,
  );
});

test('V1, V3: numbers as texts, words as booleans, null as unset; unknown keys are ignored', async () => {
  const record = await box.api.expect(200, 'PUT', 'services/ftp/', {
    ftp_port: '2121',
    ftp_fxp: 'TRUE',
    ftp_resume: 1,
    ftp_banner: null,
    pk: '1',
    id: '7',
    nonsense: [],
  });
  assert.deepEqual(
    [record['ftp_port'], record['ftp_fxp'], record['ftp_resume'], record['ftp_banner'], record['id']],
    [2121, true, true, '', 1],
  );
  assert.equal((await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_fxp: null }))['ftp_fxp'], false);
});

test('every problem of a request comes in one answer, by field', async () => {
  const answer = await box.api.put('services/ftp/', {
    ftp_port: 0,
    ftp_clients: 'many',
    ftp_filemask: '9',
    ftp_tls_policy: 'maybe',
  });
  assert.equal(answer.status, 409);
  assert.deepEqual(Object.keys(Object(answer.json)), ['ftp_clients', 'ftp_filemask', 'ftp_port', 'ftp_tls_policy']);
});

test('B1, B12, B13: single records, singletons under an id, services by name, and a PUT that keeps the rest', async () => {
  assert.equal((await box.api.get('storage/volume/tank/')).text, (await box.api.get('storage/volume/1/')).text);
  assert.equal((await box.api.get('services/ftp/1/')).status, 200);
  const on = await box.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: 'true', srv_service: 'other' });
  assert.deepEqual([on['srv_service'], on['srv_state']], ['ftp', 'RUNNING']);
  assert.equal((await box.api.expect(200, 'PUT', 'services/services/ftp/', { ups_mode: 'x' }))['srv_enable'], true);
  assert.deepEqual((await box.api.list('services/services/?srv_service=ssh')).length, 1);
});

test('B11: DELETE on a collection empties it, whatever its body says', async () => {
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/one' });
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/two' });
  assert.equal((await box.api.delete('sharing/cifs/', { cifs_name: 'one' })).status, 204);
  assert.deepEqual(await box.api.list('sharing/cifs/'), []);
});

test('every answer names its request, and a new record its address', async () => {
  const answer = await box.api.post('tasks/cronjob/', job('names'));
  assert.match(answer.headers.get('x-request-id') ?? '', /^[\w-]+$/);
  assert.match(answer.headers.get('location') ?? '', /^\/api\/v1\.0\/tasks\/cronjob\/\d+\/$/);
  const told = box.log.some(({ fields }) =>
    JSON.stringify(fields).includes(answer.headers.get('x-request-id') ?? 'none'),
  );
  assert.ok(told, 'the log has the request');
});

test('a new password of root ends the old one at once', async () => {
  await using other = await appliance();
  assert.equal((await other.api.get('services/ftp/')).status, 200);
  await other.api.expect(200, 'POST', 'account/users/1/password/', { bsdusr_password: 'a new one' });
  assert.equal((await other.api.get('services/ftp/')).status, 401);
});

test('the profile clients differs in three answers', async () => {
  await using clients = await appliance({ profile: 'clients' });
  const disks = { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ada0'] }] };
  assert.equal(typeof (await clients.api.expect(201, 'POST', 'storage/volume/', disks))['used'], 'number');
  assert.match(String((await box.api.expect(200, 'GET', 'storage/volume/tank/'))['used']), /^[\d.]+ \w+ \(\d+%\)$/);
  assert.ok(Array.isArray((await clients.api.get('storage/volume/tank/status/')).json));
  assert.ok(!Array.isArray((await box.api.get('storage/volume/tank/status/')).json));
  assert.equal((await clients.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'a' }))['name'], 'a');
  assert.equal((await box.api.expect(200, 'GET', 'storage/volume/tank/datasets/a/'))['name'], 'tank/a');
});
