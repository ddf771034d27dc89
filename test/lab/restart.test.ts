import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, journal, startNas, untilReady } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

test('after a restart of the machine everything is served again, and the start and shutdown scripts have run', async () => {
  await using nas = await startNas({ disks: 2, lasting: true });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/drop', cifs_guestok: true });
  await nas.machine.run('chown nobody: /mnt/tank/drop');
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  const note = (moment: string) => ({
    ini_when: moment,
    ini_command: `systemctl is-active smbd >/mnt/tank/${moment}; true`,
  });
  for (const moment of ['preinit', 'postinit', 'shutdown'])
    await nas.api.expect(201, 'POST', 'tasks/initshutdown/', note(moment));
  await nas.api.expect(201, 'POST', 'tasks/initshutdown/', { ini_when: 'preinit', ini_command: 'exit 1' });
  const put = await eventually(20, async () => {
    const outcome = await runClient([
      'smbclient',
      `//${nas.machine.address}/drop`,
      '-N',
      '-c',
      'put /etc/hostname greeting',
    ]);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    return outcome;
  });
  assert.equal(put.status, 0);

  await nas.machine.reboot();
  await untilReady(nas.api);

  await eventually(60, async () => assert.equal((await nas.api.list('sharing/cifs/')).length, 1));
  const got = await eventually(30, async () => {
    const outcome = await runClient(['smbclient', `//${nas.machine.address}/drop`, '-N', '-c', 'get greeting -']);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    return outcome;
  });
  assert.ok(got.stdout.includes((await runClient(['cat', '/etc/hostname'])).stdout.trim()));
  // The shell makes each file before the program in it has ended.
  await eventually(60, async () => {
    const seen = await nas.machine.run('cat /mnt/tank/shutdown /mnt/tank/preinit /mnt/tank/postinit');
    assert.equal(seen, 'active\ninactive\nactive\n');
  });
  const drift = (await nas.api.list('/api/holdfast/v1/drift')).filter(
    (report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]',
  );
  assert.deepEqual(drift, [], await journal(nas.machine));
});
