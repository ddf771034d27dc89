/** A request with the token of its plan is refused when it would do something else by then. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;
const token = 'x-holdfast-plan';

before(async () => {
  box = await appliance();
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  for (const name of ['media', 'work']) await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
});

after(() => box[Symbol.asyncDispose]());

async function planned(method: string, path: string, body?: object): Promise<string> {
  const answer = await box.api.send('POST', '/api/holdfast/v1/plan', { method, path, ...(body && { body }) });
  assert.equal(answer.status, 200, answer.text);
  return answer.headers.get(token) ?? '';
}

const destroy = { destroy: true, cascade: true };

test('the token of a plan is the same as long as nothing of it changes', async () => {
  const first = await planned('DELETE', 'storage/volume/tank/', destroy);
  assert.match(first, /^[\w-]{43}$/);
  await box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });
  assert.equal(await planned('DELETE', 'storage/volume/tank/', destroy), first);
  assert.notEqual(await planned('DELETE', 'storage/dataset/tank/media/'), first);
});

test('a pool is not destroyed with the token of a plan from before a share, a snapshot or a dataset', async () => {
  const makes: readonly (readonly [string, object])[] = [
    ['sharing/cifs/', { cifs_path: '/mnt/tank/media' }],
    ['storage/snapshot/', { dataset: 'tank/work', name: 'monday' }],
    ['storage/volume/tank/datasets/', { name: 'later' }],
  ];
  for (const [path, body] of makes) {
    const old = await planned('DELETE', 'storage/volume/tank/', destroy);
    await box.api.expect(201, 'POST', path, body);
    const answer = await box.api.send('DELETE', 'storage/volume/tank/', destroy, { [token]: old });
    assert.equal(answer.status, 412, path);
    assert.match(answer.text, /X-Holdfast-Plan names: something has changed meanwhile\. Nothing was done\./);
    await box.api.expect(200, 'GET', 'storage/volume/tank/');
  }
});

test('a rollback is refused when a newer snapshot was made since its plan, and a program reads why by the code', async () => {
  const body = { force: true };
  const old = await planned('POST', 'storage/snapshot/tank/work@monday/rollback/', body);
  await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/work', name: 'friday' });
  const headers = { [token]: old, accept: 'application/problem+json' };
  const answer = await box.api.send('POST', 'storage/snapshot/tank/work@monday/rollback/', body, headers);
  assert.deepEqual(
    [answer.status, JSON.parse(answer.text).code, JSON.parse(answer.text).help],
    [412, 'changed', { method: 'POST', path: '/api/holdfast/v1/plan' }],
  );
  assert.equal((await box.api.list('storage/snapshot/?limit=0')).length, 2);
});

test('with the token of the present plan the request is carried out, and any request can have one', async () => {
  const body = { cron_user: 'root', cron_command: 'true' };
  const made = await box.api.send('POST', 'tasks/cronjob/', body, {
    [token]: await planned('POST', 'tasks/cronjob/', body),
  });
  assert.equal(made.status, 201, made.text);
  const own = await planned('DELETE', 'storage/volume/tank/', destroy);
  const gone = await box.api.send('DELETE', 'storage/volume/tank/', destroy, { [token]: own });
  assert.equal(gone.status, 204, gone.text);
});
