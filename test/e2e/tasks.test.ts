import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

/** An appliance with the volume tank. */
async function withVolume(t: TestContext): Promise<Appliance> {
  const one = await appliance();
  t.after(() => one[Symbol.asyncDispose]());
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  return one;
}

const jobsOf = (one: Appliance, subject: string) => one.api.list(`/api/holdfast/v1/jobs?subject=${subject}`);

const rsync = { rsync_path: '/mnt/tank/', rsync_user: 'root', rsync_remotehost: 'backup', rsync_remotemodule: 'store' };

test('an init script is made, changed and removed, and has its unit', async (t) => {
  const one = await withVolume(t);
  const made = await one.api.expect(201, 'POST', 'tasks/initshutdown/', {
    ini_command: 'echo ready',
    ini_when: 'postinit',
  });
  assert.deepEqual(made, {
    id: 1,
    ini_type: 'command',
    ini_command: 'echo ready',
    ini_script: null,
    ini_when: 'postinit',
    ini_enabled: true,
  });
  const subsystem = () => one.host.files.read('/etc/systemd/system/holdfast-postinit.service');
  assert.match((await subsystem()) ?? '', /ExecStart=.*"echo ready"/);
  await one.api.expect(200, 'PUT', 'tasks/initshutdown/1/', { ini_enabled: false });
  assert.doesNotMatch((await subsystem()) ?? '', /echo ready/);
  assert.deepEqual((await one.host.services.states(['holdfast-shutdown'])).get('holdfast-shutdown'), {
    running: true,
    enabled: true,
    installed: true,
  });
  assert.equal((await one.api.delete('tasks/initshutdown/1/')).status, 204);
  assert.deepEqual(await one.api.list('tasks/initshutdown/'), []);
});

test('a script must be there and executable', async (t) => {
  const one = await withVolume(t);
  const body = { ini_type: 'script', ini_script: '/mnt/tank/boot.sh', ini_when: 'preinit' };
  const absent = await one.api.post('tasks/initshutdown/', body);
  assert.equal(absent.status, 409);
  assert.deepEqual(absent.json, { ini_script: ['"/mnt/tank/boot.sh" is not a file.'] });
  await one.host.files.write('/mnt/tank/boot.sh', '#!/bin/sh\n');
  assert.match((await one.api.post('tasks/initshutdown/', body)).text, /not executable/);
  await one.host.files.write('/mnt/tank/boot.sh', '#!/bin/sh\n', { mode: 0o755 });
  assert.equal((await one.api.expect(201, 'POST', 'tasks/initshutdown/', body))['ini_command'], '');
});

test('an rsync task has the defaults of the document, keeps its path as it is spelled and leaves a job', async (t) => {
  const one = await withVolume(t);
  const made = await one.api.expect(201, 'POST', 'tasks/rsync/', rsync);
  assert.deepEqual(made, {
    id: 1,
    ...rsync,
    rsync_mode: 'module',
    rsync_remoteport: 22,
    rsync_remotepath: '',
    rsync_direction: 'push',
    rsync_desc: '',
    rsync_minute: '00',
    rsync_hour: '*',
    rsync_daymonth: '*',
    rsync_month: '*',
    rsync_dayweek: '*',
    rsync_recursive: true,
    rsync_times: true,
    rsync_compress: true,
    rsync_archive: false,
    rsync_delete: false,
    rsync_quiet: false,
    rsync_preserveperm: false,
    rsync_preserveattr: false,
    rsync_delayupdates: true,
    rsync_extra: '',
    rsync_enabled: true,
  });
  const run = await one.api.post('tasks/rsync/1/run/');
  assert.deepEqual([run.status, run.text], [202, 'Rsync job started.']);
  const [job] = await jobsOf(one, 'tasks/rsync/1');
  assert.equal(job?.['state'], 'finished');
  assert.match(JSON.stringify(job?.['result']), /as root: rsync --recursive .* -- \/mnt\/tank\/ backup::store/);
  assert.deepEqual(await jobsOf(one, 'tasks/rsync/2'), []);
});

test('a task that is wrong in several ways hears of all of them', async (t) => {
  const one = await withVolume(t);
  const answer = await one.api.post('tasks/rsync/', {
    ...rsync,
    rsync_remotehost: '-oProxyCommand=x',
    rsync_extra: '-e sh',
    rsync_path: '/etc',
    rsync_month: '13',
  });
  assert.equal(answer.status, 409);
  assert.deepEqual(isObject(answer.json) ? Object.keys(answer.json).sort() : [], [
    'rsync_extra',
    'rsync_month',
    'rsync_path',
    'rsync_remotehost',
  ]);
});

test('SSH wants a key of the account that nobody else may read', async (t) => {
  const one = await withVolume(t);
  const body = { ...rsync, rsync_mode: 'ssh', rsync_remotepath: '/backup' };
  assert.match((await one.api.post('tasks/rsync/', body)).text, /rsync_user.*no private key/);
  await one.host.files.write('/root/.ssh/id_ed25519', 'key', { mode: 0o644 });
  assert.match((await one.api.post('tasks/rsync/', body)).text, /rsync_user.*other accounts can read it/);
  await one.host.files.write('/root/.ssh/id_ed25519', 'key', { mode: 0o600 });
  await one.api.expect(201, 'POST', 'tasks/rsync/', { ...body, rsync_validate_rpath: true });
});

test('a volume that is not there is never copied over', async (t) => {
  const one = await withVolume(t);
  await one.api.expect(201, 'POST', 'tasks/rsync/', rsync);
  await one.host.zfs.exportPool('tank');
  await one.api.expect(202, 'POST', 'tasks/rsync/1/run/');
  const [job] = await jobsOf(one, 'tasks/rsync/1');
  assert.deepEqual([job?.['state'], job?.['error']], ['failed', 'Nothing was copied: the volume tank is missing.']);
});

test('one run at a time, and what the end of the daemon ended is reported so', async () => {
  const authenticator = Promise.withResolvers<void>();
  const one = await appliance({
    around: (host) => ({
      ...host,
      commands: {
        check: (words) => host.commands.check(words),
        run: (command) => host.commands.run(command),
        async runProgram({ signal }) {
          const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          await Promise.race([authenticator.promise, aborted]);
          return { status: signal.aborted ? 143 : 0, stdout: '', stderr: '' };
        },
      },
    }),
  });
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  await one.api.expect(201, 'POST', 'tasks/rsync/', rsync);
  await one.api.expect(202, 'POST', 'tasks/rsync/1/run/');
  const second = await one.api.post('tasks/rsync/1/run/');
  assert.equal(second.status, 400);
  assert.match(second.text, /Already running as job \d+/);
  const again = await one.restart();
  const [job] = await jobsOf(again, 'tasks/rsync/1');
  assert.equal(job?.['state'], 'interrupted');
  await again[Symbol.asyncDispose]();
});

test('a SMART test names disks of the machine, one schedule of a type for each', async (t) => {
  const one = await withVolume(t);
  const made = await one.api.expect(201, 'POST', 'tasks/smarttest/', {
    smarttest_disks: '{serial}VIRT0001',
    smarttest_type: 'L',
    smarttest_hour: '03',
  });
  assert.deepEqual(made, {
    id: 1,
    smarttest_disks: ['{serial}VIRT0001'],
    smarttest_type: 'L',
    smarttest_desc: '',
    smarttest_hour: '03',
    smarttest_daymonth: '*',
    smarttest_month: '*',
    smarttest_dayweek: '*',
  });
  assert.match(
    (await one.host.files.read('/etc/smartd.conf')) ?? '',
    /^\/dev\/ada0 -a -d removable -m <nomailer> -M exec \/usr\/lib\/holdfast\/disk-report -s \(L\/\.\.\/\.\.\/\.\/03\)$/m,
  );
  assert.equal(
    (await one.api.post('tasks/smarttest/', { smarttest_disks: ['{serial}VIRT0001'], smarttest_type: 'L' })).status,
    409,
  );
  assert.equal(
    (await one.api.post('tasks/smarttest/', { smarttest_disks: ['{serial}NONE'], smarttest_type: 'L' })).status,
    409,
  );
  // The device name that storage/disk shows is accepted, and is the same disk.
  const disks = await one.api.list('storage/disk/?limit=0');
  const shown = disks.find((disk) => disk['disk_identifier'] === '{serial}VIRT0001');
  const named = await one.api.expect(201, 'POST', 'tasks/smarttest/', {
    smarttest_disks: String(shown?.['disk_name']),
    smarttest_type: 'S',
  });
  assert.deepEqual(named['smarttest_disks'], ['{serial}VIRT0001']);
  const again = await one.api.post('tasks/smarttest/', { smarttest_disks: ['ada0'], smarttest_type: 'L' });
  assert.match(again.text, /VIRT0001.* already has a schedule of long tests/);
  assert.equal((await one.api.post('tasks/smarttest/', { smarttest_disks: [], smarttest_type: 'L' })).status, 409);
  assert.equal(
    (await one.api.expect(200, 'PUT', 'services/services/smartd/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
});

test('the next run of every task is told, the nearest first', async (t) => {
  const one = await withVolume(t);
  await one.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true', cron_minute: '*/1' });
  await one.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true', cron_enabled: false });
  await one.api.expect(201, 'POST', 'tasks/rsync/', {
    ...rsync,
    rsync_month: '2',
    rsync_daymonth: '29',
    rsync_hour: '4',
  });
  await one.api.expect(201, 'POST', 'tasks/smarttest/', { smarttest_disks: ['{serial}VIRT0001'], smarttest_type: 'S' });
  const schedules = await one.api.list('/api/holdfast/v1/schedules');
  assert.deepEqual(
    schedules.map(({ resource, id, schedule }) => [resource, id, schedule]),
    [
      ['tasks/cronjob', 1, '*/1 * * * *'],
      ['tasks/smarttest', 1, '0 * * * *'],
      // The volume's own.
      ['storage/scrub', 1, '00 00 * * 7'],
      ['tasks/rsync', 1, '00 4 29 2 *'],
    ],
  );
  const [first] = schedules;
  assert.match(String(first?.['next']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:00[+-]\d\d:\d\d$/);
  const wait = Date.parse(String(first?.['next'])) - Date.now();
  assert.ok(wait > -1000 && wait <= 60_000, String(wait));
});
