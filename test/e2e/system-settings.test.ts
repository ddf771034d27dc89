import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { AlertWatch } from '../../src/areas/system/alert-watch.ts';
import { appliance, rootPassword } from '../support/appliance.ts';
import { certificateRequest, exampleCertificate, exampleKey } from '../support/certificates.ts';
import { standingClock } from '../support/hosts.ts';
import { mail, mailServer, trustMailServer } from '../support/mail-server.ts';
import { freePort, getByTls } from '../support/tls-client.ts';

const asked = { ...certificateRequest, cert_key_length: 1024, cert_lifetime: 20 };

test('mail goes by TLS from the first byte and by STARTTLS, with name and password', async () => {
  await using one = await appliance({ sendsMail: true });
  await trustMailServer(one.api);
  for (const [security, secure] of [
    ['ssl', true],
    ['tls', false],
  ] as const) {
    await using post = await mailServer({ secure });
    await one.api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: security }));
    const answer = await one.api.post('/api/holdfast/v1/email/test', { to: 'admin@example.com' });
    assert.deepEqual([answer.status, answer.json], [200, { sent: 'admin@example.com' }]);
    assert.match(post.letters[0] ?? '', /This machine can send mail\./);
    await one.api.expect(200, 'PUT', 'system/email/', { em_pass: 'a wrong one' });
    const refused = await one.api.post('/api/holdfast/v1/email/test', { to: 'admin@example.com' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /Sending the test message failed: .*wrong password/);
    assert.doesNotMatch(refused.text, /a wrong one/);
  }
});

test('a mail server whose certificate cannot be verified gets nothing', async () => {
  for (const [security, secure] of [
    ['ssl', true],
    ['tls', false],
  ] as const) {
    await using one = await appliance({ sendsMail: true });
    await using post = await mailServer({ secure });
    await one.api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: security }));
    const send = () => one.api.post('/api/holdfast/v1/email/test', { to: 'admin@example.com' });
    const refused = await send();
    assert.equal(refused.status, 400);
    assert.match(refused.text, /127\.0\.0\.1 could not be verified: self-signed.*certificateauthority\/import/);
    assert.deepEqual([post.letters.length, post.logins], [0, 0]);
    await trustMailServer(one.api);
    assert.equal((await send()).status, 200);
    // The certificate is for other names.
    await using other = await mailServer({ secure, address: '127.0.0.2' });
    await one.api.expect(200, 'PUT', 'system/email/', { em_outgoingserver: '127.0.0.2', em_port: other.port });
    assert.match((await send()).text, /127\.0\.0\.2 could not be verified: .*altnames/);
    assert.deepEqual([post.logins, other.logins], [1, 0]);
  }
});

test('a mail server that an option names is not verified', async () => {
  await using one = await appliance({ sendsMail: true, unverifiedMail: ['127.0.0.1'] });
  await using post = await mailServer({ secure: true });
  await one.api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: 'ssl' }));
  await one.api.expect(200, 'POST', '/api/holdfast/v1/email/test', { to: 'admin@example.com' });
  await using other = await mailServer({ secure: true, address: '127.0.0.2' });
  await one.api.expect(200, 'PUT', 'system/email/', { em_outgoingserver: '127.0.0.2', em_port: other.port });
  assert.match((await one.api.post('/api/holdfast/v1/email/test', { to: 'a@example.com' })).text, /verified/);
  assert.deepEqual([post.logins, other.logins], [1, 0]);
});

test('the virtual host keeps its mail, which can be read, and opens no connection', async () => {
  await using one = await appliance();
  await using post = await mailServer({ secure: true });
  await trustMailServer(one.api);
  await one.api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: 'ssl' }));
  assert.deepEqual(await one.api.list('/api/holdfast/v1/virtual/mail'), []);
  for (const to of ['first@example.com', 'second@example.com'])
    await one.api.expect(200, 'POST', '/api/holdfast/v1/email/test', { to });
  const kept = await one.api.list('/api/holdfast/v1/virtual/mail');
  assert.deepEqual(
    kept.map(({ at: _, ...message }) => message),
    ['second', 'first'].map((name, index) => ({
      number: 2 - index,
      server: '127.0.0.1',
      from: 'nas@example.com',
      to: `${name}@example.com`,
      subject: '[Holdfast] Test',
      text: 'This machine can send mail.\n',
    })),
  );
  assert.equal(post.connections, 0);
  await using sending = await appliance({ sendsMail: true });
  assert.equal((await sending.api.get('/api/holdfast/v1/virtual/mail')).status, 404);
});

test('a test letter needs somebody to go to', async () => {
  await using one = await appliance();
  for (const body of [{}, { to: 'nobody' }, { to: 'a@b, c@d' }])
    assert.equal((await one.api.post('/api/holdfast/v1/email/test', body)).status, 400, JSON.stringify(body));
});

test('an alert is raised by its cause, mailed once, dismissed and brought back, and ends with its cause', async () => {
  await using one = await appliance({ sendsMail: true, unverifiedMail: ['127.0.0.1'] });
  const { api, engine } = one;
  await using post = await mailServer({ secure: true });
  assert.deepEqual(await api.list('system/alert/'), []);
  await api.expect(201, 'POST', 'system/certificateauthority/internal/', { ...asked, cert_name: 'root' });
  const alerts = await api.list('system/alert/');
  assert.deepEqual(
    alerts.map(({ level, message, dismissed }) => [level, message, dismissed]),
    [
      ['WARN', 'The certificate root expires in 20 days.', false],
      ['WARN', 'The certificate root has a key of 1024 bits: current programs do not trust it.', false],
    ],
  );
  await api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: 'ssl' }));
  const watch = new AlertWatch(engine, one.app.mailer, { debug() {}, info() {}, warn() {}, error() {} });
  await watch.look();
  await watch.look();
  assert.equal(post.letters.length, 1);
  assert.match(post.letters[0] ?? '', /expires in 20 days/);
  const path = `system/alert/${alerts[0]?.['id']}/dismiss/`;
  const isDismissed = async () => (await api.list('system/alert/'))[0]?.['dismissed'];
  for (const [method, body, wanted] of [
    ['GET', undefined, true],
    ['PUT', false, false],
    ['PUT', true, true],
  ] as const) {
    const answer = await api.send(method, path, body);
    assert.deepEqual([answer.status, answer.text], [202, '']);
    assert.equal(await isDismissed(), wanted);
  }
  assert.equal((await api.put('system/alert/none/dismiss/', true)).status, 404);
  assert.equal((await api.delete('system/certificateauthority/1/')).status, 204);
  assert.deepEqual(await api.list('system/alert/'), []);
  // What comes back is another occurrence: it is mailed anew.
  await watch.look();
  await api.expect(201, 'POST', 'system/certificateauthority/import/', {
    cert_name: 'strong',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
  });
  await watch.look();
  assert.equal(post.letters.length, 1);
  await watch.close();
});

test('the archive for support holds the configuration and none of its secrets', async () => {
  await using one = await appliance();
  const { api } = one;
  const secrets = ['planted-mail-secret', 'planted-user-secret'];
  await api.expect(200, 'PUT', 'system/email/', mail(25, { em_pass: secrets[0] }));
  await api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: secrets[1],
    bsdusr_creategroup: true,
  });
  await api.expect(201, 'POST', 'system/certificate/import/', {
    cert_name: 'mine',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
  });
  const { url } = await api.expect(200, 'POST', 'system/debug/');
  assert.equal(url, '/system/debug/download/');
  assert.equal((await fetch(`${api.url}${String(url)}`)).status, 401);
  const answer = await fetch(`${api.url}${String(url)}`, {
    headers: { authorization: `Basic ${btoa(`root:${rootPassword}`)}` },
  });
  assert.equal(answer.headers.get('content-type'), 'application/gzip');
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-debug-'));
  try {
    writeFileSync(join(folder, 'archive.tar.gz'), Buffer.from(await answer.arrayBuffer()));
    const outcome = spawnSync('tar', ['-xzf', 'archive.tar.gz'], { cwd: folder, encoding: 'utf8' });
    assert.equal(outcome.status, 0, outcome.stderr);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && entry.name !== 'archive.tar.gz',
    );
    assert.ok(files.length > 10, `only ${files.length} files`);
    for (const file of files) {
      const text = readFileSync(join(file.parentPath, file.name), 'utf8');
      for (const secret of [...secrets, exampleKey.split('\n')[3] ?? 'no key', '$6$'])
        assert.ok(!text.includes(secret), `${file.name} holds ${secret}`);
    }
    assert.match(readFileSync(join(folder, 'configuration.json'), 'utf8'), /"em_outgoingserver": "127\.0\.0\.1"/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the doors follow the settings, and a door that cannot be opened is refused', async () => {
  await using one = await appliance();
  const { api, host } = one;
  const doors = () => readFileSync(join(one.folder, 'virtual', 'web.json'), 'utf8');
  assert.equal((await api.put('system/settings/', { stg_guiprotocol: 'https' })).status, 409);
  await api.expect(201, 'POST', 'system/certificate/import/', {
    cert_name: 'mine',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
  });
  await api.expect(200, 'PUT', 'system/settings/', { stg_guicertificate: 1 });
  await api.expect(200, 'PUT', 'system/settings/', (await api.get('system/settings/')).json);
  assert.deepEqual(await host.web.served(), [], 'neither a certificate alone nor what was read opens an endpoint');
  await api.expect(200, 'PUT', 'system/settings/', {
    stg_guiprotocol: 'https',
    stg_guicertificate: 1,
    stg_guiaddress: '192.0.2.7',
    stg_guihttpsport: 8443,
  });
  const open = doors();
  assert.match(open, /"address":"192\.0\.2\.7","port":80,"redirectTo":8443/);
  const refused = await api.put('system/settings/', { stg_guiaddress: '198.51.100.1' });
  assert.deepEqual(
    [refused.status, refused.json],
    [
      409,
      {
        stg_guiaddress: [
          'Expected an address of this machine (192.0.2.7, 2001:db8::7, 0.0.0.0, ::), got 198.51.100.1.',
        ],
      },
    ],
  );
  assert.equal(doors(), open);
  assert.deepEqual(
    (await api.delete('system/certificate/1/')).json,
    'Holdfast uses this certificate for HTTPS. Before you delete it, set stg_guicertificate in system/settings to another certificate or stg_guiprotocol to http.',
  );
  await api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Europe/Berlin' });
  assert.equal(await host.machine.zone(), 'Europe/Berlin');
});

test('the virtual host opens the endpoints in the settings, and opens them again after a restart', async () => {
  const [plain, secure] = [await freePort(), await freePort()];
  // The port 443 of the virtual machine.
  const offset = secure - 443;
  const health = { path: '/healthz', auth: `root:${rootPassword}` };
  const exposure = { address: '127.0.0.1', offset, own: 0 };
  let one = await appliance({ exposure });
  try {
    await one.api.expect(201, 'POST', 'system/certificate/import/', {
      cert_name: 'mine',
      cert_certificate: exampleCertificate,
      cert_privatekey: exampleKey,
    });
    await one.api.expect(200, 'PUT', 'system/settings/', { stg_guicertificate: 1 });
    await assert.rejects(getByTls(secure), /ECONNREFUSED/, 'a certificate alone opens nothing');
    await one.api.expect(200, 'PUT', 'system/settings/', {
      stg_guiprotocol: 'https',
      stg_guiaddress: '192.0.2.7',
      stg_guiport: plain,
    });
    one = await one.restart();
    assert.match(await getByTls(secure, health), /alive/);
    const sent = await fetch(`http://127.0.0.1:${plain}/healthz`, { redirect: 'manual' });
    assert.deepEqual([sent.status, sent.headers.get('location')], [308, `https://127.0.0.1:${secure}/healthz`]);
    const occupied = await freePort();
    await using occupant = await mailServer({ secure: false, port: occupied });
    const refused = await one.api.put('system/settings/', { stg_guihttpsport: occupied });
    assert.deepEqual([refused.status, occupant.connections], [400, 0]);
    assert.match(refused.text, /another program has this port/);
    assert.match(await getByTls(secure, health), /alive/);
    await one.api.expect(200, 'PUT', 'system/settings/', { stg_guiprotocol: 'http' });
    await assert.rejects(getByTls(secure), /ECONNREFUSED/);
    assert.equal((await fetch(`http://127.0.0.1:${plain}/metrics`)).status, 401);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('a restart and a shutdown are answered first and done then', async () => {
  await using one = await appliance();
  const state = () => readFileSync(join(one.folder, 'virtual', 'machine.json'), 'utf8');
  for (const [path, sentence, word] of [
    ['system/reboot/', 'Reboot process started.', 'reboot'],
    ['system/shutdown/', 'Shutdown process started.', 'poweroff'],
  ] as const) {
    const answer = await one.api.post(path);
    assert.deepEqual([answer.status, answer.text], [202, sentence]);
    for (let tries = 0; tries < 100; tries += 1) {
      const [job] = await one.api.list(`/api/holdfast/v1/jobs?subject=system/${word}`);
      if (job?.['state'] === 'finished') break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.match(state(), new RegExp(`"ended":"${word}"`));
  }
});

test('an update tells what is waiting, keeps the system as it was, and says when there is nothing', async () => {
  await using one = await appliance();
  assert.deepEqual(await one.api.list('system/update/check/'), []);
  await one.machine.machine.renewSources();
  const [first] = await one.api.list('system/update/check/');
  assert.deepEqual(first, { operation: 'upgrade', name: 'virtual-system-1.0 -> virtual-system-1.1' });
  const answer = await one.api.post('system/update/update/', { train: 'stable' });
  assert.deepEqual([answer.status, answer.json], [200, 'Successfully updated.']);
  assert.ok((await one.api.list('system/bootenv/')).some(({ name }) => String(name).startsWith('before-update-')));
});

test('a restart boots into the environment that was activated', async () => {
  await using one = await appliance();
  await one.api.expect(201, 'POST', 'system/bootenv/', { name: 'next' });
  await one.api.expect(202, 'POST', 'system/bootenv/next/activate/');
  const marks = async () =>
    Object.fromEntries((await one.api.list('system/bootenv/')).map(({ name, active }) => [name, active]));
  assert.deepEqual(await marks(), { default: 'N', next: 'R' });
  const [pool, ...others] = await one.api.list('system/bootenv/status/');
  assert.deepEqual([pool?.['name'], pool?.['status'], pool?.['type'], others], ['system', 'ONLINE', 'root', []]);
  await one.api.expect(202, 'POST', 'system/reboot/');
  for (let wait = 0; wait < 100 && (await marks())['next'] !== 'NR'; wait += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(await marks(), { default: '-', next: 'NR' });
});

test('a failing disk, a clock far off and a waiting update are told as long as they last', async () => {
  const clock = standingClock();
  await using one = await appliance({ now: clock.now });
  const told = async () => {
    clock.advance(600_000);
    await one.api.list('system/alert/');
    // The look goes on behind the reader's back.
    await new Promise((resolve) => setTimeout(resolve, 100));
    return (await one.api.list('system/alert/')).map(({ level, message }) => `${String(level)} ${String(message)}`);
  };
  assert.deepEqual(await told(), []);
  one.machine.disks.ail('ada1', true);
  one.machine.machine.strayBy(-30);
  await one.machine.machine.renewSources();
  assert.deepEqual(await told(), [
    'CRIT The disk ada1 reports by SMART that it is failing. Replace it.',
    'WARN A package update is available. POST /system/update/update/ installs it.',
    'WARN The clock differs from the time servers by 30 seconds. Directory services refuse a machine with a wrong clock.',
  ]);
  one.machine.disks.ail('ada1', false);
  one.machine.machine.strayBy(0.2);
  await one.api.expect(200, 'POST', 'system/update/update/');
  assert.deepEqual(await told(), []);
});
