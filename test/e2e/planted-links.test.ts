import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

/** A share to which every account may write, with links to a folder that is not theirs. */
let box: Appliance;
let volume: string;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  volume = join(box.folder, 'virtual/root/mnt/tank');
  for (const name of ['share', 'secret', 'share/own']) mkdirSync(join(volume, name));
  symlinkSync('../secret', join(volume, 'share/link'));
  symlinkSync('/', join(volume, 'share/machine'));
  writeFileSync(join(volume, 'share/own/script'), '#!/bin/sh\n');
});

beforeEach(() => {
  chmodSync(join(volume, 'secret'), 0o700);
  chmodSync(join(volume, 'share'), 0o777);
  chmodSync(join(volume, 'share/own'), 0o755);
  chmodSync(join(volume, 'share/own/script'), 0o755);
});

after(() => box?.[Symbol.asyncDispose]());

test('permissions are not set through a link', async () => {
  for (const mp_path of ['/mnt/tank/share/link', '/mnt/tank/share/machine/mnt/tank/secret']) {
    for (const mp_recursive of [false, true]) {
      const answer = await box.api.put('storage/permission/', {
        mp_path,
        mp_acl: 'unix',
        mp_mode: '777',
        mp_user_en: false,
        mp_group_en: false,
        mp_recursive,
      });
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, /link/);
    }
  }
  assert.equal(statSync(join(volume, 'secret')).mode & 0o777, 0o700);
});

test('a home is neither made nor given away through a link', async () => {
  for (const home of ['/mnt/tank/share/link', '/mnt/tank/share/link/eve']) {
    const answer = await box.api.post('account/users/', {
      bsdusr_username: home.endsWith('eve') ? 'eve' : 'link',
      bsdusr_full_name: 'Eve',
      bsdusr_password: 'her password',
      bsdusr_creategroup: true,
      bsdusr_home: home,
    });
    assert.ok(answer.status === 400 || answer.status === 409, answer.text);
    assert.match(answer.text, /is a link/);
  }
  assert.deepEqual(readdirSync(join(volume, 'secret')), []);
  assert.equal(statSync(join(volume, 'secret')).mode & 0o777, 0o700);
});

test('an export, an rsync module and a script of the start are refused behind a link and in a folder of others', async () => {
  for (const [path, problem] of [
    ['/mnt/tank/share/link', /(share\/link\\" is a link)|(may write to \\"\/mnt\/tank\/share\\")/],
    ['/mnt/tank/share/own', /Accounts other than root may write to \\"\/mnt\/tank\/share\\"/],
  ] as const) {
    const answers = [
      await box.api.post('sharing/nfs/', { nfs_paths: [path] }),
      await box.api.post('services/rsyncmod/', { rsyncmod_name: 'one', rsyncmod_path: path }),
    ];
    for (const { status, text } of answers) {
      assert.equal(status, 409, text);
      assert.match(text, problem);
    }
  }
  const script = { ini_type: 'script', ini_script: '/mnt/tank/share/own/script', ini_when: 'postinit' };
  assert.match((await box.api.post('tasks/initshutdown/', script)).text, /may write to \\"\/mnt\/tank\/share\\"/);
  chmodSync(join(volume, 'share'), 0o755);
  chmodSync(join(volume, 'share/own/script'), 0o757);
  assert.match(
    (await box.api.post('tasks/initshutdown/', script)).text,
    /may write to \\"\/mnt\/tank\/share\/own\/script/,
  );
  chmodSync(join(volume, 'share/own/script'), 0o755);
  await box.api.expect(201, 'POST', 'tasks/initshutdown/', script);
  assert.match((await box.api.post('sharing/nfs/', { nfs_paths: ['/mnt/tank/share/link'] })).text, /is a link/);
  await box.api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/share/own'] });
});

test('folders are not listed through a link', async () => {
  const list = (path: string) => box.api.get(`/api/holdfast/v1/folders?path=${path}`);
  for (const path of ['share/link', 'share/machine', 'share/machine/etc', 'share/machine/mnt/tank/secret']) {
    const answer = await list(`/mnt/tank/${path}`);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /link|it is not in/);
  }
  const listed = await box.api.list('/api/holdfast/v1/folders?path=/mnt/tank/share');
  assert.equal(
    listed.find(({ path }) => /link|machine/.test(String(path))),
    undefined,
  );
});
