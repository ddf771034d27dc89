import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(async () => {
  await box?.[Symbol.asyncDispose]();
});

const shares = 'sharing/afp';

async function problems(
  body: object,
  path = `${shares}/`,
  verb: 'post' | 'put' = 'post',
): Promise<Readonly<Record<string, readonly string[]>>> {
  const answer = await box.api[verb](path, body);
  assert.equal(answer.status, 409, answer.text);
  return JSON.parse(answer.text);
}

test('a share is made, changed and deleted, and its folder is made', async () => {
  const made = await box.api.expect(201, 'POST', `${shares}/`, { afp_path: '/mnt/tank/media', afp_upriv: 'true' });
  assert.deepEqual(
    [made['afp_name'], made['afp_fperm'], made['afp_dperm'], made['afp_umask'], made['afp_upriv']],
    ['media', '644', '755', '000', true],
  );
  assert.equal(await box.host.files.kind('/mnt/tank/media'), 'folder');
  const changed = await box.api.expect(200, 'PUT', `${shares}/${made['id']}/`, {
    afp_comment: 'Media',
    afp_timemachine: true,
  });
  assert.deepEqual([changed['afp_comment'], changed['afp_name'], changed['afp_timemachine']], ['Media', 'media', true]);
  assert.match(String(await box.host.files.read('/etc/netatalk/afp.conf')), /\[media\]\n[^[]*time machine = yes/);
  assert.equal((await box.api.delete(`${shares}/${made['id']}/`)).status, 204);
  assert.doesNotMatch(String(await box.host.files.read('/etc/netatalk/afp.conf')), /\[media\]/);
});

test('B11: the collection is emptied', async () => {
  for (const name of ['a', 'b']) await box.api.expect(201, 'POST', `${shares}/`, { afp_path: `/mnt/tank/${name}` });
  assert.equal((await box.api.delete(`${shares}/`)).status, 204);
  assert.deepEqual(await box.api.list(`${shares}/`), []);
});

test('what cannot be served is told by its field', async () => {
  await box.api.expect(201, 'POST', `${shares}/`, { afp_path: '/mnt/tank/homes', afp_home: true });
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/x', afp_name: 'HOMES' }), {
    afp_name: ['A share with this name already exists.', 'The name Homes is reserved for the home share (afp_home).'],
  });
  // The name of the folder, which is taken, is not what was sent.
  await box.api.expect(201, 'POST', `${shares}/`, { afp_path: '/mnt/tank/films' });
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/old/films', afp_name: 'x]' }), {
    afp_name: [`Expected a share name without the characters ; # " ' \\ $ : / = [ ], got "]".`],
  });
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/homes', afp_name: 'other' }), {
    afp_path: ['Another AFP share already serves this path.'],
  });
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/x', afp_home: true, afp_name: 'y' }), {
    afp_home: ['Only one share can be the home share: "Homes" already is.'],
  });
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/x;y', afp_name: 'z' }), {
    afp_path: [`Expected a path without the characters ; # " ' \\ $, which afp.conf cannot hold, got ";".`],
  });
  assert.deepEqual(Object.keys(await problems({ afp_path: '/mnt/tank/x]' })), ['afp_name']);
  assert.deepEqual(
    Object.keys(
      await problems({ afp_path: '/mnt/tank/x', afp_allow: 'mary;', afp_hostsdeny: 'a.example.com', afp_fperm: '888' }),
    ).sort(),
    ['afp_allow', 'afp_fperm', 'afp_hostsdeny'],
  );
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/x', afp_auxparams: 'spotlight = no\nfollow symlinks' }), {
    afp_auxparams: ['Expected "name = value", got "follow symlinks".'],
  });
  assert.deepEqual(await problems({ afp_path: '/mnt/tank/x', afp_auxparams: 'zeroconf = no' }), {
    afp_auxparams: ['"zeroconf" is not a setting of netatalk in this section.'],
  });
  await box.api.delete(`${shares}/`);
});

test('the settings have their rules, and the service its switch', async () => {
  const settings = await box.api.expect(200, 'PUT', 'services/afp/', {
    afp_srv_bindip: '192.0.2.7',
    afp_srv_guest: true,
  });
  assert.deepEqual(
    [settings['afp_srv_bindip'], settings['afp_srv_guest'], settings['afp_srv_connections_limit']],
    [['192.0.2.7'], true, 50],
  );
  assert.deepEqual(await problems({ afp_srv_guest_user: 'root' }, 'services/afp/', 'put'), {
    afp_srv_guest_user: ['Expected an account other than root.'],
  });
  assert.deepEqual(
    Object.keys(
      await problems({ afp_srv_connections_limit: 0, afp_srv_global_aux: '[other]' }, 'services/afp/', 'put'),
    ).sort(),
    ['afp_srv_connections_limit', 'afp_srv_global_aux'],
  );
  assert.equal(
    (await box.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  await box.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: false });
});
