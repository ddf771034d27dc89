import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Machine } from '../support/lab/machine.ts';
import { apiOf, eventually, journal, type Nas, startNas, untilReady } from '../support/lab/nas.ts';

/** The appliance, and another machine with an rsync daemon and an SSH server. Each test builds on the earlier ones. */
let nas: Nas;
let far: Machine;

before(async () => {
  nas = await startNas({ disks: 2, memory: 1024 });
  far = await Machine.start({ name: 'far', disks: 0, memory: 768 });
  await far.run(`
    mkdir -p /srv/store
    printf '%s\\n' 'uid = root' 'gid = root' '[store]' 'path = /srv/store' 'read only = false' >/etc/rsyncd.conf
    systemctl start rsync ssh`);
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'her secret',
    bsdusr_creategroup: true,
    bsdusr_home: '/mnt/tank/mary',
    bsdusr_shell: '/bin/bash',
  });
  await nas.machine.run(`mkdir -p /mnt/tank/mary /mnt/tank/media && chown mary: /mnt/tank/mary /mnt/tank/media`);
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
});

const jobsOf = (task: string) => nas.api.list(`/api/holdfast/v1/jobs?subject=${task}`);

/** Runs a task now and returns its job when that has ended. */
async function ran(task: string, seconds = 60) {
  await nas.api.expect(202, 'POST', `${task}/run/`);
  return eventually(seconds, async () => {
    const [job] = await jobsOf(task);
    assert.notEqual(job?.['state'], 'running');
    return job ?? {};
  });
}

const module = () => ({
  rsync_user: 'root',
  rsync_remotehost: far.address,
  rsync_remotemodule: 'store',
  rsync_enabled: false,
});

test('a push to a daemon copies new files and deletes removed ones', async () => {
  await nas.machine.run(`cd /mnt/tank/media && mkdir -p a && echo one >'a/odd "name"' && echo two >two`);
  const task = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    ...module(),
    rsync_path: '/mnt/tank/media/',
    rsync_delete: true,
  });
  const path = `tasks/rsync/${task['id']}`;
  const first = await ran(path);
  assert.equal(first['state'], 'finished', JSON.stringify(first));
  assert.match(JSON.stringify(first['result']), /sent [\d,]+ bytes/);
  assert.equal(await far.run('cd /srv/store && find . -type f | sort'), './a/odd "name"\n./two\n');
  await nas.machine.run('rm /mnt/tank/media/two; echo three >/mnt/tank/media/three');
  assert.equal((await ran(path))['state'], 'finished');
  assert.equal(await far.run('cd /srv/store && find . -type f | sort'), './a/odd "name"\n./three\n');
});

test('a pull from a daemon deletes removed files and skips an excluded name', async () => {
  await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'copy' });
  await nas.machine.run('echo stale >/mnt/tank/copy/stale; echo mine >/mnt/tank/copy/keep.me');
  const task = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    ...module(),
    rsync_path: '/mnt/tank/copy',
    rsync_direction: 'pull',
    rsync_delete: true,
    rsync_extra: `--exclude='*.me' --chmod=F600`,
  });
  const job = await ran(`tasks/rsync/${task['id']}`);
  assert.equal(job['state'], 'finished', JSON.stringify(job));
  assert.equal(
    await nas.machine.run('cd /mnt/tank/copy && find . -type f | sort'),
    './a/odd "name"\n./keep.me\n./three\n',
  );
  assert.equal((await nas.machine.run('stat -c %a /mnt/tank/copy/three')).trim(), '600');
});

test('an error of rsync is the error of the job, with its message', async () => {
  const task = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    ...module(),
    rsync_path: '/mnt/tank/media/',
    rsync_remotemodule: 'none',
  });
  const job = await ran(`tasks/rsync/${task['id']}`);
  assert.equal(job['state'], 'failed');
  assert.match(JSON.stringify(job), /Unknown module 'none'/);
});

test('SSH requires a key first, then copies both ways as the account, and stores the host key', async () => {
  const body = {
    rsync_path: '/mnt/tank/mary/papers',
    rsync_user: 'mary',
    rsync_mode: 'ssh',
    rsync_remotehost: `root@${far.address}`,
    rsync_remotepath: '/srv/her papers',
    rsync_enabled: false,
    rsync_archive: true,
  };
  const refused = await nas.api.post('tasks/rsync/', body);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /rsync_user.*no private key/);

  const key = (
    await nas.machine.run(
      `su mary -c 'mkdir -p -m 700 ~/.ssh && ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id_ed25519 && mkdir ~/papers && echo will >~/papers/will' && cat /mnt/tank/mary/.ssh/id_ed25519.pub`,
    )
  ).trim();
  await far.run(`mkdir -p -m 700 /root/.ssh && echo '${key}' >/root/.ssh/authorized_keys`);
  const absent = await nas.api.post('tasks/rsync/', { ...body, rsync_validate_rpath: true });
  assert.match(absent.text, /rsync_remotepath.*does not exist on/);
  await far.run(`mkdir '/srv/her papers'`);
  const push = await nas.api.expect(201, 'POST', 'tasks/rsync/', { ...body, rsync_validate_rpath: true });
  assert.equal((await ran(`tasks/rsync/${push['id']}`))['state'], 'finished');
  assert.equal(await far.run(`cat '/srv/her papers/papers/will'`), 'will\n');
  assert.match(await nas.machine.run('cut -d" " -f2 /mnt/tank/mary/.ssh/known_hosts'), /ssh-ed25519/);

  await far.run(`echo letter >'/srv/her papers/letter'`);
  const pull = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    ...body,
    rsync_path: '/mnt/tank/mary/back',
    rsync_remotepath: '/srv/her papers/',
    rsync_direction: 'pull',
    rsync_archive: false,
  });
  const job = await ran(`tasks/rsync/${pull['id']}`);
  assert.equal(job['state'], 'finished', JSON.stringify(job));
  assert.equal(
    await nas.machine.run('cat /mnt/tank/mary/back/letter; stat -c "%U %a" /mnt/tank/mary/back/letter'),
    'letter\nmary 644\n',
  );
});

test('a host with another key than before is refused', async () => {
  await far.run('rm /etc/ssh/ssh_host_*; ssh-keygen -A >/dev/null; systemctl restart ssh');
  const [push] = (await nas.api.list('tasks/rsync/')).filter(
    (task) => task['rsync_mode'] === 'ssh' && task['rsync_direction'] === 'push',
  );
  const job = await ran(`tasks/rsync/${push?.['id']}`);
  assert.equal(job['state'], 'failed');
  assert.match(JSON.stringify(job['result']), /Host key verification failed/);
});

test('a task runs by its schedule, and the next run is shown', async () => {
  await nas.machine.run('echo by the clock >/mnt/tank/media/clock');
  const task = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    ...module(),
    rsync_path: '/mnt/tank/media/',
    rsync_minute: '*/1',
    rsync_enabled: true,
  });
  const [next] = (await nas.api.list('/api/holdfast/v1/schedules')).filter(
    ({ resource, id }) => resource === 'tasks/rsync' && id === task['id'],
  );
  assert.ok(Date.parse(String(next?.['next'])) > Date.now() - 5000, JSON.stringify(next));
  await eventually(90, async () => assert.equal(await far.run('cat /srv/store/clock'), 'by the clock\n'));
  await nas.api.expect(204, 'DELETE', `tasks/rsync/${task['id']}/`);
});

test('a long copy reports its progress, runs once at a time, and can be ended', async () => {
  await nas.machine.run('mkdir /mnt/tank/big && head -c 40M /dev/urandom >/mnt/tank/big/file');
  const task = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    ...module(),
    rsync_path: '/mnt/tank/big',
    rsync_compress: false,
    rsync_extra: '--bwlimit=1000',
  });
  const path = `tasks/rsync/${task['id']}`;
  await nas.api.expect(202, 'POST', `${path}/run/`);
  const job = await eventually(30, async () => {
    const [running] = await jobsOf(path);
    assert.match(String(running?.['progress']), /^[1-9]\d?%$/);
    return running;
  });
  const second = await nas.api.post(`${path}/run/`);
  assert.equal(second.status, 400);
  assert.match(second.text, /Already running/);
  assert.equal((await nas.api.post(`/api/holdfast/v1/jobs/${job?.['id']}/abort`)).status, 204);
  await eventually(10, async () => assert.equal((await jobsOf(path))[0]?.['state'], 'aborted'));
  assert.equal((await nas.machine.tryRun('pgrep -x rsync')).status, 1);
  assert.equal((await far.tryRun('test -e /srv/store/big/file')).status, 1);
});

test('a copy that is interrupted by the other machine or by the end of the daemon is reported, and the next one completes it', async () => {
  const [task] = (await nas.api.list('tasks/rsync/')).filter((one) => one['rsync_path'] === '/mnt/tank/big');
  const path = `tasks/rsync/${task?.['id']}`;
  const begin = async () => {
    await nas.api.expect(202, 'POST', `${path}/run/`);
    await eventually(30, async () => assert.match(String((await jobsOf(path))[0]?.['progress']), /^[1-9]\d?%$/));
  };
  await begin();
  await far.run('pkill -x rsync; systemctl restart rsync');
  await eventually(30, async () => assert.equal((await jobsOf(path))[0]?.['state'], 'failed'));
  await begin();
  await nas.machine.run('systemctl restart holdfast');
  assert.equal((await jobsOf(path))[0]?.['state'], 'interrupted');
  await untilReady(nas.api);
  await begin();
  await nas.machine.run('systemctl kill -s KILL holdfast');
  await eventually(30, async () => assert.equal((await jobsOf(path))[0]?.['state'], 'interrupted'));
  await untilReady(nas.api);
  await nas.api.expect(200, 'PUT', `${path}/`, { rsync_extra: '' });
  assert.equal((await ran(path))['state'], 'finished');
  assert.equal(
    (await far.run('sha256sum </srv/store/big/file')).trim(),
    (await nas.machine.run('sha256sum </mnt/tank/big/file')).trim(),
  );
});

test('a volume that is not mounted is not copied from', async () => {
  await nas.machine.run('zfs unmount -f tank/copy');
  const [task] = (await nas.api.list('tasks/rsync/')).filter((one) => one['rsync_path'] === '/mnt/tank/copy');
  const job = await ran(`tasks/rsync/${task?.['id']}`);
  assert.deepEqual(
    [job['state'], job['error']],
    ['failed', 'Nothing was copied: the dataset tank/copy is not mounted.'],
  );
  await nas.machine.run('zfs mount tank/copy');
});

test('a cron job that is run now finds the programs of the system, and makes files that others may read', async () => {
  const job = await nas.api.expect(201, 'POST', 'tasks/cronjob/', {
    cron_user: 'root',
    cron_command: 'zpool list -H -o name; umask',
    cron_enabled: false,
  });
  assert.deepEqual((await ran(`tasks/cronjob/${job['id']}`))['result'], {
    status: 0,
    stdout: 'tank\n0022\n',
    stderr: '',
  });
});

test('scripts are part of the start, and systemd has no objection to their units', async () => {
  const note = (moment: string) => `echo ${moment} smbd $(systemctl is-active smbd) "100%" >>/mnt/tank/notes`;
  await nas.machine.run(
    `printf '#!/bin/sh\\necho script $0 >>/mnt/tank/notes\\n' >'/mnt/tank/a script' && chmod 755 '/mnt/tank/a script'`,
  );
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  for (const moment of ['preinit', 'postinit', 'shutdown']) {
    await nas.api.expect(201, 'POST', 'tasks/initshutdown/', {
      ini_command: 'echo trouble >&2; exit 3',
      ini_when: moment,
    });
    await nas.api.expect(201, 'POST', 'tasks/initshutdown/', { ini_command: note(moment), ini_when: moment });
  }
  await nas.api.expect(201, 'POST', 'tasks/initshutdown/', {
    ini_type: 'script',
    ini_script: '/mnt/tank/a script',
    ini_when: 'postinit',
  });
  assert.equal((await nas.machine.tryRun('cat /mnt/tank/notes')).status, 1, 'none of them runs when it is made');
  const wanted = await nas.machine.run('systemctl list-dependencies --plain multi-user.target');
  for (const moment of ['preinit', 'postinit', 'shutdown'])
    assert.match(wanted, new RegExp(`holdfast-${moment}\\.service`));
  assert.equal(
    (await nas.machine.run('systemd-analyze verify /etc/systemd/system/holdfast-*.service 2>&1')).trim(),
    '',
  );
});

test('a boot runs the scripts at their times, a script that fails stops nothing, and the output of each is in the journal', async () => {
  // The system is in memory and is fresh after a restart of the machine, so everything except the agent is stopped and
  // started again.
  await nas.machine.run(`
    printf '[Unit]\\nAllowIsolate=yes\\nRequires=basic.target lab-agent.service\\nAfter=basic.target lab-agent.service\\n' >/run/systemd/system/quiet.target
    systemctl daemon-reload; systemctl isolate quiet.target`);
  await eventually(30, async () => {
    const { output } = await nas.machine.tryRun('systemctl is-active holdfast smbd holdfast-shutdown');
    assert.equal(output, 'inactive\ninactive\ninactive\n');
  });
  assert.equal((await nas.machine.run('cat /mnt/tank/notes')).trim(), 'shutdown smbd active 100%');
  await nas.machine.run('rm /mnt/tank/notes; systemctl isolate multi-user.target');
  await eventually(60, async () =>
    assert.equal(
      await nas.machine.run('cat /mnt/tank/notes'),
      'preinit smbd inactive 100%\npostinit smbd active 100%\nscript /mnt/tank/a script\n',
    ),
  );
  await nas.machine.run('systemctl is-system-running --wait || true');
  assert.equal(
    (
      await nas.machine.run('systemctl is-active holdfast smbd holdfast-preinit holdfast-postinit holdfast-shutdown')
    ).trim(),
    'active\nactive\nactive\nactive\nactive',
  );
  const said = await nas.machine.run('journalctl -b -o short -t holdfast-preinit-1 -t holdfast-shutdown-5 --no-pager');
  assert.match(said, /holdfast-preinit-1\[\d+\]: trouble/);
  assert.doesNotMatch(await nas.machine.run('journalctl -b --no-pager -o cat'), /ordering cycle/i);
});

test('smartd accepts its rendered file', async () => {
  await untilReady(nas.api);
  const disks = (await nas.api.list('storage/disk/')).map((disk) => String(disk['disk_identifier']));
  await nas.api.expect(201, 'POST', 'tasks/smarttest/', {
    smarttest_disks: disks,
    smarttest_type: 'S',
    smarttest_hour: '1-23/2',
    smarttest_daymonth: '1,11,21,31',
    smarttest_dayweek: 'mon-fri',
  });
  await nas.api.expect(201, 'POST', 'tasks/smarttest/', {
    smarttest_disks: disks,
    smarttest_type: 'L',
    smarttest_hour: '3',
    smarttest_dayweek: '7',
  });
  const { status, output } = await nas.machine.tryRun('smartd --quit=showtests --configfile=/etc/smartd.conf');
  // The disks of the test machine have no SMART: with a valid file, smartd finds no disk to watch.
  assert.equal(status, 17, output);
  assert.match(output, /Configuration file \/etc\/smartd\.conf parsed/);
  assert.match(output, /\/dev\/ubdd, not available/);
});

test('nothing differs from the configuration', async () => {
  const reports = await apiOf(nas.machine).list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
