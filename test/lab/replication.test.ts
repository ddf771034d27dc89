import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { apiOf, eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { run, runClient } from '../support/lab/network.ts';

/** An appliance, and another that receives replicas. Each test builds on the earlier ones. */
let nas: Nas;
let far: Nas;

/**
 * The network interface of the other machine, which is removed from the bridge: machines are numbered in the order of
 * their start.
 */
const farCable = 'tap1-0';

before(async () => {
  nas = await startNas({ name: 'near', disks: 2, memory: 1024 });
  far = await startNas({ name: 'far', disks: 1, memory: 1024 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'papers' });
  await far.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'backup',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await far.api.expect(200, 'PUT', 'services/services/ssh/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
});

const statusOf = async (id: unknown) =>
  String((await nas.api.expect(200, 'GET', `storage/replication/${id}/`))['repl_status']);

/** Waits until the status matches; returns every status on the way. */
async function status(id: unknown, wanted: RegExp, seconds: number): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    const now = await statusOf(id);
    seen.add(now);
    if (wanted.test(now)) return seen;
    await pause(500);
  }
  throw new Error(`no ${wanted} in ${seconds} s, but ${[...seen].join(' | ')}\n${await journal(nas.machine)}`);
}

const snapshotsOn = async (machine: Nas, dataset: string) =>
  (await machine.machine.run(`zfs list -H -o name -t snapshot -s createtxg -d 1 ${dataset} 2>/dev/null || true`))
    .split('\n')
    .filter((line) => line !== '');

/** Creates a snapshot with a name as tasks give. */
const periodic = (dataset: string, time: string) =>
  nas.machine.run(`zfs snapshot -r ${dataset}@auto-20260105.${time}-9y`);

test('a task creates a snapshot when the clock, set forward, reaches its time', async () => {
  await nas.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank/papers',
    task_begin: '00:00',
    task_end: '23:59',
    task_interval: 5,
    task_repeat_unit: 'daily',
  });
  await nas.machine.run('echo draft >/mnt/tank/papers/one');
  const hour = (await nas.machine.run(`date -s "$(date +%F) 10:04:30" >/dev/null; date +%Y%m%d`)).trim();
  await eventually(150, async () =>
    assert.deepEqual(await snapshotsOn(nas, 'tank/papers'), [`tank/papers@auto-${hour}.1005-2w`]),
  );
  assert.equal(
    (await nas.machine.run(`zfs get -H -o value holdfast:task tank/papers@auto-${hour}.1005-2w`)).trim(),
    '1',
  );
  // Another time, so that the test need not wait.
  await nas.api.expect(200, 'PUT', 'storage/task/1/', { task_interval: 10_080 });
});

test('a client sees the snapshots of the task as previous versions of a file', async () => {
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await nas.api.expect(201, 'POST', 'sharing/cifs/', {
    cifs_path: '/mnt/tank/papers',
    cifs_name: 'papers',
    cifs_guestok: true,
    cifs_storage_task: 1,
  });
  await nas.machine.run('echo final >/mnt/tank/papers/one');
  const smb = (command: string) => runClient(['smbclient', '-N', `//${nas.machine.address}/papers`, '-c', command]);
  const listing = await eventually(30, async () => {
    const { stdout } = await smb('allinfo one');
    assert.match(stdout, /@GMT-/);
    return stdout;
  });
  const versions = [...listing.matchAll(/@GMT-\d{4}\.\d\d\.\d\d-\d\d\.\d\d\.\d\d/g)].map(([version]) => version);
  assert.deepEqual([...new Set(versions)].length, 1, listing);
  assert.equal((await smb(`get ${versions[0]}\\one -`)).stdout, 'draft\n');
  assert.equal((await smb('get one -')).stdout, 'final\n');
});

test('retention deletes expired snapshots, but only those of the task', async () => {
  await nas.machine.run(`
    zfs snapshot -o holdfast:task=1 tank/papers@auto-20200101.0000-1h
    zfs snapshot tank/papers@auto-20200101.0001-1h`);
  // Each hour, of what is known by then: the clock reaches an hour at once.
  await eventually(30, async () => {
    const known = await nas.api.list('storage/snapshot/?limit=0');
    assert.equal(known.filter(({ filesystem }) => filesystem === 'tank/papers').length, 3);
  });
  await nas.machine.run(`date -s "$(date -d '+1 day' +%F) 11:01:30" >/dev/null`);
  await eventually(200, async () => {
    const names = await snapshotsOn(nas, 'tank/papers');
    assert.ok(!names.some((name) => name.endsWith('0000-1h')), names.join());
  });
  assert.equal((await snapshotsOn(nas, 'tank/papers')).length, 2);
  await nas.machine.run('zfs destroy tank/papers@auto-20200101.0001-1h');
});

test('two appliances pair by a token that is valid once, and new snapshots are replicated', async () => {
  await nas.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank',
    task_recursive: true,
    task_interval: 10_080,
    task_byweekday: '1',
  });
  await periodic('tank', '0900');
  const { token } = await far.api.expect(201, 'POST', '/api/holdfast/v1/tokens/');
  const body = {
    repl_filesystem: 'tank',
    repl_zfs: 'backup/near',
    repl_userepl: true,
    repl_followdelete: true,
    repl_remote_hostname: far.machine.address,
    repl_remote_mode: 'SEMIAUTOMATIC',
    repl_remote_http_port: 8080,
    repl_remote_token: token,
  };
  const task = await nas.api.expect(201, 'POST', 'storage/replication/', body);
  assert.match(String(task['repl_remote_hostkey']), /^ssh-ed25519 AAAA/);
  const again = await nas.api.post('storage/replication/', body);
  assert.match(again.text, /did not let this machine's key in: it answered 401/);
  const intruder = await nas.machine.run(
    `ssh -F none -i /run/holdfast/replication/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@${far.machine.address} 'id; touch /tmp/seen' 2>&1; echo $?`,
  );
  assert.match(intruder, /This key permits replication only\.\r?\n126\n$/);
  await far.machine.run('test ! -e /tmp/seen');
  await status(task['id'], /^Succeeded$/, 150);
  const names = (await snapshotsOn(nas, 'tank/papers')).map((name) => name.replace('tank', 'backup/near'));
  assert.deepEqual(await snapshotsOn(far, 'backup/near/papers'), names);
  await far.machine.run('zfs mount backup/near; zfs mount backup/near/papers');
  assert.equal(await far.machine.run('cat "$(zfs get -H -o value mountpoint backup/near/papers)/one"'), 'final\n');
  assert.equal((await far.machine.run('zfs get -H -o value readonly backup/near/papers')).trim(), 'on');
});

test('the next snapshot is sent incrementally, even if the last was deleted here, and deletions are replicated', async () => {
  await nas.machine.run('echo second >/mnt/tank/papers/two');
  await periodic('tank', '0910');
  await eventually(150, async () =>
    assert.equal((await snapshotsOn(far, 'backup/near')).at(-1), 'backup/near@auto-20260105.0910-9y'),
  );
  await status(1, /^Succeeded$/, 60);
  for (const time of ['0900', '0910']) await nas.machine.run(`zfs destroy -r tank@auto-20260105.${time}-9y`);
  await periodic('tank', '0920');
  await eventually(150, async () =>
    assert.deepEqual(await snapshotsOn(far, 'backup/near'), ['backup/near@auto-20260105.0920-9y']),
  );
  await status(1, /^Succeeded$/, 60);
});

test('a network failure during a transfer is reported, and the transfer is resumed afterwards', async () => {
  await nas.api.expect(200, 'PUT', 'storage/replication/1/', { repl_limit: 1500, repl_compression: 'off' });
  await status(1, /^Succeeded$/, 150);
  await nas.machine.run('head -c 60000000 /dev/urandom >/mnt/tank/papers/large');
  await periodic('tank', '0930');
  await status(
    1,
    /^Sending tank\/papers@auto-20260105\.0930-9y, (1[0-9]|2[0-9])\.\d MiB of \d+\.\d MiB \(\d+%\)$/,
    150,
  );
  await run('ip', 'link', 'set', farCable, 'nomaster');
  const seen = await status(1, /^Failed: /, 150);
  const last = [...seen].at(-1) ?? '';
  assert.match(
    last,
    /Sending tank\/papers@auto-20260105\.0930-9y failed after \d+\.\d MiB\. The other machine keeps what has arrived, and the next run resumes there\./,
  );
  assert.match(last, /Timeout, server .* not responding/);
  // While the network is down, each try reports the reason.
  await status(1, /^Failed: ssh: connect to host .*(timed out|No route to host)/, 150);
  await run('ip', 'link', 'set', farCable, 'master', 'net0');
  const after = await status(1, /^Succeeded$/, 300);
  assert.ok(
    [...after].some((said) => said.startsWith('Resuming tank/papers@auto-20260105.0930-9y')),
    [...after].join(' | '),
  );
  const sum = 'sha256sum <"$(zfs get -H -o value mountpoint';
  await far.machine.run('zfs unmount backup/near/papers; zfs mount backup/near/papers');
  assert.equal(
    await far.machine.run(`${sum} backup/near/papers)/large"`),
    await nas.machine.run(`${sum} tank/papers)/large"`),
  );
  assert.equal((await far.machine.run('zfs get -H -o value receive_resume_token backup/near/papers')).trim(), '-');
});

test('replication works with manually exchanged keys, a dedicated user with sudo, and each compressor', async () => {
  await far.machine.run(`
    useradd --create-home --shell /bin/sh copier
    printf 'copier ALL=(root) NOPASSWD: /usr/sbin/zfs, /usr/bin/pkill\\n' >/etc/sudoers.d/copier
    mkdir -m 700 ~copier/.ssh`);
  // A small dataset: some of the compressors take minutes for the file of the interrupted run.
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'letters' });
  await nas.machine.run('seq 100000 >/mnt/tank/letters/one');
  await periodic('tank/letters', '0935');
  const key = (await nas.api.get('storage/replication/publickey/')).text.replaceAll('"', '').trim();
  await far.machine.run(`echo '${key}' >~copier/.ssh/authorized_keys; chown -R copier: ~copier/.ssh`);
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'copier',
    bsdusr_full_name: 'Copier',
    bsdusr_password_disabled: true,
    bsdusr_creategroup: true,
  });
  const hostkey = await nas.machine.run(`ssh-keyscan -t ed25519 ${far.machine.address} 2>/dev/null`);
  for (const compression of ['pigz', 'plzip', 'lz4']) {
    const task = await nas.api.expect(201, 'POST', 'storage/replication/', {
      repl_filesystem: 'tank/letters',
      repl_zfs: `backup/${compression}`,
      repl_remote_hostname: far.machine.address,
      repl_remote_hostkey: hostkey,
      repl_remote_dedicateduser_enabled: true,
      repl_remote_dedicateduser: 'copier',
      repl_remote_cipher: 'fast',
      repl_compression: compression,
    });
    await status(task['id'], /^Succeeded$/, 200);
    const copy = `backup/${compression}/letters`;
    assert.deepEqual(
      await snapshotsOn(far, copy),
      (await snapshotsOn(nas, 'tank/letters')).map((name) => name.replace('tank/letters', copy)),
    );
  }
});

test('a machine with another host key is refused', async () => {
  // Machines of one image may share a key, so a new one is generated.
  const other = (
    await nas.machine.run('ssh-keygen -q -t ed25519 -N "" -f /tmp/other && cut -d" " -f1,2 /tmp/other.pub')
  ).trim();
  await nas.api.expect(200, 'PUT', 'storage/replication/1/', { repl_remote_hostkey: other });
  // Without a new snapshot the task would not contact the other machine.
  await periodic('tank', '0940');
  await status(1, /^Failed: [\s\S]*Host key verification failed/, 150);
});

test('nothing differs from the configuration', async () => {
  const reports = await apiOf(nas.machine).list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
