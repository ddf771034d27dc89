import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { certificateOfNewRoot } from '../support/certificates.ts';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-dav-'));
  nas = await startNas({ disks: 1 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
});

after(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true });
  await nas?.[Symbol.asyncDispose]();
});

const port = 8090;
const url = (path: string) => `http://${nas.machine.address}:${port}/${path}`;
const digest = ['--digest', '--user', 'webdav:davtest'] as const;

/** The server's answer to a request: its status and its text. */
async function ask(method: string, address: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = await runClient([
    'curl',
    '-sS',
    '-w',
    '\\n%{http_code}',
    '-X',
    method,
    ...words,
    address,
  ]);
  assert.equal(status, 0, stderr);
  const [code = '', ...text] = stdout.split('\n').reverse();
  return { status: Number(code), text: text.reverse().join('\n') };
}

const statusOf = async (...words: Parameters<typeof ask>) => (await ask(...words)).status;

/** Waits until the server uses the changed settings: a reload does not wait for that. */
const soon = (expected: number, ...words: Parameters<typeof ask>) =>
  eventually(20, async () => {
    const answer = await ask(...words);
    assert.equal(answer.status, expected, answer.text);
    return answer.text;
  });

test('a port that Holdfast itself uses is refused and named; another one serves', async () => {
  const refused = await nas.api.put('services/services/webdav/', { srv_enable: true });
  assert.equal(refused.status, 409);
  assert.match(refused.text, /TCP port 8080 of the service webdav is already used by Holdfast itself/);
  await nas.api.expect(200, 'PUT', 'services/webdav/', { webdav_tcpport: port });
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/webdav/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  assert.equal(await statusOf('GET', url('')), 403);
});

test('files and folders are created, listed, moved, fetched and removed with the password', async () => {
  await nas.machine.run('mkdir /mnt/tank/films && echo old >/mnt/tank/films/old');
  await nas.api.expect(201, 'POST', 'sharing/webdav/', { webdav_name: 'films', webdav_path: '/mnt/tank/films/' });
  assert.equal(
    await nas.machine.run('stat -c %U:%G /mnt/tank/films /mnt/tank/films/old'),
    'webdav:webdav\nwebdav:webdav\n',
  );
  await writeFile(join(folder, 'new'), 'a new film');
  await soon(207, 'PROPFIND', url('films/'), ...digest, '-H', 'Depth: 1');
  assert.equal(await statusOf('PUT', url('films/new'), ...digest, '-T', join(folder, 'new')), 201);
  assert.equal(await statusOf('MKCOL', url('films/more'), ...digest), 201);
  assert.equal(
    await statusOf('MOVE', url('films/new'), ...digest, '-H', `Destination: ${url('films/more/moved')}`),
    201,
  );
  assert.match(
    (await ask('PROPFIND', url('films/more/'), ...digest, '-H', 'Depth: 1')).text,
    /<D:href>\/films\/more\/moved<\/D:href>/,
  );
  assert.equal((await ask('GET', url('films/more/moved'), ...digest)).text, 'a new film');
  assert.equal(
    (await nas.machine.run('stat -c %U:%a /mnt/tank/films/more/moved; cat /mnt/tank/films/more/moved')).trim(),
    'webdav:644\na new film',
  );
  assert.equal(await statusOf('DELETE', url('films/more'), ...digest), 204);
  assert.equal(await nas.machine.run('ls /mnt/tank/films'), 'old\n');
  assert.match((await ask('GET', url('films/'), ...digest)).text, /href="old"/, 'a browser sees what there is');
});

test('a client without the password is asked for it, and a link does not lead out of the share', async () => {
  assert.match(
    (await ask('GET', url('films/old'), '-i')).text,
    /^HTTP\/1\.1 401.*WWW-Authenticate: Digest realm="webdav"/is,
  );
  assert.equal(await statusOf('GET', url('films/old'), '--digest', '--user', 'webdav:wrong'), 401);
  assert.equal(await statusOf('GET', url('films/old'), '--digest', '--user', 'root:davtest'), 401);
  assert.equal(await statusOf('PUT', url('films/stolen'), '-T', join(folder, 'new')), 401);
  await nas.machine.run('ln -s /etc /mnt/tank/films/link');
  assert.equal(await statusOf('GET', url('films/link/hostname'), ...digest), 403);
  await nas.machine.run('rm /mnt/tank/films/link');
});

test('cadaver works with locks', async () => {
  await writeFile(join(folder, '.netrc'), `machine ${nas.machine.address}\nlogin webdav\npassword davtest\n`, {
    mode: 0o600,
  });
  await writeFile(
    join(folder, 'commands'),
    `put ${join(folder, 'new')} locked\nlock locked\nls\ndiscover locked\nunlock locked\nquit\n`,
  );
  const { stdout, stderr } = await runClient([
    'sh',
    '-c',
    `cd ${folder} && HOME=${folder} exec cadaver ${url('films/')} <commands`,
  ]);
  for (const expected of [
    /Uploading .*locked'.*succeeded/s,
    /Locking `locked': succeeded/,
    /^ *\*? *locked +10 /m,
    /Scope: exclusive/,
    /Unlocking `locked': succeeded/,
  ])
    assert.match(stdout + stderr, expected);
});

test('a read-only share is read, and every kind of write is refused', async () => {
  await nas.api.expect(201, 'POST', 'sharing/webdav/', {
    webdav_name: 'archive',
    webdav_path: '/mnt/tank/the "archive" \\',
    webdav_ro: true,
    webdav_perm: false,
  });
  await nas.machine.run(
    `echo kept >'/mnt/tank/the "archive" \\/kept'; chmod 777 '/mnt/tank/the "archive" \\'; chmod 666 '/mnt/tank/the "archive" \\/kept'`,
  );
  assert.equal((await soon(200, 'GET', url('archive/kept'), ...digest)).trim(), 'kept');
  assert.equal(await statusOf('PROPFIND', url('archive/'), ...digest, '-H', 'Depth: 1'), 207);
  assert.equal(await statusOf('PUT', url('archive/new'), ...digest, '-T', join(folder, 'new')), 403);
  for (const method of ['DELETE', 'LOCK', 'PROPPATCH'])
    assert.equal(await statusOf(method, url('archive/kept'), ...digest), 403, method);
  assert.equal(await statusOf('MKCOL', url('archive/folder'), ...digest), 403);
  for (const method of ['COPY', 'MOVE']) {
    assert.equal(
      await statusOf(method, url('films/old'), ...digest, '-H', `Destination: ${url('archive/old')}`),
      403,
      `${method} into it`,
    );
    assert.equal(
      await statusOf(method, url('archive/kept'), ...digest, '-H', `Destination: ${url('films/kept')}`),
      403,
      `${method} out of it`,
    );
  }
  assert.equal(await nas.machine.run(`ls '/mnt/tank/the "archive" \\'; ls /mnt/tank/films`), 'kept\nlocked\nold\n');
});

test('two shares of one name are both served', async () => {
  await nas.machine.run('mkdir /mnt/tank/second && echo second >/mnt/tank/second/which');
  const second = await nas.api.expect(201, 'POST', 'sharing/webdav/', {
    webdav_name: 'films',
    webdav_path: '/mnt/tank/second',
  });
  assert.equal((await soon(200, 'GET', url(`films-${second['id']}/which`), ...digest)).trim(), 'second');
  assert.equal((await ask('GET', url('films/old'), ...digest)).text.trim(), 'old');
  assert.equal((await nas.api.delete(`sharing/webdav/${second['id']}/`)).status, 204);
  await soon(403, 'GET', url(`films-${second['id']}/which`), ...digest);
});

test('clients log in by another method and another password as soon as the settings change', async () => {
  const pid = () => nas.machine.run('systemctl show -P MainPID holdfast-webdav');
  const before = await pid();
  await nas.api.expect(200, 'PUT', 'services/webdav/', {
    webdav_htauth: 'basic',
    webdav_password: 'ein neues Wört: "§"',
  });
  assert.notEqual(await pid(), before);
  assert.equal(await statusOf('GET', url('films/old'), '--basic', '--user', 'webdav:ein neues Wört: "§"'), 200);
  assert.equal(await statusOf('GET', url('films/old'), '--basic', '--user', 'webdav:davtest'), 401);
  await nas.api.expect(200, 'PUT', 'services/webdav/', { webdav_htauth: 'none' });
  assert.equal(await statusOf('GET', url('films/old')), 200);
  assert.equal(await statusOf('GET', url('')), 403);
  assert.equal(await statusOf('PUT', url('archive/new'), '-T', join(folder, 'new')), 403);
});

test('HTTPS is served in addition to HTTP, with an internal certificate', async () => {
  await writeFile(join(folder, 'root.pem'), await certificateOfNewRoot(nas.api));
  const trusting = ['--cacert', join(folder, 'root.pem'), '--connect-to', `nas.example.com::${nas.machine.address}:`];
  await nas.api.expect(200, 'PUT', 'services/webdav/', {
    webdav_protocol: 'httphttps',
    webdav_tcpportssl: 8443,
    webdav_certssl: 1,
    webdav_htauth: 'digest',
    webdav_password: 'davtest',
  });
  assert.equal(await statusOf('GET', 'https://nas.example.com:8443/films/old', ...trusting, ...digest), 200);
  assert.equal(
    await statusOf(
      'PUT',
      'https://nas.example.com:8443/films/secret',
      ...trusting,
      ...digest,
      '-T',
      join(folder, 'new'),
    ),
    201,
  );
  assert.equal(
    await statusOf(
      'PUT',
      'https://nas.example.com:8443/archive/secret',
      ...trusting,
      ...digest,
      '-T',
      join(folder, 'new'),
    ),
    403,
  );
  assert.equal(await statusOf('GET', url('films/old'), ...digest), 200);
});

test('no process of the server runs as root, and only root can read the password and the key', async () => {
  assert.equal((await nas.machine.run("ps -C apache2 -o user= | sort -u | tr -d ' '")).trim(), 'webdav');
  assert.equal(
    (await nas.machine.run('stat -c %a /etc/holdfast/webdav-users /etc/holdfast/webdav-key.pem')).trim(),
    '600\n600',
  );
  assert.doesNotMatch(await nas.machine.run('journalctl --no-pager -o cat'), /davtest|BEGIN PRIVATE/);
});

test('the service is switched off, and nothing differs from the configuration', async () => {
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/webdav/', { srv_enable: false }))['srv_state'],
    'STOPPED',
  );
  assert.deepEqual(
    (await nas.api.list('/api/holdfast/v1/drift')).filter(
      (one) => one['degraded'] !== null || (Array.isArray(one['drift']) && one['drift'].length > 0),
    ),
    [],
    await journal(nas.machine),
  );
});
