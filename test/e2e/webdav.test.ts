import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { exampleCertificate, exampleKey } from '../support/certificates.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(async () => {
  await box?.[Symbol.asyncDispose]();
});

const shares = 'sharing/webdav';
const httpd = async () => String(await box.host.files.read('/etc/holdfast/webdav.conf'));

async function problems(
  body: object,
  path = `${shares}/`,
  verb: 'post' | 'put' = 'post',
): Promise<Readonly<Record<string, readonly string[]>>> {
  const answer = await box.api[verb](path, body);
  assert.equal(answer.status, 409, answer.text);
  return JSON.parse(answer.text);
}

test('a share is made, changed and deleted, and its folder is made', async () => {
  const made = await box.api.expect(201, 'POST', `${shares}/`, {
    webdav_name: 'films',
    webdav_path: '/mnt/tank/films/',
  });
  assert.deepEqual(made, {
    id: made['id'],
    webdav_name: 'films',
    webdav_comment: '',
    webdav_path: '/mnt/tank/films',
    webdav_ro: false,
    webdav_perm: true,
  });
  assert.equal(await box.host.files.kind('/mnt/tank/films'), 'folder');
  assert.match(await httpd(), /^Alias "\/films" "\/mnt\/tank\/films"$/m);
  const changed = await box.api.expect(200, 'PUT', `${shares}/${made['id']}/`, {
    webdav_ro: 'true',
    webdav_comment: 'To look at',
  });
  assert.deepEqual(
    [changed['webdav_ro'], changed['webdav_comment'], changed['webdav_name']],
    [true, 'To look at', 'films'],
  );
  assert.match(await httpd(), /Require method GET OPTIONS PROPFIND/);
  assert.equal((await box.api.delete(`${shares}/${made['id']}/`)).status, 204);
  assert.doesNotMatch(await httpd(), /Alias/);
});

test('one name may be given twice, and the collection is emptied', async () => {
  for (const path of ['a', 'b'])
    await box.api.expect(201, 'POST', `${shares}/`, { webdav_name: 'twice', webdav_path: `/mnt/tank/${path}` });
  assert.match(await httpd(), /Alias "\/twice" [\s\S]*Alias "\/twice-\d+" /);
  assert.equal((await box.api.delete(`${shares}/`)).status, 204);
  assert.deepEqual(await box.api.list(`${shares}/`), []);
});

test('what cannot be served is told by its field', async () => {
  assert.deepEqual(Object.keys(await problems({ webdav_name: 'a b', webdav_comment: 'x'.repeat(121) })).sort(), [
    'webdav_comment',
    'webdav_name',
    'webdav_path',
  ]);
  assert.deepEqual(await problems({ webdav_name: 'a', webdav_path: '/mnt/tank/a${b' }), {
    webdav_path: ['Expected a path without ${: the WebDAV server reads it as the beginning of a variable.'],
  });
});

test('the settings have their rules', async () => {
  const settings = await box.api.expect(200, 'GET', 'services/webdav/');
  assert.deepEqual(settings, {
    id: 1,
    webdav_protocol: 'http',
    webdav_tcpport: 8080,
    webdav_tcpportssl: 8081,
    webdav_password: 'davtest',
    webdav_htauth: 'digest',
    webdav_certssl: null,
  });
  assert.deepEqual(
    await problems({ webdav_protocol: 'httphttps', webdav_tcpportssl: '8080' }, 'services/webdav/', 'put'),
    {
      webdav_tcpportssl: ['webdav_tcpportssl must differ from webdav_tcpport (8080).'],
      webdav_certssl: ['webdav_certssl is required when webdav_protocol includes HTTPS.'],
    },
  );
  assert.deepEqual(
    Object.keys(
      await problems({ webdav_protocol: 'ftp', webdav_htauth: 'plain', webdav_tcpport: 0 }, 'services/webdav/', 'put'),
    ).sort(),
    ['webdav_htauth', 'webdav_protocol', 'webdav_tcpport'],
  );
});

test('HTTPS holds its certificate', async () => {
  await box.api.expect(201, 'POST', 'system/certificate/import/', {
    cert_name: 'dav',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
  });
  const [certificate] = await box.api.list('system/certificate/');
  const id = certificate?.['id'];
  await box.api.expect(200, 'PUT', 'services/webdav/', { webdav_protocol: 'https', webdav_certssl: id });
  assert.equal(await box.host.files.read('/etc/holdfast/webdav-key.pem'), exampleKey);
  assert.match(
    (await box.api.delete(`system/certificate/${id}/`)).text,
    /The WebDAV server uses this certificate for HTTPS/,
  );
  await box.api.expect(200, 'PUT', 'services/webdav/', { webdav_protocol: 'http' });
  assert.equal(await box.host.files.read('/etc/holdfast/webdav-key.pem'), undefined);
  assert.equal((await box.api.delete(`system/certificate/${id}/`)).status, 204);
  assert.equal((await box.api.expect(200, 'GET', 'services/webdav/'))['webdav_certssl'], null);
});

test('the service has its switch, and its port is its own', async () => {
  assert.equal(
    (await box.api.expect(200, 'PUT', 'services/services/webdav/', { webdav_password: 'x' }))['srv_enable'],
    false,
  );
  assert.equal(
    (await box.api.expect(200, 'PUT', 'services/services/webdav/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  await box.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  assert.deepEqual(await problems({ webdav_tcpport: 21 }, 'services/webdav/', 'put'), {
    webdav_tcpport: [
      'TCP port 21 of the service webdav is already used by the service ftp. Set ftp_port of services/ftp to another port.',
    ],
  });
  assert.equal(
    (await box.api.expect(200, 'PUT', 'services/services/webdav/', { srv_enable: false }))['srv_state'],
    'STOPPED',
  );
});
