import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'media', cifs_path: '/mnt/tank/media' });
});

after(() => box?.[Symbol.asyncDispose]());

/** Records of each kind, with a text that clients append to. */
const places = [
  { path: 'sharing/cifs/1/', field: 'cifs_comment' },
  { path: 'services/snmp/', field: 'snmp_location' },
  { path: 'storage/volume/tank/datasets/media/', field: 'comments' },
] as const;

describe('no update is lost between clients that send If-Match', () => {
  for (const { path, field } of places)
    test(path, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
          async (clients) => {
            assert.ok((await box.api.put(path, { [field]: '' })).status < 300);
            // Each client appends its words one by one. After a refusal it goes on from the record that the answer shows.
            const written = await Promise.all(
              clients.map(async (pauses, client) => {
                const words: string[] = [];
                for (const [index, pause] of pauses.entries()) {
                  let read = await box.api.get(path);
                  for (;;) {
                    await new Promise((resolve) => setTimeout(resolve, pause));
                    const word = `-${client}${index}`;
                    const text = `${String(Object(read.json)[field])}${word}`;
                    const answer = await box.api.send(
                      'PUT',
                      path,
                      { [field]: text },
                      { 'if-match': read.headers.get('etag') ?? '' },
                    );
                    words.push(...(answer.status < 300 ? [word] : []));
                    if (answer.status < 300) break;
                    assert.equal(answer.status, 412, answer.text);
                    read = answer;
                  }
                }
                return words;
              }),
            );
            const last = String((await box.api.get(path)).json && Object((await box.api.get(path)).json)[field]);
            assert.deepEqual(last.match(/-\d+/g)?.toSorted(), written.flat().toSorted());
          },
        ),
        { numRuns: 15, seed: 20 },
      );
    });
});

test('a tag is the same after a restart, and tells nothing that could be guessed from it', async () => {
  const paths = ['sharing/cifs/1/', 'account/users/1/', 'services/snmp/', 'tasks/cronjob/?limit=0'];
  const tags = async () => await Promise.all(paths.map(async (path) => (await box.api.get(path)).headers.get('etag')));
  const before = await tags();
  box = await box.restart();
  assert.deepEqual(await tags(), before);
  // Records have secrets, so the same content has another tag on another appliance.
  await using other = await appliance();
  assert.notEqual((await other.api.get('services/snmp/')).headers.get('etag'), before[2]);
});

test('a list is removed as a whole only while it is what was read', async () => {
  await box.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  const read = await box.api.get('tasks/cronjob/?limit=0');
  await box.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'false' });
  const match = { 'if-match': read.headers.get('etag') ?? '' };
  const refused = await box.api.send('DELETE', 'tasks/cronjob/', undefined, match);
  assert.equal(refused.status, 412, refused.text);
  const now = await box.api.get('tasks/cronjob/?limit=0');
  const removed = await box.api.send('DELETE', 'tasks/cronjob/', undefined, {
    'if-match': now.headers.get('etag') ?? '',
  });
  assert.equal(removed.status, 204);
});

test('data that is written between a read and a change does not refuse the change', async () => {
  const path = 'storage/volume/tank/datasets/media/';
  const read = await box.api.get(path);
  await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'disk', volsize: '10M' });
  assert.notEqual((await box.api.get(path)).headers.get('etag'), read.headers.get('etag'));
  const changed = await box.api.send('PUT', path, { comments: 'b' }, { 'if-match': read.headers.get('etag') ?? '' });
  assert.ok([200, 201].includes(changed.status), changed.text);
});
