import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AfpClient, afpErrors } from '../support/lab/afp.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { addressOn } from '../support/lab/network.ts';

/** One machine for the file: each statement stands on what the earlier ones made, as it does for its owner. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 1 });
  await nas.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }] });
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'secret',
    bsdusr_creategroup: true,
    bsdusr_shell: '/bin/sh',
  });
  await nas.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const client = () => AfpClient.connect(nas.machine.address);

/** The volumes that a guest, or an account, is shown. */
async function shown(account?: { readonly name: string; readonly password: string }): Promise<readonly string[]> {
  using session = await client();
  assert.equal(await session.login(account), afpErrors.none);
  return session.volumes();
}

const mary = { name: 'mary', password: 'secret' };

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

test('a share is there as soon as it is made, by its own name, and takes a file', async () => {
  await nas.api.expect(201, 'POST', 'sharing/afp/', { afp_path: '/mnt/tank/media', afp_name: 'My Media' });
  await nas.machine.run('chmod 777 /mnt/tank/media');
  assert.deepEqual(await eventually(60, () => shown()), ['My Media']);
  using session = await client();
  assert.equal(await session.login(), afpErrors.none);
  const { code, id } = await session.open('My Media');
  assert.equal(code, afpErrors.none);
  assert.equal(await session.create(id, 'ein Schlüssel'), afpErrors.none);
  assert.equal((await nas.machine.run('stat -c %U "/mnt/tank/media/ein Schlüssel"')).trim(), 'nobody');
});

test('who may only read is refused a file', async () => {
  const [share] = await nas.api.list('sharing/afp/');
  await nas.api.expect(200, 'PUT', `sharing/afp/${share?.['id']}/`, { afp_ro: 'nobody' });
  await eventually(60, async () => {
    using session = await client();
    assert.equal(await session.login(), afpErrors.none);
    assert.equal(await session.create((await session.open('My Media')).id, `refused ${Date.now()}`), afpErrors.volumeLocked);
  });
});

test('lines of the owner reach the server: a password in the clear logs in, a wrong one does not', async () => {
  await nas.api.expect(200, 'PUT', 'services/afp/', { afp_srv_global_aux: 'uam list = uams_clrtxt.so uams_guest.so uams_dhx2.so' });
  await nas.api.expect(201, 'POST', 'sharing/afp/', { afp_path: '/mnt/tank/hers', afp_allow: 'mary', afp_timemachine: true });
  await eventually(60, async () => assert.deepEqual([...(await shown(mary))].sort(), ['My Media', 'hers']));
  assert.deepEqual(await shown(), ['My Media'], 'a guest is not shown what is hers');
  using session = await client();
  assert.equal(await session.login({ ...mary, password: 'guessed' }), afpErrors.notAuthenticated);
});

test('a host that is denied is not shown the share', async () => {
  const share = (await nas.api.list('sharing/afp/')).find((one) => one['afp_name'] === 'My Media');
  await nas.api.expect(200, 'PUT', `sharing/afp/${share?.['id']}/`, { afp_hostsdeny: addressOn(0, 2) });
  await eventually(60, async () => assert.deepEqual(await shown(mary), ['hers']));
});

test('a share that is deleted is gone, and the service stops when it is switched off', async () => {
  await nas.api.delete('sharing/afp/');
  await eventually(60, async () => assert.deepEqual(await shown(mary), []));
  assert.equal((await nas.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: false }))['srv_state'], 'STOPPED');
  await assert.rejects(client());
});
