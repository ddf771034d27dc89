import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { rawBytes, rawSend, rootCredential } from '../support/raw.ts';

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
const json = { 'content-type': 'application/json' };

const raw = (request: Parameters<typeof rawSend>[1]) => rawSend(box.api.url, request);

test('H1: every answer of JSON carries application/json and not a byte more', async () => {
  const answers = [
    await raw({ path: '/api/v1.0/tasks/cronjob/' }),
    await raw({ path: '/api/v1.0/services/ftp/' }),
    await raw({ path: '/api/v1.0/storage/volume/tank/' }),
    await raw({ path: '/api/v1.0/' }),
    await raw({ path: '/openapi.json' }),
    await raw({ path: '/healthz' }),
    await raw({ path: '/readyz' }),
    await raw({ path: '/api/holdfast/v1/jobs' }),
    await raw({ path: '/api/v1.0/account/users/?limit=x' }),
    await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: json, body: '{}' }),
    await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: json, body: JSON.stringify(job('H1')) }),
    await raw({ method: 'PUT', path: '/api/v1.0/tasks/cronjob/999/', headers: json, body: '{}' }),
  ];
  for (const { headers, text } of answers)
    assert.equal(headers.get('content-type'), 'application/json', text.slice(0, 300));
});

test('JSON answers are compact UTF-8, and keys stand in alphabetical order at every depth', async () => {
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'deep', comments: 'Ärger – ✓' });
  for (const path of [
    'storage/volume/',
    'storage/volume/tank/status/',
    'storage/dataset/tank/deep/',
    'account/users/1/',
  ]) {
    const { text, json: value } = await box.api.get(path);
    assert.equal(text, JSON.stringify(inOrder(value)), path);
  }
  assert.match((await raw({ path: '/api/v1.0/storage/dataset/tank/deep/' })).body, /"comments":"Ärger – ✓"/);
});

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, inOrder(one)]),
  );
}

test('H2: what is no JSON is not labelled so, and an answer without a body has no type', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('H2'));
  const run = await raw({ method: 'POST', path: `/api/v1.0/tasks/cronjob/${id}/run/` });
  assert.equal(run.status, 'HTTP/1.1 202 Accepted');
  assert.equal(run.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(run.body, 'Cron job started.');
  for (const answer of [
    await raw({ method: 'DELETE', path: `/api/v1.0/tasks/cronjob/${id}/` }),
    await raw({ path: `/api/v1.0/tasks/cronjob/${id}/` }),
    await raw({ path: '/api/v1.0/services/ftp/', stranger: true }),
  ]) {
    assert.equal(answer.headers.get('content-type'), undefined, answer.text);
    assert.equal(answer.body, '');
  }
  assert.doesNotMatch((await raw({ path: '/api/v1.0/no/such/' })).headers.get('content-type') ?? '', /json/);
  assert.doesNotMatch(
    (await raw({ method: 'POST', path: '/api/v1.0/services/ftp/' })).headers.get('content-type') ?? '',
    /json/,
  );
});

test('H3: requests without a body are accepted although they promise JSON', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('H3'));
  assert.match(
    (await raw({ method: 'POST', path: `/api/v1.0/tasks/cronjob/${id}/run/`, headers: json })).status,
    / 202 /,
  );
  assert.match(
    (
      await raw({
        method: 'POST',
        path: `/api/v1.0/tasks/cronjob/${id}/run/`,
        headers: { ...json, 'content-length': '0' },
      })
    ).status,
    / 202 /,
  );
  assert.match(
    (await raw({ method: 'DELETE', path: `/api/v1.0/tasks/cronjob/${id}/`, headers: json })).status,
    / 204 /,
  );
  assert.match(
    (await raw({ method: 'PUT', path: '/api/v1.0/services/ftp/', headers: json, body: '{}' })).status,
    / 200 /,
  );
});

test('H4: a body on GET is read and ignored, and the connection goes on to the next request', async () => {
  const get = (body: string) =>
    `GET /api/v1.0/services/ftp/1/ HTTP/1.1\r\nhost: localhost\r\nauthorization: ${rootCredential}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  const bodies = ['{}', '""', '{bad', '[1,2]'];
  const { text } = await rawBytes(
    box.api.url,
    bodies
      .map((body, index) => `${get(body)}${index === bodies.length - 1 ? 'connection: close\r\n' : ''}\r\n${body}`)
      .join(''),
  );
  assert.equal([...text.matchAll(/HTTP\/1\.1 200 OK\r\n/g)].length, bodies.length);
  assert.doesNotMatch(text, /HTTP\/1\.1 [45]/);
});

test('H4: a body on DELETE is accepted', async () => {
  for (const body of ['{}', '""', '{"cron_user":"root"}']) {
    const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('H4'));
    assert.match(
      (await raw({ method: 'DELETE', path: `/api/v1.0/tasks/cronjob/${id}/`, headers: json, body })).status,
      / 204 /,
      body,
    );
  }
});

test('H10: who comes without a credential is asked for one, who brings it at once gets in', async () => {
  const stranger = await raw({ path: '/api/v1.0/services/ftp/', stranger: true });
  assert.equal(stranger.status, 'HTTP/1.1 401 Unauthorized');
  assert.match(stranger.headers.get('www-authenticate') ?? '', /^Basic realm="[^"]+"$/i);
  assert.equal(stranger.body, '');
  assert.match((await raw({ path: '/api/v1.0/services/ftp/' })).status, / 200 /);
});

test('H11: any Accept header gets JSON, and a body without a type is JSON', async () => {
  for (const accept of [undefined, '*/*', 'application/json', 'text/html', 'application/xml;q=1']) {
    const answer = await raw({ path: '/api/v1.0/services/ftp/', headers: accept === undefined ? {} : { accept } });
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type')],
      ['HTTP/1.1 200 OK', 'application/json'],
      accept,
    );
  }
  assert.match(
    (await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', body: JSON.stringify(job('no type')) })).status,
    / 201 /,
  );
  for (const type of ['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'Application/JSON']) {
    assert.match(
      (
        await raw({
          method: 'POST',
          path: '/api/v1.0/tasks/cronjob/',
          headers: { 'content-type': type },
          body: JSON.stringify(job(type)),
        })
      ).status,
      / 201 /,
      type,
    );
  }
});

test('H12: a client that waits to be told to continue is told, and sends its body then', async () => {
  const body = JSON.stringify(job('H12'));
  const head = { ...json, expect: '100-continue', 'content-length': String(body.length) };
  const { text } = await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: head, body });
  assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
});

test('H13: reason phrases are the standard ones', async () => {
  const created = await raw({
    method: 'POST',
    path: '/api/v1.0/tasks/cronjob/',
    headers: json,
    body: JSON.stringify(job('H13')),
  });
  const id = /"id":(\d+)/.exec(created.body)?.[1];
  const statuses = [
    created.status,
    (await raw({ path: `/api/v1.0/tasks/cronjob/${id}/` })).status,
    (await raw({ method: 'POST', path: `/api/v1.0/tasks/cronjob/${id}/run/` })).status,
    (await raw({ method: 'DELETE', path: `/api/v1.0/tasks/cronjob/${id}/` })).status,
    (await raw({ path: `/api/v1.0/tasks/cronjob/${id}/` })).status,
    (await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: json, body: '{}' })).status,
  ];
  assert.deepEqual(
    statuses.map((status) => status.slice('HTTP/1.1 '.length)),
    ['201 Created', '200 OK', '202 Accepted', '204 No Content', '404 Not Found', '409 Conflict'],
  );
});

test('HEAD is answered like GET, without a body', async () => {
  const [head, get] = [
    await raw({ method: 'HEAD', path: '/api/v1.0/services/ftp/' }),
    await raw({ path: '/api/v1.0/services/ftp/' }),
  ];
  assert.deepEqual([head.status, head.body], [get.status, '']);
  assert.equal(head.headers.get('content-type'), 'application/json');
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
});

test('JSON answers vary with Accept, and every answer says which request it belongs to and is kept by no cache', async () => {
  const answers = [
    await raw({ path: '/api/v1.0/services/ftp/' }),
    await raw({ path: '/api/v1.0/services/ftp/', stranger: true }),
    await raw({ path: '/nowhere' }),
    await raw({ method: 'POST', path: '/api/v1.0/services/ftp/' }),
    await raw({ path: '/healthz' }),
    await raw({ path: '/api/holdfast/v1/drift' }),
    await raw({ path: '/docs' }),
    await raw({ method: 'PROPFIND', path: '/' }),
    await raw({ path: '/api/v1.0/tasks/cronjob/', headers: { host: 'elsewhere.example' } }),
    await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: { origin: 'https://elsewhere.example' } }),
    await raw({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: { 'content-length': String(2 ** 30) } }),
  ];
  assert.equal(answers[0]?.headers.get('vary'), 'Accept');
  for (const { headers, text } of [...answers, await rawBytes(box.api.url, 'nonsense\r\n\r\n')]) {
    assert.deepEqual(
      [headers.get('cache-control'), headers.get('x-content-type-options')],
      ['no-store', 'nosniff'],
      text.slice(0, 300),
    );
  }
  const ids = answers.map(({ headers }) => headers.get('x-request-id'));
  for (const id of ids) assert.match(id ?? '', /^[\w-]+$/);
  assert.equal(new Set(ids).size, ids.length);
});

test('Location is the path of the new record, and stands on creations only', async () => {
  const created = await raw({
    method: 'POST',
    path: '/api/v1.0/tasks/cronjob/',
    headers: json,
    body: JSON.stringify(job('Location')),
  });
  const location = created.headers.get('location') ?? '';
  assert.equal(location, `/api/v1.0/tasks/cronjob/${/"id":(\d+)/.exec(created.body)?.[1]}/`);
  assert.equal((await raw({ path: location })).body, created.body);
  assert.equal(
    (await raw({ method: 'PUT', path: location, headers: json, body: '{}' })).headers.get('location'),
    undefined,
  );
});

test('a body larger than any record is refused with 413, and the daemon goes on', async () => {
  const answer = await raw({
    method: 'POST',
    path: '/api/v1.0/tasks/cronjob/',
    headers: { ...json, 'content-length': String(2 ** 30) },
  });
  assert.equal(answer.status, 'HTTP/1.1 413 Payload Too Large');
  assert.match(answer.body, /^{"error":"/);
  assert.equal((await box.api.get('services/ftp/')).status, 200);
});

test('a large body that fits is read whole, in pieces or in one', async () => {
  const cifs_auxsmbconf = `# ${'x'.repeat(16_000)}`;
  const body = JSON.stringify({ cifs_path: '/mnt/tank/large', cifs_auxsmbconf, nonsense: 'y'.repeat(1000 * 1024) });
  const half = Math.floor(body.length / 2);
  const pieces = [body.slice(0, half), body.slice(half)]
    .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join('');
  const answer = await rawBytes(
    box.api.url,
    `POST /api/v1.0/sharing/cifs/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: ${rootCredential}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`,
  );
  assert.equal(answer.status, 'HTTP/1.1 201 Created');
  assert.equal((await box.api.list('sharing/cifs/'))[0]?.['cifs_auxsmbconf'], cifs_auxsmbconf);
});
