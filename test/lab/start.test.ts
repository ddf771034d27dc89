import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';

/** Restarts the daemon without waiting for the start to end. */
const restart = (nas: Nas) => nas.machine.run('systemctl stop holdfast; systemctl start --no-block holdfast');

const property = async (nas: Nas, name: string) => (await nas.machine.run(`systemctl show -P ${name} holdfast`)).trim();

test('a start that takes longer than systemd’s limit goes on while it makes progress, and reports what it waits for', async () => {
  await using nas = await startNas({ disks: 0 });
  await nas.api.expect(200, 'PUT', 'services/services/lldp/', { srv_enable: true });
  // The daemon has to start a service that takes 30 s to start.
  await nas.machine.run(`
    mkdir -p /etc/systemd/system/lldpd.service.d /etc/systemd/system/holdfast.service.d
    printf '[Service]\\nExecStartPre=/bin/sleep 30\\n' >/etc/systemd/system/lldpd.service.d/slow.conf
    printf '[Service]\\nTimeoutStartSec=20\\n' >/etc/systemd/system/holdfast.service.d/short.conf
    systemctl daemon-reload
    systemctl stop lldpd.service`);
  await restart(nas);

  const readiness = await eventually(20, async () => {
    const answer = await nas.api.get('/readyz');
    assert.match(answer.text, /configuring lldp/);
    return answer;
  });
  assert.equal(readiness.status, 503);
  assert.deepEqual((await nas.api.get('/healthz')).json, { status: 'alive' });
  assert.equal((await nas.api.get('account/users/')).status, 200);
  const held = await nas.api.post('account/groups/', { bsdgrp_group: 'team' });
  assert.deepEqual([held.status, held.headers.get('retry-after')], [503, '5'], held.text);
  assert.equal(await property(nas, 'ActiveState'), 'activating');
  await eventually(20, async () =>
    assert.match(await property(nas, 'StatusText'), /^Starting: configuring lldp, \d+ of \d+$/),
  );

  await eventually(
    60,
    async () => assert.equal(await property(nas, 'ActiveState'), 'active'),
    () => journal(nas.machine),
  );
  assert.equal(await property(nas, 'StatusText'), 'Serving');
  assert.equal(await property(nas, 'NRestarts'), '0');
  assert.equal((await nas.machine.run('systemctl is-active lldpd')).trim(), 'active');
  assert.equal((await nas.api.get('/readyz')).status, 200);
  await nas.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });
});

test('a pool that takes long to import delays neither the API nor a share on another pool', async () => {
  await using nas = await startNas({ disks: 2 });
  for (const [name, disk] of [
    ['slow', 'ubdc'],
    ['tank', 'ubdd'],
  ]) {
    await nas.api.expect(201, 'POST', 'storage/volume/', {
      volume_name: name,
      layout: [{ vdevtype: 'stripe', disks: [disk] }],
    });
    await nas.api.expect(201, 'POST', 'sharing/cifs/', {
      cifs_path: `/mnt/${name}/share`,
      cifs_name: `on-${name}`,
      cifs_guestok: true,
    });
  }
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  const [slow] = await nas.api.list('storage/volume/');
  assert.ok(isObject(slow) && slow['vol_name'] === 'slow');
  // A zpool in front of the machine's own, which imports this pool only once it may.
  await nas.machine.run(`
    systemctl stop holdfast
    zpool export slow; zpool export tank
    printf '#!/bin/sh\\ncase "$*" in import*%s*) until [ -e /run/slow ]; do sleep 1; done;; esac\\nexec /usr/sbin/zpool "$@"\\n' '${String(slow['vol_guid'])}' >/usr/local/sbin/zpool
    chmod +x /usr/local/sbin/zpool`);
  await nas.machine.run('systemctl start holdfast');

  const imports = async () => {
    const { status, text } = await nas.api.get('/readyz');
    assert.deepEqual([status, text], [503, '{"status":"starting","what":"importing slow, 1 of 2"}']);
  };
  await eventually(20, imports);
  await nas.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });
  const shares = () => nas.machine.run('testparm -s 2>/dev/null | grep "^.on-"; true');
  assert.equal(await shares(), '[on-tank]\n');
  // It still waits for the pool: nothing above did.
  await imports();

  await nas.machine.run('touch /run/slow');
  await eventually(90, async () => assert.equal((await nas.api.get('/readyz')).status, 200));
  await eventually(20, async () => assert.equal(await shares(), '[on-slow]\n[on-tank]\n'));
  await eventually(20, async () => assert.equal(await property(nas, 'StatusText'), 'Serving'));
});
