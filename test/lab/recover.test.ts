import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, journal, startNas } from '../support/lab/nas.ts';

test('after the loss of its state folder the machine stays as it is, and the configuration comes back from the pool', async () => {
  await using nas = await startNas({ disks: 1 });
  const { api, machine } = nas;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'plain as day',
    bsdusr_creategroup: true,
  });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/drop', cifs_name: 'drop' });
  await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  const shares = (await api.get('sharing/cifs/')).text;
  const users = (await api.get('account/users/?limit=0')).text;
  const [newest] = await api.list('/api/holdfast/v1/revisions?limit=1');
  const number = String(newest?.['number']).padStart(8, '0');
  await eventually(60, () => machine.run(`test -f /mnt/tank/.holdfast/configuration-${number}.json`));
  assert.equal(
    await machine.run(
      'stat -c "%a %U" /mnt/tank/.holdfast /mnt/tank/.holdfast/*.json /mnt/tank/.holdfast/recovery.key | sort -u',
    ),
    '600 root\n700 root\n',
  );

  await machine.run('systemctl stop holdfast; find /var/lib/holdfast -mindepth 1 -delete');
  const before = await machine.run('getent passwd mary; sha256sum /etc/samba/holdfast/*; systemctl is-active smbd');
  await machine.run('systemctl start holdfast || true', { seconds: 200 });
  assert.match(
    await journal(machine),
    /\/etc\/holdfast\/configured shows that this machine was configured.*holdfast recover\./,
  );
  assert.equal(
    await machine.run('getent passwd mary; sha256sum /etc/samba/holdfast/*; systemctl is-active smbd'),
    before,
  );

  await machine.run('systemctl stop holdfast');
  assert.match(await machine.run('holdfast recover'), new RegExp(`configuration-${number}\\.json`));
  assert.match(await machine.run('holdfast recover restore'), /Nothing was changed/);
  await machine.run('holdfast recover restore --yes; systemctl reset-failed holdfast; systemctl start holdfast', {
    seconds: 200,
  });
  await eventually(60, async () => assert.equal((await api.get('sharing/cifs/')).text, shares));
  assert.equal((await api.get('account/users/?limit=0')).text, users);
  assert.equal(
    await machine.run('getent passwd mary; sha256sum /etc/samba/holdfast/*; systemctl is-active smbd'),
    before,
  );
});
