import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { globalParameters, moduleParameters } from '../../src/areas/services/rsync-parameters.ts';
import { Machine } from '../support/lab/machine.ts';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** The appliance, and another machine on the same network. Each test builds on the earlier ones. */
let nas: Nas;
let far: Machine;
let here: string;

before(async () => {
  nas = await startNas({ disks: 1, memory: 1024 });
  far = await Machine.start({ name: 'far', disks: 0, memory: 768 });
  here = await mkdtemp(join(tmpdir(), 'holdfast-transfer-'));
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await nas.machine.run(
    'mkdir /mnt/tank/films "/mnt/tank/boot files" && chown nobody: /mnt/tank/films && echo one >/mnt/tank/films/one && echo kernel >"/mnt/tank/boot files/kernel"',
  );
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  if (here !== undefined) await rm(here, { recursive: true });
});

const switchTo = (service: string, srv_enable: boolean) =>
  nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable });

// rsync --------------------------------------------------------------------------------------------------------------

let port = 873;
const rsync = (...words: string[]) =>
  runClient([
    'rsync',
    '--contimeout=10',
    ...words.map((word) => word.replace('nas::', `rsync://${nas.machine.address}:${port}/`)),
  ]);

test('a module is listed, read and written by the account that it names', async () => {
  await nas.api.expect(201, 'POST', 'services/rsyncmod/', {
    rsyncmod_name: 'the films',
    rsyncmod_comment: '100 %HOME%',
    rsyncmod_path: '/mnt/tank/films',
  });
  assert.equal((await switchTo('rsync', true))['srv_state'], 'RUNNING');
  const listing = await eventually(20, async () => {
    const outcome = await rsync('nas::');
    assert.equal(outcome.status, 0, outcome.stderr);
    return outcome.stdout;
  });
  assert.match(listing, /^the films\s+100 %\u2060HOME%$/m);
  await writeFile(join(here, 'two'), 'two\n');
  const sent = await rsync(join(here, 'two'), 'nas::the films/');
  assert.equal(sent.status, 0, sent.stderr);
  assert.equal(await nas.machine.run('stat -c %u:%g /mnt/tank/films/two'), '65534:65534\n');
  const fetched = await rsync('-r', 'nas::the films/', join(here, 'copy/'));
  assert.equal(fetched.status, 0, fetched.stderr);
  assert.equal(await readFile(join(here, 'copy', 'one'), 'utf8'), 'one\n');
});

test('modes, hosts and the number of clients apply to the next connection, without a restart', async () => {
  const [module] = await nas.api.list('services/rsyncmod/');
  const change = (body: Record<string, unknown>) =>
    nas.api.expect(200, 'PUT', `services/rsyncmod/${module?.['id']}/`, { ...body });
  const pid = await nas.machine.run('systemctl show -P MainPID rsync');
  await change({ rsyncmod_mode: 'ro' });
  assert.match((await rsync(join(here, 'two'), 'nas::the films/')).stderr, /module is read only/);
  await change({ rsyncmod_mode: 'wo' });
  assert.match((await rsync('nas::the films/one', here)).stderr, /module is write only/);
  await change({ rsyncmod_mode: 'rw', rsyncmod_hostsdeny: '10.0.2.0/24' });
  assert.match((await rsync('nas::the films/')).stderr, /access denied/i);
  await change({ rsyncmod_hostsallow: '10.0.2.2' });
  assert.equal((await rsync('nas::the films/')).status, 0);
  await change({ rsyncmod_maxconn: 1, rsyncmod_auxiliary: 'exclude = one' });
  assert.doesNotMatch((await rsync('nas::the films/')).stdout, /one/);
  assert.equal(await nas.machine.run('systemctl show -P MainPID rsync'), pid);
  assert.match(await nas.machine.run('ls /run'), /holdfast-rsyncd-1\.lock/);
});

test('a line that the daemon does not know is refused and named', async () => {
  const before = await nas.machine.run('cat /etc/rsyncd.conf');
  const answer = await nas.api.put('services/rsyncd/', { rsyncd_auxiliary: 'no such parameter = 1' });
  assert.equal(answer.status, 409);
  assert.match(answer.text, /no such parameter = 1/);
  assert.equal(await nas.machine.run('cat /etc/rsyncd.conf'), before);
});

test('every accepted parameter is one that the daemon knows', async () => {
  const names = [...globalParameters, ...moduleParameters].map(
    ([name, kind]) => `${name} = ${kind === 'number' ? 1 : kind === 'flag' ? 'no' : ''}`,
  );
  await nas.machine.run(`printf '%s\\n' ${names.map((name) => `'${name}'`).join(' ')} 'log file = /tmp/names.log' 'not a name = 1' >/tmp/names.conf
    sed -i '/^daemon \\|^address/d' /tmp/names.conf
    timeout 5 rsync --daemon --no-detach --config=/tmp/names.conf --port=9873 --log-file=/tmp/names.log || true`);
  const unknown = (await nas.machine.run('cat /tmp/names.log'))
    .split('\n')
    .filter((line) => /Unknown Parameter encountered|badly formed/i.test(line));
  assert.equal(unknown.length, 1, unknown.join('\n'));
  assert.match(unknown[0] ?? '', /not a name/);
});

test('a new port restarts the daemon', async () => {
  await nas.api.expect(200, 'PUT', 'services/rsyncd/', { rsyncd_port: 8730 });
  port = 8730;
  await eventually(20, async () => assert.equal((await rsync('nas::')).status, 0));
  assert.equal((await switchTo('rsync', false))['srv_state'], 'STOPPED');
  assert.notEqual((await rsync('nas::')).status, 0);
});

// TFTP ---------------------------------------------------------------------------------------------------------------

const tftp = (...words: string[]) => runClient(['curl', '-sS', '--max-time', '10', ...words]);

test('TFTP is switched on without settings, then serves a folder with blanks in its name', async () => {
  assert.equal((await switchTo('tftp', true))['srv_state'], 'RUNNING');
  await nas.api.expect(200, 'PUT', 'services/tftp/', {
    tftp_directory: '/mnt/tank/boot files',
    tftp_options: '-v --blocksize 1024',
  });
  const fetched = await eventually(20, async () => {
    const outcome = await tftp(`tftp://${nas.machine.address}/kernel`);
    assert.equal(outcome.status, 0, outcome.stderr);
    return outcome.stdout;
  });
  assert.equal(fetched, 'kernel\n');
  assert.notEqual(
    (await tftp(`tftp://${nas.machine.address}/../../../etc/passwd`)).status,
    0,
    'nothing beyond the folder',
  );
});

test('new files are accepted when the settings allow it, with the account and the umask of the settings', async () => {
  await writeFile(join(here, 'new'), 'new\n');
  const send = () => tftp('-T', join(here, 'new'), `tftp://${nas.machine.address}:6969/new`);
  await nas.machine.run('chmod 777 "/mnt/tank/boot files"');
  await nas.api.expect(200, 'PUT', 'services/tftp/', { tftp_port: 6969, tftp_host: '10.0.2.15' });
  assert.notEqual((await send()).status, 0);
  await nas.api.expect(200, 'PUT', 'services/tftp/', {
    tftp_newfiles: true,
    tftp_umask: '027',
    tftp_username: 'daemon',
  });
  await eventually(20, async () => {
    const outcome = await send();
    assert.equal(outcome.status, 0, outcome.stderr);
  });
  assert.match(await nas.machine.run('stat -c "%U %a" "/mnt/tank/boot files/new"'), /^daemon 640$/m);
});

test('a missing folder is answered with the message of the server, which runs on unchanged', async () => {
  const answer = await nas.api.put('services/tftp/', { tftp_directory: '/mnt/tank/none' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /tftpd-hpa did not start: .*\/mnt\/tank\/none/);
  assert.equal((await nas.api.expect(200, 'GET', 'services/tftp/'))['tftp_directory'], '/mnt/tank/boot files');
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/tftp/'))['srv_state'], 'RUNNING');
  // Tried again at once, more often than systemd alone would start the server.
  for (let round = 0; round < 6; round += 1) {
    const again = await nas.api.put('services/tftp/', { tftp_directory: `/mnt/tank/none${round}` });
    assert.match(again.text, new RegExp(`tftpd-hpa did not start: .*/mnt/tank/none${round}`));
    assert.equal((await nas.api.expect(200, 'GET', 'services/services/tftp/'))['srv_state'], 'RUNNING');
  }
});

// LLDP ---------------------------------------------------------------------------------------------------------------

test('two machines on one network announce their names to one another, and one its location', async () => {
  // Bridges do not forward these frames unless configured to.
  await runClient(['ip', 'link', 'set', 'net0', 'type', 'bridge', 'group_fwd_mask', '0x4000']);
  await nas.api.expect(200, 'PUT', 'services/lldp/', {
    lldp_country: 'de',
    lldp_location: `Mary's rack`,
    lldp_intdesc: true,
  });
  assert.equal((await switchTo('lldp', true))['srv_state'], 'RUNNING');
  // In a file, which lldpd reads before it announces anything: a command beside its start could be lost.
  await far.run(`
    echo 'DAEMON_ARGS="-M 4"' >/etc/default/lldpd
    printf 'configure %s\\n' 'lldp tx-interval 2' 'system hostname far' >/etc/lldpd.d/far.conf
    systemctl start lldpd`);
  await nas.machine.run('lldpcli configure lldp tx-interval 2');
  await eventually(60, async () => {
    const seen = await far.run('lldpcli show neighbors details');
    assert.match(seen, /MgmtIP: +10\.0\.2\.15/);
    assert.match(seen, /Country: +DE/);
    assert.match(seen, /Mary's rack/);
    assert.match(await nas.machine.run('lldpcli show neighbors; ip link show vec0'), /SysName: +far[\s\S]*alias .*far/);
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
