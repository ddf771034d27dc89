import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreError } from '../../src/store/open.ts';
import { appliance } from '../support/appliance.ts';

/** The content of all files of the state folder. */
function bytesIn(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith('holdfast.sqlite'))
    .map((entry) => readFileSync(join(folder, entry.name), 'latin1'))
    .join('');
}

test('secrets are encrypted in the database, with a key that only its owner can read', async () => {
  await using box = await appliance();
  const mary = await box.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'plain as day',
    bsdusr_creategroup: true,
  });
  const kept = bytesIn(box.folder);
  assert.ok(kept.includes('mary'), 'the record is there');
  assert.ok(!kept.includes(String(mary['bsdusr_unixhash'])));
  assert.ok(!kept.includes(String(mary['bsdusr_smbhash']).split(':')[3] ?? ''));
  assert.ok(!kept.includes('plain as day'));
  assert.equal(statSync(join(box.folder, 'secret.key')).mode & 0o777, 0o600);
});

test('revisions and the log report a changed secret without its value', async () => {
  await using box = await appliance();
  const mary = await box.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'plain as day',
    bsdusr_creategroup: true,
  });
  const revisions = (await box.api.get('/api/holdfast/v1/revisions')).text;
  for (const told of [revisions, JSON.stringify(box.log)]) {
    assert.ok(told.includes('users'));
    for (const secret of ['plain as day', String(mary['bsdusr_unixhash']), String(mary['bsdusr_smbhash'])])
      assert.ok(!told.includes(secret));
  }
  assert.ok(revisions.includes('********'));
});

test('after a restart every record exists and the ids continue', async () => {
  await using first = await appliance();
  const job = { cron_user: 'root', cron_command: 'true' };
  await first.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await first.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await first.api.expect(204, 'DELETE', 'tasks/cronjob/2/');
  const before = (await first.api.get('tasks/cronjob/')).text;
  const second = await first.restart();
  assert.equal((await second.api.get('tasks/cronjob/')).text, before);
  assert.equal((await second.api.expect(201, 'POST', 'tasks/cronjob/', job))['id'], 3);
  await second.app.close();
});

test('a state without its key is refused, not emptied', async () => {
  await using box = await appliance();
  await box.app.close();
  rmSync(join(box.folder, 'secret.key'));
  await assert.rejects(
    appliance({ folder: box.folder }),
    (error: unknown) => error instanceof Error && /key/i.test(error.message),
  );
  writeFileSync(join(box.folder, 'secret.key'), Buffer.alloc(32), { mode: 0o600 });
  await assert.rejects(appliance({ folder: box.folder }), StoreError);
});

test('an object of a client that looks like a sealed secret remains an object', async () => {
  await using first = await appliance();
  const attributes = { $sealed: 'AAAA' };
  await first.api.expect(200, 'PUT', 'account/users/1/', { bsdusr_attributes: attributes });
  const second = await first.restart();
  assert.deepEqual((await second.api.expect(200, 'GET', 'account/users/1/'))['bsdusr_attributes'], attributes);
  await second.app.close();
});
