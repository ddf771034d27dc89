import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas, untilReady } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 6, installation: 'whole' });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const smb = (share: string, user: string, command: string) =>
  runClient([
    'smbclient',
    `//${nas.machine.address}/${share}`,
    ...(user === '' ? ['-N'] : ['-U', user]),
    '-c',
    command,
  ]);

test('the package starts the service, which refuses clients without credentials', async () => {
  assert.equal((await nas.machine.run('systemctl is-active holdfast')).trim(), 'active');
  const anonymous = await fetch(`${nas.api.url}/api/v1.0/storage/volume/`);
  assert.equal(anonymous.status, 401);
  assert.deepEqual(await nas.api.list('storage/volume/'), []);
});

test('the service lacks rights that no part of it needs, and what it starts may use sudo', async () => {
  const shown = await nas.machine.run(`
    grep -E '^(NoNewPrivs|CapBnd):' /proc/$(systemctl show holdfast --property=MainPID --value)/status
    systemctl show holdfast --property=SystemCallFilter
    systemd-analyze security --no-pager holdfast.service | tail -1`);
  assert.match(shown, /^NoNewPrivs:\t0$/m);
  const bounding = BigInt(`0x${/^CapBnd:\t([\da-f]+)$/m.exec(shown)?.[1]}`);
  // CAP_SYS_BOOT, CAP_SYS_TIME and CAP_BPF.
  for (const capability of [22n, 25n, 39n]) assert.equal((bounding >> capability) & 1n, 0n, shown);
  for (const call of ['clock_settime', 'kexec_load', 'swapon', 'iopl'])
    assert.match(shown, new RegExp(`^SystemCallFilter=~.*\\b${call}\\b`, 'm'));
  const level = Number(/exposure level for holdfast\.service: ([\d.]+)/.exec(shown)?.[1]);
  assert.ok(level <= 8, shown);
});

test('a pool, a dataset, an account and a share are created over HTTP and exist on the machine', async () => {
  const disks = (await nas.api.list('storage/disk/')).map((disk) => String(disk['disk_name']));
  assert.deepEqual(disks.slice(0, 3), ['ubdc', 'ubdd', 'ubde']);
  const volume = await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'raidz', disks: disks.slice(0, 3) }],
  });
  assert.equal(volume['status'], 'HEALTHY');
  assert.match(await nas.machine.run('zpool list -H -o name,health'), /tank\tONLINE/);
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', {
    name: 'media',
    quota: '500M',
    comments: 'films',
  });
  assert.equal((await nas.machine.run('zfs get -Hp -o value quota tank/media')).trim(), String(500 * 1024 ** 2));
  const mary = await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'her secret',
    bsdusr_creategroup: true,
    bsdusr_home: '/mnt/tank/people',
    bsdusr_mode: '750',
  });
  assert.match(await nas.machine.run('getent passwd mary'), new RegExp(`^mary:x:${mary['bsdusr_uid']}:`));
  assert.equal((await nas.machine.run('stat -c "%a %U:%G" /mnt/tank/people/mary')).trim(), '750 mary:mary');
  await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_name: 'media' });
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
});

test('an account that may write to the folder writes a file over SMB and reads it back', async () => {
  await nas.machine.run('chown mary: /mnt/tank/media');
  const put = await eventually(20, async () => {
    const outcome = await smb('media', 'mary%her secret', 'put /etc/hostname greeting; get greeting -');
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    return outcome;
  });
  const sent = (await runClient(['cat', '/etc/hostname'])).stdout.trim();
  assert.ok(put.stdout.includes(sent));
  assert.equal((await nas.machine.run('cat /mnt/tank/media/greeting')).trim(), sent);
});

test('a wrong password is refused, and a new one is valid at once', async () => {
  assert.match((await smb('media', 'mary%wrong', 'ls')).stdout, /NT_STATUS_LOGON_FAILURE/);
  const [mary] = (await nas.api.list('account/users/?limit=0')).filter((user) => user['bsdusr_username'] === 'mary');
  await nas.api.expect(200, 'POST', `account/users/${mary?.['id']}/password/`, { bsdusr_password: 'another one' });
  assert.match((await smb('media', 'mary%her secret', 'ls')).stdout, /NT_STATUS_LOGON_FAILURE/);
  assert.equal((await smb('media', 'mary%another one', 'ls')).status, 0);
});

test('a guest writes to a guest share, and is refused elsewhere', async () => {
  await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/drop', cifs_guestok: true });
  await nas.machine.run('chown nobody: /mnt/tank/drop');
  const outcome = await smb('drop', '', 'put /etc/hostname from-a-guest; ls');
  assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stdout, /from-a-guest/);
  assert.match((await smb('media', '', 'ls')).stdout, /NT_STATUS_ACCESS_DENIED/);
});

test('a share can be read-only, hidden, and have a recycle bin', async () => {
  const share = await nas.api.expect(201, 'POST', 'sharing/cifs/', {
    cifs_path: '/mnt/tank/media',
    cifs_name: 'shelf',
    cifs_ro: true,
    cifs_browsable: false,
  });
  assert.match(
    (await smb('shelf', 'mary%another one', 'put /etc/hostname x')).stdout,
    /NT_STATUS_ACCESS_DENIED|NT_STATUS_MEDIA_WRITE_PROTECTED/,
  );
  const listing = await runClient(['smbclient', '-N', '-g', '-L', `//${nas.machine.address}`]);
  assert.match(listing.stdout, /Disk\|media\|/);
  assert.doesNotMatch(listing.stdout, /Disk\|shelf\|/);
  await nas.api.expect(200, 'PUT', `sharing/cifs/${share['id']}/`, { cifs_ro: false, cifs_recyclebin: true });
  assert.equal((await smb('shelf', 'mary%another one', 'put /etc/hostname doomed; rm doomed')).status, 0);
  assert.match(await nas.machine.run('find /mnt/tank/media/.recycle -name doomed'), /doomed/);
});

test('a denied host is refused and an allowed one is not', async () => {
  const [drop] = (await nas.api.list('sharing/cifs/')).filter((share) => share['cifs_name'] === 'drop');
  await nas.api.expect(200, 'PUT', `sharing/cifs/${drop?.['id']}/`, { cifs_hostsdeny: '10.0.2.2' });
  assert.match((await smb('drop', '', 'ls')).stdout, /NT_STATUS_ACCESS_DENIED/);
  await nas.api.expect(200, 'PUT', `sharing/cifs/${drop?.['id']}/`, {
    cifs_hostsdeny: 'ALL',
    cifs_hostsallow: '10.0.2.2',
  });
  assert.equal((await smb('drop', '', 'ls')).status, 0);
});

test('every account finds its own folder in a home share', async () => {
  await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/homes', cifs_home: true });
  await nas.machine.run('mkdir -p /mnt/tank/homes/mary && chown mary: /mnt/tank/homes/mary');
  const outcome = await smb('mary', 'mary%another one', 'put /etc/hostname mine');
  assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  assert.match(await nas.machine.run('ls /mnt/tank/homes/mary'), /mine/);
});

test('a value that Samba refuses is answered with its message and changes nothing', async () => {
  const before = await nas.machine.run('sha256sum /etc/samba/smb.conf /etc/samba/holdfast/*');
  const [media] = (await nas.api.list('sharing/cifs/')).filter((share) => share['cifs_name'] === 'media');
  const answer = await nas.api.put(`sharing/cifs/${media?.['id']}/`, { cifs_auxsmbconf: 'no such parameter = 1' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /no such parameter/);
  assert.equal(await nas.machine.run('sha256sum /etc/samba/smb.conf /etc/samba/holdfast/*'), before);
});

test('an account uploads and downloads a file by FTP', async () => {
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_banner: 'Welcome to "the" 100% box', ftp_onlylocal: true });
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  const curl = (...words: string[]) => runClient(['curl', '-sS', '--user', 'mary:another one', ...words]);
  const up = await eventually(10, async () => {
    const outcome = await curl('-T', '/etc/hostname', `ftp://${nas.machine.address}/by-ftp`);
    assert.equal(outcome.status, 0, outcome.stderr);
    return outcome;
  });
  assert.equal(up.status, 0);
  assert.match(await nas.machine.run('ls -l /mnt/tank/people/mary'), /mary mary .* by-ftp/);
  assert.equal(
    (await curl(`ftp://${nas.machine.address}/by-ftp`)).stdout,
    (await runClient(['cat', '/etc/hostname'])).stdout,
  );
  const wrong = await runClient(['curl', '-sS', '--user', 'mary:wrong', `ftp://${nas.machine.address}/`]);
  assert.equal(wrong.status, 67);
});

test('a cron job runs by itself, with its percent signs and quotes', async () => {
  const job = await nas.api.expect(201, 'POST', 'tasks/cronjob/', {
    cron_user: 'mary',
    cron_command: `printf '%s|%s' "it's" "$(id -un)" > /mnt/tank/media/cron`,
    cron_minute: '*/1',
  });
  const text = await eventually(90, () => nas.machine.run('cat /mnt/tank/media/cron'));
  assert.equal(text, "it's|mary");
  await nas.api.expect(204, 'DELETE', `tasks/cronjob/${job['id']}/`);
});

test('a cron job that is run now has its output in a job', async () => {
  const job = await nas.api.expect(201, 'POST', 'tasks/cronjob/', {
    cron_user: 'mary',
    cron_command: 'id -un; echo trouble >&2; exit 3',
    cron_enabled: false,
  });
  await nas.api.expect(202, 'POST', `tasks/cronjob/${job['id']}/run/`);
  await eventually(10, async () => {
    const [run] = await nas.api.list(`/api/holdfast/v1/jobs?subject=tasks/cronjob/${job['id']}`);
    assert.deepEqual(run?.['result'], { status: 3, stdout: 'mary\n', stderr: 'trouble\n' });
  });
});

test('nothing differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});

test('drift caused outside of Holdfast is reported, and a restart repairs it', async () => {
  await nas.machine.run('echo "# by hand" >>/etc/samba/smb.conf; systemctl stop proftpd');
  const drift = JSON.stringify(await nas.api.list('/api/holdfast/v1/drift'));
  assert.match(drift, /write \/etc\/samba\/smb\.conf/);
  await nas.machine.run('systemctl restart holdfast');
  assert.doesNotMatch(await nas.machine.run('cat /etc/samba/smb.conf'), /by hand/);
  assert.equal((await nas.machine.run('systemctl is-active proftpd')).trim(), 'active');
});

test('a daemon that is killed restarts with its whole configuration', async () => {
  const before = await nas.api.list('sharing/cifs/');
  await nas.machine.run('systemctl kill -s KILL holdfast');
  await untilReady(nas.api);
  assert.deepEqual(await nas.api.list('sharing/cifs/'), before);
});

test('deleting the volume removes its shares and its data', async () => {
  assert.equal((await nas.api.delete('storage/volume/tank/')).status, 204);
  assert.deepEqual(await nas.api.list('sharing/cifs/'), []);
  assert.equal(await nas.machine.run('zpool list -H'), '');
  assert.equal(await nas.machine.run('ls /mnt'), '');
});
