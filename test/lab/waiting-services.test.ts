import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, startNas } from '../support/lab/nas.ts';

test('smartd without a disk and iSCSI without a target are on, and not reported as running', async () => {
  await using nas = await startNas({ disks: 0 });
  assert.deepEqual(await nas.api.list('storage/disk/'), []);
  for (const service of ['smartd', 'iscsitarget']) {
    const { srv_enable, srv_state } = await nas.api.expect(200, 'PUT', `services/services/${service}/`, {
      srv_enable: true,
    });
    assert.deepEqual([srv_enable, srv_state], [true, 'STOPPED'], service);
  }
  // A portal, a target and what joins them are what iSCSI works on.
  const portal = await nas.api.expect(201, 'POST', 'services/iscsi/portal/', {
    iscsi_target_portal_ips: ['0.0.0.0:3260'],
  });
  const target = await nas.api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 't' });
  await nas.api.expect(201, 'POST', 'services/iscsi/targetgroup/', {
    ...{ iscsi_target: target['id'], iscsi_target_portalgroup: portal['id'] },
  });
  await eventually(60, async () => {
    const { srv_state } = await nas.api.expect(200, 'GET', 'services/services/iscsitarget/');
    assert.equal(srv_state, 'RUNNING');
  });
});
