import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { isKeptResource } from '../../src/engine/engine.ts';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const root = '/api/holdfast/v1';
let box: Appliance;

before(async () => {
  box = await appliance();
});

after(() => box?.[Symbol.asyncDispose]());

const newest = () => box.engine.revisions(1)[0]?.number ?? 0;
const revert = (number: number, query = '') => box.api.post(`${root}/revisions/${number}/revert${query}`);
const diff = async (number: number) => (await box.api.expect(200, 'GET', `${root}/revisions/${number}`))['changes'];
const job = (description: string) => ({ cron_user: 'root', cron_command: 'true', cron_description: description });
const made = async (description: string) =>
  Number((await box.api.expect(201, 'POST', 'tasks/cronjob/', job(description)))['id']);
const address = (id: number) => `tasks/cronjob/${id}/`;
const configuration = () =>
  JSON.stringify(
    box.engine.resources.filter(isKeptResource).map((one) => [one.path, [...box.engine.table(one).all()]]),
  );

test('a revision shows the fields that differ, and the comment of the client', async () => {
  const id = await made('one');
  await box.api.send(
    'PUT',
    address(id),
    { cron_description: 'two', cron_user: 'root' },
    { 'x-holdfast-comment': 'caf\u00c3\u00a9' },
  );
  const revision = await box.api.expect(200, 'GET', `${root}/revisions/${newest()}`);
  assert.equal(revision['comment'], 'caf\u00e9');
  assert.equal(revision['revertible'], true);
  assert.deepEqual(revision['changes'], [
    { resource: 'tasks/cronjob', id, what: 'updated', fields: { cron_description: { before: 'one', after: 'two' } } },
  ]);
  const [listed] = await box.api.list(`${root}/revisions?limit=1`);
  assert.equal(listed?.['comment'], 'caf\u00e9');
  const long = await box.api.send('PUT', address(id), {}, { 'x-holdfast-comment': 'x'.repeat(501) });
  assert.equal(long.status, 400);
});

test('a revert restores what a revision changed, and keeps what later revisions changed in the same record', async () => {
  const id = await made('before');
  await box.api.expect(200, 'PUT', address(id), { cron_description: 'after' });
  const changed = newest();
  await box.api.expect(200, 'PUT', address(id), { cron_command: 'false' });
  const steps = await revert(changed, '?plan=1');
  assert.ok(Array.isArray(steps.json) && steps.json.length > 0, steps.text);
  assert.equal((await box.api.expect(200, 'GET', address(id)))['cron_description'], 'after', 'a plan changes nothing');
  const answer = await revert(changed);
  assert.equal(answer.status, 200, answer.text);
  const now = await box.api.expect(200, 'GET', address(id));
  assert.deepEqual([now['cron_description'], now['cron_command']], ['before', 'false']);
  assert.ok(isObject(answer.json) && answer.json['number'] === newest());
});

test('the first password of root is not taken back, because root would have none', async () => {
  const first = box.engine.revisions(1000).find(({ title }) => title === 'set the first password of root');
  assert.ok(first !== undefined);
  const answer = await revert(first.number);
  assert.equal(answer.status, 409, answer.text);
  assert.match(answer.text, /root would have none/);
  await box.api.expect(200, 'GET', 'account/users/1/');
});

test('what a later revision changed again is refused, and the revision is named', async () => {
  const id = await made('1');
  const creation = newest();
  await box.api.expect(200, 'PUT', address(id), { cron_description: '2' });
  const second = newest();
  await box.api.expect(200, 'PUT', address(id), { cron_command: 'false' });
  await box.api.expect(200, 'PUT', address(id), { cron_description: '3' });
  const third = newest();
  const before = configuration();
  for (const query of ['', '?plan=1']) {
    const answer = await revert(second, query);
    assert.equal(answer.status, 409);
    assert.match(
      answer.text,
      new RegExp(`\\\\"cron_description\\\\" of tasks/cronjob/${id} was changed later by the revision ${third}\\.`),
    );
  }
  const creating = await revert(creation);
  assert.equal(creating.status, 409);
  assert.match(creating.text, new RegExp(`by the revisions ${second}, ${second + 1}, ${third}\\.`));
  assert.equal(configuration(), before);
  assert.equal((await revert(999_999)).status, 404);
});

test('a removed record comes back with its id and its secrets, and what the removal changed elsewhere', async () => {
  await box.api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: 'mary', bsdusr_full_name: 'Mary', bsdusr_password: 'plain as day', bsdusr_creategroup: true },
  });
  const before = configuration();
  const mary = (await box.api.list('account/users/?limit=0')).find((one) => one['bsdusr_username'] === 'mary');
  await box.api.expect(204, 'DELETE', `account/users/${mary?.['id']}/`);
  const removal = newest();
  const text = JSON.stringify(await diff(removal));
  assert.match(text, /"bsdusr_unixhash":\{"before":"\*+"\}/);
  for (const secret of [mary?.['bsdusr_unixhash'], mary?.['bsdusr_smbhash']]) assert.ok(!text.includes(String(secret)));
  box = await box.restart();
  const answer = await revert(removal);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(configuration(), before);
  assert.ok(
    (await box.host.accounts.owned()).users.some(({ name }) => name === 'mary'),
    'the account is there',
  );
});

test('random changes are reverted one by one, the last first, to where they began', async () => {
  const edits = fc.array(
    fc.oneof(
      fc.record({ what: fc.constant('create' as const), text: fc.string({ maxLength: 8 }) }),
      fc.record({ what: fc.constant('update' as const), which: fc.nat(), text: fc.string({ maxLength: 8 }) }),
      fc.record({ what: fc.constant('remove' as const), which: fc.nat() }),
    ),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(edits, async (all) => {
      const begin = configuration();
      const from = newest();
      for (const edit of all) {
        const present = await box.api.list('tasks/cronjob/?limit=0');
        const chosen = 'which' in edit ? present[edit.which % Math.max(1, present.length)]?.['id'] : undefined;
        if (edit.what === 'create') await made(edit.text);
        else if (chosen !== undefined && edit.what === 'remove')
          await box.api.expect(204, 'DELETE', address(Number(chosen)));
        else if (chosen !== undefined && edit.what === 'update')
          await box.api.expect(200, 'PUT', address(Number(chosen)), { cron_description: edit.text });
      }
      for (let number = newest(); number > from; number -= 1) {
        const answer = await revert(number);
        assert.equal(answer.status, 200, answer.text);
      }
      assert.equal(configuration(), begin);
    }),
    { numRuns: 15 },
  );
});

test('a revision that was part of what a request did to the machine is not reverted', async () => {
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  const answer = await revert(newest());
  assert.equal(answer.status, 409);
  assert.match(answer.text, /holdfast\/volumes belong to the machine/);
  assert.equal((await box.api.expect(200, 'GET', `${root}/revisions/${newest()}`))['revertible'], false);
});

test('a key reverts only what it may change itself', async () => {
  const { id: user } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('by root'));
  const revision = newest();
  const { key } = await box.api.expect(201, 'POST', `${root}/keys`, {
    name: 'reverter',
    permissions: [{ resources: ['holdfast/revisions', 'sharing/**'], verbs: ['*'] }],
  });
  const api = new Api(box.api.url, { user: 'reverter', password: String(key) });
  const answer = await api.post(`${root}/revisions/${revision}/revert`);
  assert.equal(answer.status, 403, answer.text);
  assert.equal((await box.api.get(address(Number(user)))).status, 200);
});
