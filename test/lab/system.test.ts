import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { certificateOfNewRoot } from '../support/certificates.ts';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';
import { offerNewerPackage, packageVersion } from '../support/lab/packages.ts';

let nas: Nas;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-system-'));

before(async () => {
  nas = await startNas({ disks: 3 });
});

after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await nas?.[Symbol.asyncDispose]();
});

/** An SNTP server (RFC 4330) on the host of the machine, whose clock is this many seconds ahead. */
async function timeServer(ahead: () => number = () => 0): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.on('message', (question, { address, port }) => {
    const now = Buffer.alloc(8);
    const time = performance.timeOrigin + performance.now() + ahead() * 1000;
    now.writeUInt32BE(Math.floor(time / 1000) + 2_208_988_800);
    now.writeUInt32BE(Math.floor(((time % 1000) / 1000) * 2 ** 32), 4);
    const answer = Buffer.alloc(48);
    // No leap second, the version of the request, server mode; stratum 2, precision of a millisecond.
    answer.set([(question.readUInt8(0) & 0b111000) | 4, 2, question.readUInt8(2), 0xf6]);
    answer.writeUInt32BE(0x7f000001, 12);
    now.copy(answer, 16);
    question.copy(answer, 24, 40, 48);
    now.copy(answer, 32);
    now.copy(answer, 40);
    socket.send(answer, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(123, resolve));
  return socket;
}

/** curl that trusts only the test's root certificate, and resolves nas.example.com to the machine. */
const curl = (...words: string[]) =>
  runClient([
    'curl',
    '-sS',
    '--cacert',
    join(folder, 'root.pem'),
    '--connect-to',
    `nas.example.com::${nas.machine.address}:`,
    ...words,
  ]);

/** The status that HTTPS answers without a credential. */
const answers = async () =>
  (await curl('-o', '/dev/null', '-w', '%{http_code}', 'https://nas.example.com/api/v1.0/system/version/')).stdout;

test('nothing of a fresh machine differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});

test('FTP uses TLS with a certificate signed by an internal intermediate authority', async () => {
  writeFileSync(join(folder, 'root.pem'), await certificateOfNewRoot(nas.api));
  const disks = (await nas.api.list('storage/disk/')).map((disk) => String(disk['disk_name']));
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: disks.slice(0, 1) }],
  });
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'her secret',
    bsdusr_creategroup: true,
    bsdusr_home: '/mnt/tank/mary',
  });
  await nas.api.expect(200, 'PUT', 'services/ftp/', {
    ftp_tls: true,
    ftp_tls_policy: 'on',
    ftp_ssltls_certificate: 1,
    ftp_tls_opt_no_session_reuse_required: true,
  });
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  await eventually(10, async () => {
    const outcome = await curl(
      '--ssl-reqd',
      '--user',
      'mary:her secret',
      '-T',
      '/etc/hostname',
      'ftp://nas.example.com/by-tls',
    );
    assert.equal(outcome.status, 0, outcome.stderr);
  });
  assert.match(await nas.machine.run('ls /mnt/tank/mary'), /by-tls/);
});

test('the API is served by HTTPS as set, and HTTP redirects to it', async () => {
  await nas.api.expect(200, 'PUT', 'system/settings/', { stg_guiprotocol: 'https', stg_guicertificate: 1 });
  const [user, password] = ['root', 'a test password'];
  const outcome = await curl('--user', `${user}:${password}`, 'https://nas.example.com/api/v1.0/system/version/');
  assert.match(outcome.stdout, /"fullversion":"[^"]*Holdfast /, outcome.stderr);
  const sent = await curl(
    '-o',
    '/dev/null',
    '-w',
    '%{http_code} %{redirect_url}',
    'http://nas.example.com/api/v1.0/system/version/',
  );
  assert.equal(sent.stdout, '308 https://nas.example.com/api/v1.0/system/version/');
});

test('an endpoint that cannot be opened is refused, and the open ones stay', async () => {
  for (const [change, words] of [
    [{ stg_guihttpsport: 21 }, /21/],
    [{ stg_guiaddress: '192.0.2.99' }, /Expected an address of this machine/],
  ] as const) {
    const answer = await nas.api.put('system/settings/', change);
    assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
    assert.match(answer.text, words);
    assert.equal(await answers(), '401');
  }
});

test('closing the client’s own endpoint must be confirmed by the new one, or the old one opens again', async () => {
  const door = async (port: number, ...words: string[]) =>
    (
      await curl(
        '--user',
        'root:a test password',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        ...words,
        `https://nas.example.com:${port}/api/v1.0/system/settings/?confirm_within=8`,
      )
    ).stdout;
  const move = (from: number, to: number) =>
    door(from, '-X', 'PUT', '-H', 'Content-Type: application/json', '-d', JSON.stringify({ stg_guihttpsport: to }));
  assert.equal(await move(443, 8443), '200');
  await eventually(40, async () => assert.equal(await door(443), '200'));
  assert.equal(await door(8443), '000');
  assert.equal(await move(443, 8443), '200');
  assert.equal(await door(8443), '200');
  await pause(12_000);
  assert.equal(await door(8443), '200', 'the new door was confirmed');
  await nas.api.expect(200, 'PUT', 'system/settings/', { stg_guihttpsport: 443 });
});

test('the machine and its schedules change to another time zone', async () => {
  await nas.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Asia/Tokyo' });
  assert.equal(
    (await nas.machine.run('timedatectl show --property=Timezone --value; date +%Z')).trim(),
    'Asia/Tokyo\nJST',
  );
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  assert.equal((await nas.api.list('/api/holdfast/v1/schedules'))[0]?.['zone'], 'Asia/Tokyo');
  assert.deepEqual((await nas.api.put('system/settings/', { stg_timezone: 'Mars/Olympus' })).json, {
    stg_timezone: ['Expected a time zone, as Europe/Berlin, got "Mars/Olympus".'],
  });
});

test('a log server receives the log', async () => {
  const socket = createSocket('udp4');
  const heard: string[] = [];
  socket.on('message', (message) => heard.push(message.toString()));
  await new Promise<void>((resolve) => socket.bind(5514, resolve));
  try {
    await nas.api.expect(200, 'PUT', 'system/settings/', { stg_syslogserver: '10.0.2.2:5514' });
    await eventually(20, async () => {
      await nas.machine.run('logger -t lab a word for the log server');
      assert.ok(
        heard.some((line) => line.includes('a word for the log server')),
        heard.join('\n'),
      );
    });
    await nas.api.expect(200, 'PUT', 'system/settings/', { stg_syslogserver: '' });
    assert.equal((await nas.machine.run('systemctl is-active holdfast-syslog || true')).trim(), 'inactive');
  } finally {
    socket.close();
  }
});

test('kernel parameters are checked by the kernel, applied at once, and restored when they are removed', async () => {
  const value = async () => (await nas.machine.run('sysctl -n vm.swappiness')).trim();
  const before = await value();
  const made = await nas.api.expect(201, 'POST', 'system/tunable/', {
    tun_var: 'vm.swappiness',
    tun_value: '17',
    tun_type: 'sysctl',
  });
  assert.equal(await value(), '17');
  assert.match(await nas.machine.run('cat /etc/sysctl.d/90-holdfast.conf'), /^vm\.swappiness = 17$/m);
  assert.deepEqual(
    (await nas.api.post('system/tunable/', { tun_var: 'kern.no.such', tun_value: '1', tun_type: 'sysctl' })).json,
    {
      tun_var: ['Kernel parameter "kern.no.such" does not exist on this machine.'],
    },
  );
  assert.equal((await nas.api.put(`system/tunable/${made['id']}/`, { tun_value: 'many' })).status, 400);
  assert.equal(await value(), '17');
  assert.equal((await nas.api.delete(`system/tunable/${made['id']}/`)).status, 204);
  assert.equal(await value(), before);
});

test('boot parameters are refused on a machine without GRUB, and change nothing', async () => {
  for (const answer of [
    await nas.api.post('system/tunable/', { tun_var: 'zfs.zfs_arc_max', tun_value: '1', tun_type: 'loader' }),
    await nas.api.put('system/advanced/', { adv_serialconsole: true }),
  ])
    assert.ok(answer.status >= 400 && answer.status < 500 && /no GRUB/.test(answer.text), answer.text);
  assert.deepEqual(
    [
      await nas.api.list('system/tunable/'),
      (await nas.api.expect(200, 'GET', 'system/advanced/'))['adv_serialconsole'],
    ],
    [[], false],
  );
  assert.doesNotMatch(await nas.machine.run('cat /etc/default/grub.d/holdfast.cfg'), /CMDLINE/);
});

test('chrony uses only the configured servers', async () => {
  for (const record of await nas.api.list('system/ntpserver/'))
    assert.equal((await nas.api.delete(`system/ntpserver/${record['id']}/`)).status, 204);
  assert.match(
    (await nas.api.post('system/ntpserver/', { ntp_address: '10.0.2.2' })).text,
    /does not answer as a time server/,
  );
  await nas.api.expect(201, 'POST', 'system/ntpserver/', { ntp_address: '10.0.2.2', ntp_prefer: true, force: true });
  await eventually(20, async () => assert.match(await nas.machine.run('chronyc -n sources'), /\^\S* 10\.0\.2\.2 /));
});

test('chrony uses a server that answers; a clock that is hours off raises an alert until it is right', async () => {
  let ahead = 0;
  const server = await timeServer(() => ahead);
  const isToldOff = async () =>
    (await nas.api.list('system/alert/')).some(({ message }) =>
      /^The clock differs from the time servers by 1\d{4} seconds\./.test(String(message)),
    );
  try {
    for (const record of await nas.api.list('system/ntpserver/'))
      assert.equal((await nas.api.delete(`system/ntpserver/${record['id']}/`)).status, 204);
    // The server answers, so `force` is not required.
    await nas.api.expect(201, 'POST', 'system/ntpserver/', {
      ntp_address: '10.0.2.2',
      ntp_prefer: true,
      ntp_burst: true,
      ntp_minpoll: 4,
      ntp_maxpoll: 5,
    });
    await eventually(60, async () => assert.match(await nas.machine.run('chronyc -n sources'), /^\^\* 10\.0\.2\.2 /m));
    assert.match(await nas.machine.run('chronyc -c -n tracking'), /,10\.0\.2\.2,3,/);
    assert.equal(await isToldOff(), false);
    // Like a chrony that has run for a while: it steps the clock only at its first answers, and slews it later.
    await nas.machine.run('chronyc makestep 1 0');
    for (const off of [3 * 3600, 0]) {
      ahead = off;
      const isOff = off > 0;
      await nas.machine.run('chronyc burst 1/2');
      await eventually(30, async () =>
        assert.equal(/,-?1\d{4}\./.test(await nas.machine.run('chronyc -c -n sources')), isOff),
      );
      // The daemon checks the clock when it starts and every few minutes.
      await nas.machine.run('systemctl restart holdfast');
      await eventually(30, async () => assert.equal(await isToldOff(), isOff));
    }
  } finally {
    server.close();
  }
});

test('an update is found in a package source, simulated, installed by a job, and raises an alert until then', async () => {
  await offerNewerPackage(nas.machine);
  const version = () => packageVersion(nas.machine);
  assert.deepEqual(await nas.api.list('system/update/check/'), [
    { operation: 'upgrade', name: 'holdfast-lab-1.0 -> holdfast-lab-1.1' },
  ]);
  assert.equal(await version(), '1.0', 'asking changes nothing');
  await nas.machine.run('systemctl restart holdfast');
  const update = async () =>
    (await nas.api.list('system/alert/')).filter(({ message }) => /package update/.test(String(message)));
  await eventually(30, async () => assert.equal((await update()).length, 1));
  const answer = await nas.api.post('system/update/update/');
  assert.deepEqual([answer.status, answer.json], [200, 'Successfully updated.']);
  assert.equal(await version(), '1.1');
  const [job] = await nas.api.list('/api/holdfast/v1/jobs?subject=system/update');
  assert.deepEqual([job?.['state'], job?.['title']], ['finished', 'update the machine']);
  assert.deepEqual(await nas.api.list('system/update/check/'), []);
  assert.deepEqual(await update(), []);
  const again = await nas.api.post('system/update/update/');
  assert.deepEqual([again.status, again.json], [400, 'No updates are available.']);
});

test('the message of the day and the network buffers are as set', async () => {
  await nas.api.expect(200, 'PUT', 'system/advanced/', { adv_motd: 'Hello from the lab', adv_autotune: true });
  assert.equal(await nas.machine.run('cat /etc/motd'), 'Hello from the lab\n');
  assert.equal((await nas.machine.run('sysctl -n net.core.rmem_max')).trim(), '134217728');
});

test('factory restore resets the machine and keeps the pool; the earlier backup and a file restore the configuration', async () => {
  const config = '/api/holdfast/v1/config';
  const shown = async () =>
    Object.fromEntries(
      await Promise.all(
        [
          'account/users',
          'system/settings',
          'system/advanced',
          'system/ntpserver',
          'system/certificate',
          'services/ftp',
          'services/services',
          'tasks/cronjob',
        ].map(async (path) => [path, (await nas.api.get(`${path}/`)).text] as const),
      ),
    );
  const configured = await shown();
  const passphrase = 'a passphrase of the lab';
  const file = await nas.api.expect(200, 'POST', `${config}/backup`, { passphrase });
  await nas.machine.run('echo kept >/mnt/tank/mary/kept');

  assert.equal(
    (await nas.api.post('system/config/factory_restore/')).text,
    'Configuration restored to defaults. Reboot required.',
  );
  assert.match(await nas.machine.run('id mary 2>&1 || true'), /no such user/);
  assert.equal((await nas.machine.run('systemctl is-active proftpd || true')).trim(), 'inactive');
  assert.notEqual((await nas.machine.run('timedatectl show --property=Timezone --value')).trim(), 'Asia/Tokyo');
  assert.equal((await nas.machine.run('zpool list -H -o name; cat /mnt/tank/mary/kept')).trim(), 'tank\nkept');
  assert.equal(await answers(), '000', 'HTTPS with the certificate of the configuration has ended');

  const [backup] = await nas.api.list(`${config}/backups`);
  await nas.api.expect(200, 'POST', `${config}/restore`, { backup: backup?.['number'] });
  assert.deepEqual(await shown(), configured);
  assert.equal((await nas.machine.run('timedatectl show --property=Timezone --value')).trim(), 'Asia/Tokyo');

  await nas.api.expect(202, 'POST', 'system/config/factory_restore/');
  await nas.api.expect(200, 'POST', `${config}/restore`, { file, passphrase });
  assert.deepEqual(await shown(), configured);
  await eventually(10, async () => {
    const outcome = await curl('--ssl-reqd', '--user', 'mary:her secret', 'ftp://nas.example.com/');
    assert.match(outcome.stdout, /kept/, outcome.stderr);
  });
  assert.equal(await answers(), '401');
});

test('at the end nothing differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
