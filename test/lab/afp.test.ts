import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AfpClient } from '../support/lab/afp.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';

/** One machine for the file: each statement stands on what the earlier ones made, as it does for its owner. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 1 });
  await nas.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }] });
  await nas.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const client = () => AfpClient.connect(nas.machine.address);

test('the server tells who it is, and lets guests in when it is told to', async () => {
  const methods = await eventually(60, async () => {
    using session = await client();
    return (await session.status()).methods;
  });
  assert.deepEqual(methods, ['DHX2']);
  await nas.api.expect(200, 'PUT', 'services/afp/', { afp_srv_guest: true });
  await eventually(60, async () => {
    using session = await client();
    assert.ok((await session.status()).methods.includes('No User Authent'));
  });
});

test('the server has the shares that were made, and stops when it is switched off', async () => {
  await nas.api.expect(201, 'POST', 'sharing/afp/', { afp_path: '/mnt/tank/media', afp_name: 'My Media' });
  assert.match(await nas.machine.run('cat /etc/netatalk/afp.conf'), /^\[My Media\]$/m);
  assert.equal((await nas.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: false }))['srv_state'], 'STOPPED');
  await assert.rejects(client());
});
