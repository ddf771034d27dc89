import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const cron = { cron_user: 'root', cron_command: 'true' };
const keysOf = (value: unknown) => Object.keys(isObject(value) ? value : {});

test('V1: booleans are true, false, 0, 1 and the words in any letter case', async () => {
  for (const [sent, kept] of [
    [true, true],
    ['true', true],
    ['True', true],
    ['TRUE', true],
    [1, true],
    ['1', true],
    [false, false],
    ['false', false],
    ['FALSE', false],
    [0, false],
    ['0', false],
    [null, false],
  ] as const) {
    assert.equal(
      (await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_fxp: sent }))['ftp_fxp'],
      kept,
      JSON.stringify(sent),
    );
  }
});

test('V1: whole numbers are numbers or their digits, and answered as numbers', async () => {
  for (const sent of [2121, '2121', ' 2121 '])
    assert.equal((await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_port: sent }))['ftp_port'], 2121);
  for (const sent of [21.5, '21.5', 'twenty', true, [21], {}, '1e3', '0x15']) {
    const answer = await box.api.put('services/ftp/', { ftp_port: sent });
    assert.deepEqual([answer.status, keysOf(answer.json)], [409, ['ftp_port']], JSON.stringify(sent));
  }
});

test('V1: null leaves what is required alone and empties what is optional', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', {
    ...cron,
    cron_description: 'words',
    cron_stdout: null,
  });
  const record = await box.api.expect(200, 'PUT', `tasks/cronjob/${id}/`, { cron_description: null });
  assert.deepEqual([record['cron_description'], record['cron_stdout']], ['', false]);
  assert.equal((await box.api.put(`tasks/cronjob/${id}/`, { cron_command: null })).status, 409);
  await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_anonpath: '/mnt/tank' });
  for (const unset of [null, ''])
    assert.equal((await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_anonpath: unset }))['ftp_anonpath'], null);
});

test('texts take numbers as their digits and lose the blanks around them; lists take a single value', async () => {
  const record = await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_banner: '  hello  ', ftp_filemask: 177 });
  assert.deepEqual([record['ftp_banner'], record['ftp_filemask']], ['hello', '177']);
  const share = await box.api.expect(201, 'POST', 'sharing/cifs/', {
    cifs_path: '/mnt/tank/lists',
    cifs_vfsobjects: 'streams_xattr',
    cifs_guestok: 'true',
  });
  assert.deepEqual([share['cifs_vfsobjects'], share['cifs_guestok']], [['streams_xattr'], true]);
  assert.deepEqual(
    (await box.api.expect(200, 'PUT', `sharing/cifs/${share['id']}/`, { cifs_vfsobjects: null }))['cifs_vfsobjects'],
    [],
  );
});

test('V3: unknown, read-only and misspelt keys are ignored, and not echoed', async () => {
  const strange = {
    id: '99',
    pk: 7,
    pool: 'x',
    tag: [],
    mountpoint: '/x',
    avail: 1,
    comment: 'x',
    name: '',
    nonsense: { deep: [1] },
    __proto__: 1,
  };
  const created = await box.api.expect(201, 'POST', 'tasks/cronjob/', { ...cron, ...strange });
  assert.notEqual(created['id'], 99);
  assert.deepEqual(await box.api.expect(200, 'PUT', `tasks/cronjob/${created['id']}/`, strange), created);
  assert.deepEqual(await box.api.expect(200, 'GET', `tasks/cronjob/${created['id']}/`), created);
  const root = await box.api.expect(200, 'GET', 'account/users/1/');
  assert.deepEqual(
    await box.api.expect(200, 'PUT', 'account/users/1/', {
      bsdusr_builtin: false,
      bsdusr_unixhash: 'x',
      bsdusr_smbhash: 'y',
      bsdusr_owned: true,
    }),
    root,
  );
  assert.equal(
    (
      await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', {
        name: 'v3',
        used: 5,
        avail: 7,
        commentary: 'slip',
      })
    )['comments'],
    null,
  );
});

test('the answers to POST, PUT and GET are the same record, without what was only sent', async () => {
  const made = await box.api.post('account/users/', {
    bsdusr_username: 'ann',
    bsdusr_full_name: 'Ann',
    bsdusr_password: 'secret',
    bsdusr_creategroup: true,
  });
  assert.equal(made.status, 201);
  const address = `account/users/${isObject(made.json) ? made.json['id'] : ''}/`;
  assert.equal((await box.api.get(address)).text, made.text);
  assert.equal((await box.api.put(address, {})).text, made.text);
  for (const word of [
    'bsdusr_password"',
    'bsdusr_creategroup',
    'bsdusr_to_group',
    'bsdusr_mode',
    'bsdusr_owned',
    'bsdusr_groups',
  ])
    assert.ok(!made.text.includes(word), word);
});

test('B13: a PUT of one field keeps all others, and an empty one changes nothing', async () => {
  const { id, ...before } = await box.api.expect(201, 'POST', 'tasks/cronjob/', {
    ...cron,
    cron_description: 'B13',
    cron_minute: '*/5',
    cron_stderr: true,
  });
  const after_ = await box.api.expect(200, 'PUT', `tasks/cronjob/${id}/`, { cron_hour: '3' });
  assert.deepEqual(after_, { ...before, id, cron_hour: '3' });
  assert.deepEqual(await box.api.expect(200, 'PUT', `tasks/cronjob/${id}/`, {}), after_);
});

test('a field with a default is never required, and one without is named when it is missing', async () => {
  const missing = await box.api.post('tasks/cronjob/', {});
  assert.deepEqual([missing.status, keysOf(missing.json)], [409, ['cron_command', 'cron_user']]);
  for (const [path, names] of [
    ['account/users/', ['bsdusr_full_name', 'bsdusr_username']],
    ['account/groups/', ['bsdgrp_group']],
    ['sharing/cifs/', ['cifs_path']],
  ] as const) {
    const answer = await box.api.post(path, {});
    assert.equal(answer.status, 409, path);
    for (const name of names) assert.ok(keysOf(answer.json).includes(name), `${path} ${name}`);
  }
  assert.deepEqual((await box.api.post('storage/volume/tank/datasets/', {})).json, {
    name: ['This field is required.'],
  });
});

test('everything that is wrong is told in one answer: values, missing fields, the machine and the rules', async () => {
  const answer = await box.api.post('account/users/', {
    bsdusr_username: '-bad',
    bsdusr_uid: 'x',
    bsdusr_shell: '/no/shell',
    bsdusr_group: 99999,
    bsdusr_email: 'nobody',
  });
  assert.equal(answer.status, 409);
  assert.deepEqual(keysOf(answer.json), [
    'bsdusr_email',
    'bsdusr_full_name',
    'bsdusr_group',
    'bsdusr_shell',
    'bsdusr_uid',
    'bsdusr_username',
  ]);
  for (const sentences of Object.values(Object(answer.json)))
    assert.ok(Array.isArray(sentences) && sentences.length > 0 && sentences.every((one) => typeof one === 'string'));
});

test('a body that is no JSON is a 400 with a sentence, and so is none where one is needed', async () => {
  for (const [method, path] of [
    ['POST', 'tasks/cronjob/'],
    ['PUT', 'services/ftp/'],
    ['POST', 'storage/volume/'],
    ['POST', 'storage/volume/tank/datasets/'],
    ['POST', 'account/users/1/groups/'],
    ['POST', 'account/users/1/password/'],
  ] as const) {
    for (const body of ['{bad', '', '{"a":1,}', "{'a':1}", '\u0000', '{"a":1}{}']) {
      const answer = await box.api.send(method, path, body);
      assert.equal(answer.status, 400, `${method} ${path} ${body}`);
      assert.match(answer.text, /^{"error":".+"}$/);
    }
  }
});

test('a body that is JSON but no object is told so', async () => {
  for (const body of ['[]', '"text"', '5', 'null', 'true']) {
    const answer = await box.api.send('POST', 'tasks/cronjob/', body);
    assert.deepEqual([answer.status, keysOf(answer.json)], [409, ['__all__']], body);
  }
  assert.deepEqual(keysOf((await box.api.send('POST', 'account/users/1/groups/', '{}')).json), ['__all__']);
});

test('a body of another type is a 400 with error_message, and counts only when there is one', async () => {
  for (const type of [
    'text/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
  ]) {
    const answer = await box.api.send('POST', 'tasks/cronjob/', 'a=b', { 'content-type': type });
    assert.equal(answer.status, 400, type);
    assert.match(answer.text, /^{"error_message":".+"}$/);
  }
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', cron);
  assert.equal(
    (await box.api.send('POST', `tasks/cronjob/${id}/run/`, undefined, { 'content-type': 'text/plain' })).status,
    202,
  );
  assert.equal(
    (await box.api.send('DELETE', `tasks/cronjob/${id}/`, undefined, { 'content-type': 'text/plain' })).status,
    204,
  );
});

test('the body of a DELETE that means something must be JSON', async () => {
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'short',
    layout: [{ vdevtype: 'stripe', disks: ['ada1'] }],
  });
  const { id } = await box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'short' });
  for (const path of ['storage/volume/short/', `account/groups/${id}/`]) {
    assert.match((await box.api.send('DELETE', path, '{bad')).text, /^{"error":"/, path);
    assert.equal((await box.api.get(path)).status, 200, 'it is still there');
    assert.equal((await box.api.send('DELETE', path, { cascade: true })).status, 204, path);
  }
});

test('what is missing is told in the form of its place', async () => {
  const told = async (method: string, path: string, body?: unknown) => {
    const { status, text } = await box.api.send(method, path, body);
    assert.equal(status, 404, `${method} ${path}`);
    return text.startsWith('{"error_message":"') ? 'error_message' : text;
  };
  for (const path of [
    'tasks/cronjob/77777/',
    'tasks/cronjob/word/',
    'sharing/cifs/0/',
    'storage/volume/none/',
    'services/services/none/',
    'storage/disk/none/',
  ])
    assert.equal(await told('GET', path), '', path);
  assert.equal(await told('PUT', 'tasks/cronjob/77777/', {}), '"Object not found"');
  assert.equal(await told('PUT', 'tasks/cronjob/word/', {}), '"Object not found"');
  assert.equal(await told('DELETE', 'tasks/cronjob/77777/'), 'error_message');
  assert.equal(await told('DELETE', 'storage/volume/none/'), 'error_message');
  for (const path of [
    'storage/dataset/tank/none/',
    'storage/volume/tank/datasets/none/',
    'storage/volume/none/datasets/',
  ])
    assert.equal(await told('GET', path), 'error_message', path);
  assert.equal(await told('DELETE', 'storage/dataset/tank/none/'), 'error_message');
  for (const [method, path] of [
    ['POST', 'tasks/cronjob/77777/run/'],
    ['POST', 'storage/volume/none/scrub/'],
    ['DELETE', 'storage/volume/none/scrub/'],
    ['GET', 'storage/volume/none/status/'],
    ['POST', 'account/users/77777/password/'],
    ['GET', 'account/users/77777/groups/'],
  ] as const)
    assert.equal(
      await told(method, path, method === 'POST' ? { bsdusr_password: 'x' } : undefined),
      '',
      `${method} ${path}`,
    );
});

test('hand-made paths answer 400 where ordinary ones answer 409, in the same form', async () => {
  assert.equal((await box.api.post('storage/volume/', {})).status, 409);
  assert.equal((await box.api.put('services/ftp/', { ftp_port: 0 })).status, 409);
  for (const [path, body, name] of [
    ['storage/volume/tank/datasets/', { name: '/x' }, 'name'],
    ['storage/dataset/tank/', { name: '-x' }, 'name'],
    ['account/users/1/password/', { bsdusr_password: '' }, 'bsdusr_password'],
    ['account/users/1/password/', {}, 'bsdusr_password'],
  ] as const) {
    const answer = await box.api.post(path, body);
    assert.deepEqual([answer.status, keysOf(answer.json)], [400, [name]], path);
  }
  assert.match((await box.api.post('storage/dataset/', { name: 'x' })).text, /^".+"$/);
});

test('a failure of the machine is a 400 with its own words, and nothing has changed', async () => {
  const before_ = (await box.api.get('services/cifs/')).text;
  const answer = await box.api.put('services/cifs/', {
    cifs_srv_smb_options: 'no such option = x\nmax log size = many',
  });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /^{"error_message":".+"}$/);
  assert.equal((await box.api.get('services/cifs/')).text, before_);
});

test('B11: DELETE on a collection empties it, whatever its body says', async () => {
  for (const name of ['one', 'two', 'three'])
    await box.api.expect(201, 'POST', 'tasks/cronjob/', { ...cron, cron_description: name });
  assert.equal((await box.api.send('DELETE', 'tasks/cronjob/', { cron_description: 'one' })).status, 204);
  assert.equal((await box.api.get('tasks/cronjob/')).text, '[]');
  assert.equal((await box.api.send('DELETE', 'tasks/cronjob/')).status, 204);
});

test('emptying a collection that has records which stay removes none', async () => {
  const before_ = (await box.api.get('account/users/?limit=0')).text;
  const answer = await box.api.delete('account/users/');
  assert.equal(answer.status, 400);
  assert.match(answer.text, /^{"error_message":"/);
  assert.equal((await box.api.get('account/users/?limit=0')).text, before_);
});

test('masks are answered as the octal digits they were sent as, and schedules as their text', async () => {
  assert.equal((await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_filemask: '022' }))['ftp_filemask'], '022');
  const job = await box.api.expect(201, 'POST', 'tasks/cronjob/', {
    ...cron,
    cron_minute: '00',
    cron_hour: '03',
    cron_dayweek: [1, 2],
    cron_month: '1,2,3,4,5,6,7,8,9,10,11,12',
  });
  assert.deepEqual(
    [job['cron_minute'], job['cron_hour'], job['cron_dayweek'], job['cron_month']],
    ['00', '03', '1,2', '*'],
  );
});
