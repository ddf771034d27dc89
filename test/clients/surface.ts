import assert from 'node:assert/strict';
import { rawBytes, rawSend, rootCredential } from '../support/raw.ts';
import { answers, datasetsPath, make, makeJob, makeZvol, type Row, row } from './row.ts';

const root = '/api/v1.0';
const json = { 'content-type': 'application/json' };
const job = JSON.stringify({ cron_user: 'root', cron_command: 'true' });

export const surface: readonly Row[] = [
  row('H1', 'JSON carries application/json and no charset', async ({ api }) => {
    for (const path of ['/services/ftp/', '/tasks/cronjob/?limit=0', '/system/version/', '/storage/volume/'])
      assert.equal(
        (await rawSend(api.url, { path: `${root}${path}` })).headers.get('content-type'),
        'application/json',
        path,
      );
  }),
  row('H2', 'sentences are not labelled JSON, and 204 has neither type nor body', async (nas) => {
    const { id } = await makeJob(nas);
    const told = await rawSend(nas.api.url, { method: 'POST', path: `${root}/tasks/cronjob/${String(id)}/run/` });
    assert.equal(told.body, 'Cron job started.');
    assert.doesNotMatch(told.headers.get('content-type') ?? '', /json/);
    const gone = await rawSend(nas.api.url, { method: 'DELETE', path: `${root}/tasks/cronjob/${String(id)}/` });
    assert.match(gone.status, / 204 /);
    assert.deepEqual([gone.body, gone.headers.get('content-type')], ['', undefined]);
  }),
  row('H3', 'DELETE, POST and PUT without a body may promise JSON', async (nas) => {
    const { id } = await makeJob(nas);
    const send = async (method: string, path: string) =>
      (await rawSend(nas.api.url, { method, path: `${root}${path}`, headers: json })).status;
    assert.match(await send('POST', `/tasks/cronjob/${String(id)}/run/`), / 202 /);
    assert.match(await send('POST', '/system/settings/restart-httpd-all/'), / 202 /);
    assert.match(await send('DELETE', `/tasks/cronjob/${String(id)}/`), / 204 /);
  }),
  row('H4', 'a body is ignored on GET and accepted on DELETE', async (nas) => {
    for (const body of ['{}', '""', '[]'])
      assert.match(
        (await rawSend(nas.api.url, { path: `${root}/services/ftp/`, headers: json, body })).status,
        / 200 /,
        body,
      );
    const { id } = await makeJob(nas);
    answers(await nas.api.delete(`tasks/cronjob/${String(id)}/`, { id }), 204);
  }),
  row('H5', 'slashes are collapsed wherever they are repeated', async ({ api }) => {
    for (const path of [
      '//api/v1.0/services/ftp/',
      '/api/v1.0//services/ftp/',
      '/api/v1.0/services/ftp//',
      '//api//v1.0///services//ftp//',
    ])
      answers(await api.get(path), 200);
    answers(await api.send('POST', '/api/v1.0//services/iscsi/target//', { iscsi_target_name: 'slashes' }), 201);
  }),
  row('H6', 'the slash at the end is not needed, by any method', async (nas) => {
    const { api } = nas;
    answers(await api.get('tasks/cronjob'), 200);
    answers(await api.send('POST', 'tasks/cronjob', job), 201);
    const { id } = await makeJob(nas);
    answers(await api.put(`tasks/cronjob/${String(id)}`, { cron_enabled: false }), 200);
    answers(await api.post(`tasks/cronjob/${String(id)}/run`), 202);
    answers(await api.delete(`tasks/cronjob/${String(id)}`), 204);
  }),
  row('H7', 'ids of snapshots are understood in every spelling', async (nas) => {
    await make(nas, datasetsPath, { name: 'h7' });
    for (const [n, id] of ['tank%2Fh7@s', 'tank/h7@s', 'tank%2Fh7%40s', 'tank/h7%40s'].entries()) {
      await make(nas, 'storage/snapshot', { dataset: 'tank/h7', name: 's' });
      answers(await nas.api.get(`storage/snapshot/${id}/`), 200);
      answers(
        await nas.api.post(`storage/snapshot/${id}/clone/`, { name: `tank/h7clone${n}` }),
        202,
        /^Snapshot cloned\.$/,
      );
      answers(await nas.api.delete(`storage/dataset/tank/h7clone${n}/`), 204);
      answers(await nas.api.post(`storage/snapshot/${id}/rollback/`, { force: true }), 202, /^Snapshot rolled back\.$/);
      answers(await nas.api.delete(`storage/snapshot/${id}/`), 204);
    }
  }),
  row('H8', 'names of datasets and zvols hold slashes', async (nas) => {
    await make(nas, datasetsPath, { name: 'h8' });
    await make(nas, 'storage/dataset/tank/h8', { name: 'b' });
    await make(nas, 'storage/dataset/tank/h8/b', { name: 'c' });
    await makeZvol(nas, 'h8/z');
    for (const path of [
      'storage/dataset/tank/h8/b/c/',
      `${datasetsPath}/h8/b/c/`,
      'storage/volume/1/datasets/h8/b/',
      'storage/volume/tank/zvols/h8/z/',
    ])
      answers(await nas.api.get(path), 200);
    answers(await nas.api.delete('storage/volume/tank/zvols/h8/z/'), 204);
    answers(await nas.api.delete(`${datasetsPath}/h8/b/c/`), 204);
  }),
  row('H9', 'limit and offset take any number, and other query keys are ignored', async ({ api }) => {
    const count = async (query: string) => (await api.list(`account/users/${query}`)).length;
    const all = await count('?limit=0');
    assert.ok(all > 20);
    assert.deepEqual(
      [
        await count(''),
        await count('?limit=90000000001'),
        await count('?offset=5000'),
        await count('?limit=0&format=json&'),
      ],
      [20, all, 0, all],
    );
    assert.equal((await api.get('account/users/1/?limit=1&format=json&=')).status, 200);
  }),
  row('H10', 'a credential may come at once, and whoever has none is asked for one', async ({ api }) => {
    answers(await api.get('system/version/'), 200);
    const refused = await rawSend(api.url, { path: `${root}/system/version/`, stranger: true });
    assert.match(refused.status, / 401 /);
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Basic realm=/);
  }),
  row('H11', 'any Accept header gets JSON, and a body of no type is JSON', async ({ api }) => {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }])
      assert.equal(
        (await rawSend(api.url, { path: `${root}/services/ftp/`, headers })).headers.get('content-type'),
        'application/json',
      );
    for (const headers of [{}, json])
      assert.match(
        (await rawSend(api.url, { method: 'POST', path: `${root}/tasks/cronjob/`, headers, body: job })).status,
        / 201 /,
      );
  }),
  row('H12', 'who waits to be told to continue is told', async ({ api }) => {
    const head = [
      'POST /api/v1.0/tasks/cronjob/ HTTP/1.1',
      'host: localhost',
      'connection: close',
      `authorization: ${rootCredential}`,
      'content-type: application/json',
    ];
    const { text } = await rawBytes(
      api.url,
      `${[...head, 'expect: 100-continue', `content-length: ${job.length}`].join('\r\n')}\r\n\r\n${job}`,
    );
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
  }),
  row('H13', 'reason phrases are the standard ones', async (nas) => {
    const { id } = await makeJob(nas);
    const phrase = async (method: string, path: string, body?: string) =>
      (
        await rawSend(nas.api.url, {
          method,
          path: `${root}${path}`,
          headers: json,
          ...(body === undefined ? {} : { body }),
        })
      ).status;
    assert.equal(await phrase('GET', `/tasks/cronjob/${String(id)}/`), 'HTTP/1.1 200 OK');
    assert.equal(await phrase('POST', '/tasks/cronjob/', job), 'HTTP/1.1 201 Created');
    assert.equal(await phrase('POST', `/tasks/cronjob/${String(id)}/run/`), 'HTTP/1.1 202 Accepted');
    assert.equal(await phrase('DELETE', `/tasks/cronjob/${String(id)}/`), 'HTTP/1.1 204 No Content');
  }),
  row('H14', 'other versions of the interface are not there', async ({ api }) => {
    for (const path of ['/api/v2.0/', '/api/v2.0/system/info', '/api/v2.0/pool/']) answers(await api.get(path), 404);
  }),
  row('H15', 'HTTPS can be switched on', async (nas) => {
    const about = {
      cert_city: 'X',
      cert_state: 'X',
      cert_country: 'US',
      cert_email: 'a@example.com',
      cert_organization: 'X',
      cert_digest_algorithm: 'SHA256',
      cert_lifetime: 365,
    };
    const asked = (cert_name: string) => ({
      ...about,
      cert_name,
      cert_common: `${cert_name}.example.com`,
      cert_key_length: 2048,
    });
    answers(await nas.api.post('system/certificateauthority/internal/', asked('root')), 201);
    const [authority] = await nas.api.list('system/certificateauthority/');
    answers(
      await nas.api.post('system/certificate/internal/', { ...asked('web'), cert_signedby: authority?.['id'] }),
      201,
    );
    const [certificate] = await nas.api.list('system/certificate/');
    await nas.api.expect(200, 'PUT', 'system/settings/?confirm_within=0', {
      stg_guiprotocol: 'https',
      stg_guicertificate: certificate?.['id'],
    });
    assert.ok((await nas.box.machine.web.served()).some(({ tls, port }) => tls !== undefined && port === 443));
    await nas.api.expect(200, 'PUT', 'system/settings/?confirm_within=0', { stg_guiprotocol: 'http' });
  }),
];
