/** Datasets and zvols with keys of their own: what clients of either interface see of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import type { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { at } from '../support/description.ts';

const root = '/api/holdfast/v1/encryption';
const words = 'open sesame';

async function boxWith(volume: object = {}): Promise<Appliance> {
  const box = await appliance();
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout, ...volume });
  return box;
}

const act = (api: Api, action: string, body: object) =>
  api.post(`${root}/${action}`, { dataset: 'tank/docs', ...body });

async function refused(api: Api, action: string, body: object, message: RegExp): Promise<void> {
  const answer = await act(api, action, body);
  assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`);
  assert.match(answer.text, message);
}

async function done(api: Api, action: string, body: object = {}): Promise<Readonly<Record<string, unknown>>> {
  const answer = await act(api, action, body);
  assert.ok(answer.status === 200 || answer.status === 201, answer.text);
  assert.ok(isObject(answer.json));
  return answer.json;
}

const stateOf = async (api: Api, name: string) => {
  const [state] = await api.list(`${root}?dataset=${encodeURIComponent(name)}`);
  return [state?.['encryption_root'], state?.['key_loaded'], state?.['opened_by']];
};
const problems = async (api: Api) =>
  (await api.list('/api/holdfast/v1/problems')).map(({ kind, about }) => `${String(kind)} ${String(about)}`);
const keyOf = async (api: Api) => String((await done(api, 'export'))['key']);

describe('creating', () => {
  test('a dataset and a zvol by the fields of the document’s paths, and by our own', async () => {
    await using box = await boxWith();
    const { api } = box;
    const made = await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'docs', encryption: true });
    assert.ok(!('encryption' in made) && !('passphrase' in made));
    const secret = { encryption: true, passphrase: words };
    await api.expect(201, 'POST', 'storage/dataset/tank/docs/', { name: 'inner', ...secret });
    await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'disk', volsize: '16M', ...secret });
    await api.expect(201, 'POST', `${root}/create`, { dataset: 'tank/docs/own' });
    await api.expect(201, 'POST', `${root}/create`, { dataset: 'tank/disk2', volsize: '16M', passphrase: words });
    await api.expect(201, 'POST', 'storage/dataset/tank/docs/', { name: 'below' });
    await api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'plain' });
    assert.deepEqual(
      (await api.list(root)).map((one) => [
        ...[one['dataset'], one['kind'], one['encrypted'], one['encryption_root']],
        ...[one['key_loaded'], one['opened_by']],
      ]),
      [
        ['tank', 'filesystem', false, null, false, []],
        ['tank/disk', 'volume', true, 'tank/disk', true, ['passphrase']],
        ['tank/disk2', 'volume', true, 'tank/disk2', true, ['passphrase']],
        ['tank/docs', 'filesystem', true, 'tank/docs', true, ['machine']],
        ['tank/docs/below', 'filesystem', true, 'tank/docs', true, ['machine']],
        ['tank/docs/inner', 'filesystem', true, 'tank/docs/inner', true, ['passphrase']],
        ['tank/docs/own', 'filesystem', true, 'tank/docs/own', true, ['machine']],
        ['tank/plain', 'filesystem', false, null, false, []],
      ],
    );
    assert.deepEqual(
      (await box.host.zfs.datasets()).map(({ name, encryptionRoot }) => [name, encryptionRoot]).slice(3, 5),
      [
        ['tank/docs', 'tank/docs'],
        ['tank/docs/below', 'tank/docs'],
      ],
    );
  });

  test('what cannot be done is refused, and nothing is created', async () => {
    await using box = await boxWith();
    const { api } = box;
    const sent = await api.post('storage/volume/tank/datasets/', { name: 'docs', passphrase: words });
    assert.deepEqual(
      [sent.status, sent.json],
      [400, { passphrase: ['A passphrase requires encryption. Send encryption as true as well.'] }],
    );
    for (const [dataset, message] of [
      ['tank', /Expected a name below a volume/],
      ['tank/none/docs', /no dataset "tank\/none"/],
      ['tank/a*b', /may contain letters/],
    ] as const) {
      const answer = await api.post(`${root}/create`, { dataset });
      assert.equal(answer.status, 400, answer.text);
      assert.match(String(at(answer.json, 'fields', 'dataset')), message);
    }
    assert.equal((await api.list(root)).length, 1);
    await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'plain' });
    const later = await api.put('storage/dataset/tank/plain/', { encryption: true, comments: 'x' });
    assert.match(later.text, /cannot be encrypted later/);
    await api.expect(201, 'POST', `${root}/create`, { dataset: 'tank/docs' });
    assert.match((await api.put('storage/dataset/tank/docs/', { passphrase: words })).text, /encryption\/key changes/);
    await api.expect(200, 'PUT', 'storage/dataset/tank/docs/', { encryption: true, comments: 'x' });
  });
});

describe('locking and unlocking', () => {
  test('a locked dataset is not mounted, is a problem with its remedy, and its shares are not served', async () => {
    await using box = await boxWith();
    const { api, host } = box;
    await done(api, 'create', { passphrase: words });
    await api.expect(201, 'POST', 'storage/dataset/tank/docs/', { name: 'below' });
    await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'docs', cifs_path: '/mnt/tank/docs/below' });
    await host.files.write('/mnt/tank/docs/below/file', 'content');
    const shares = async () => (await host.files.read('/etc/samba/holdfast/shares-0.conf')) ?? '';
    assert.match(await shares(), /\[docs\]/);
    assert.deepEqual(await done(api, 'lock'), {
      dataset: 'tank/docs',
      kind: 'filesystem',
      encrypted: true,
      encryption_root: 'tank/docs',
      key_loaded: false,
      opened_by: ['passphrase'],
    });
    assert.equal(await host.files.read('/mnt/tank/docs/below/file'), undefined);
    const [problem, ...others] = await api.list('/api/holdfast/v1/problems');
    assert.deepEqual(others, []);
    assert.equal(problem?.['about'], 'storage/dataset/tank/docs');
    assert.deepEqual(problem?.['affects'], ['sharing/cifs/1']);
    assert.deepEqual(problem?.['remedy'], { method: 'POST', path: `${root}/unlock`, body: { dataset: 'tank/docs' } });
    assert.match(String(problem?.['message']), /tank\/docs is locked.*CIFS share "docs"/s);
    assert.doesNotMatch(await shares(), /\[docs\]/);
    await refused(api, 'lock', {}, /already locked/);
    await refused(api, 'unlock', {}, /Send passphrase or key: the machine has no key of the dataset tank\/docs/);
    await refused(api, 'unlock', { passphrase: 'open barley' }, /The passphrase does not unlock/);
    await refused(api, 'unlock', { key: 'abc' }, /64 hex digits/);
    await refused(api, 'export', {}, /does not have the key/);
    const below = await api.post('storage/dataset/tank/docs/', { name: 'more' });
    assert.match(below.text, /locked|key is not loaded/);
    assert.match((await api.post(`${root}/create`, { dataset: 'tank/docs/more' })).text, /while it is locked/);
    assert.deepEqual((await done(api, 'unlock', { passphrase: words }))['key_loaded'], true);
    assert.equal(await host.files.read('/mnt/tank/docs/below/file'), 'content');
    assert.match(await shares(), /\[docs\]/);
    assert.deepEqual(await problems(api), []);
    await refused(api, 'unlock', { passphrase: words }, /is not locked/);
  });

  test('what has no key of its own is refused with the one that has', async () => {
    await using box = await boxWith();
    const { api } = box;
    await done(api, 'create');
    await api.expect(201, 'POST', 'storage/dataset/tank/docs/', { name: 'below' });
    await refused(api, 'lock', { dataset: 'tank/docs/below' }, /encrypted with the key of tank\/docs/);
    await refused(api, 'lock', { dataset: 'tank' }, /not encrypted/);
    assert.equal((await act(api, 'lock', { dataset: 'tank/none' })).status, 404);
    assert.equal((await api.get(`${root}?dataset=none`)).status, 404);
  });

  test('with a dataset those below it are locked, and open again as far as the machine opens them', async () => {
    await using box = await boxWith();
    const { api } = box;
    await done(api, 'create', { passphrase: words });
    for (const [name, more] of [
      ['own', {}],
      ['words', { passphrase: words }],
    ] as const)
      await done(api, 'create', { dataset: `tank/docs/${name}`, ...more });
    await done(api, 'lock');
    for (const name of ['own', 'words']) assert.equal((await stateOf(api, `tank/docs/${name}`))[1], false);
    assert.deepEqual(await problems(api), ['locked storage/dataset/tank/docs']);
    await refused(api, 'unlock', { dataset: 'tank/docs/own' }, /below tank\/docs, which is locked/);
    await done(api, 'unlock', { passphrase: words });
    assert.deepEqual(await stateOf(api, 'tank/docs/own'), ['tank/docs/own', true, ['machine']]);
    assert.deepEqual(await problems(api), ['locked storage/dataset/tank/docs/words']);
  });

  test('a zvol that is locked is not served', async () => {
    await using box = await boxWith();
    const { api } = box;
    await done(api, 'create', { volsize: '16M' });
    await api.expect(201, 'POST', 'services/iscsi/extent/', {
      iscsi_target_extent_name: 'disk',
      iscsi_target_extent_type: 'Disk',
      iscsi_target_extent_disk: 'zvol/tank/docs',
    });
    await done(api, 'lock');
    const [problem] = await api.list('/api/holdfast/v1/problems');
    assert.deepEqual(problem?.['affects'], ['services/iscsi/extent/1']);
    await done(api, 'unlock');
    assert.deepEqual(await problems(api), []);
  });
});

describe('keys', () => {
  test('a dataset is rotated between passphrases and the machine, and the content stays', async () => {
    await using box = await boxWith();
    const { api, host } = box;
    await done(api, 'create');
    await host.files.write('/mnt/tank/docs/file', 'content');
    const first = await keyOf(api);
    assert.match(first, /^[\da-f]{64}$/);
    assert.deepEqual((await done(api, 'key', { passphrase: words }))['opened_by'], ['passphrase']);
    const second = await keyOf(api);
    assert.notEqual(second, first);
    await done(api, 'lock');
    await refused(api, 'unlock', { key: first }, /The key does not unlock/);
    await refused(api, 'key', {}, /locked; unlock it first/);
    await done(api, 'unlock', { key: second.toUpperCase() });
    assert.equal(await host.files.read('/mnt/tank/docs/file'), 'content');
    await done(api, 'key', { passphrase: 'other words' });
    await done(api, 'lock');
    await refused(api, 'unlock', { passphrase: words }, /does not unlock/);
    await done(api, 'unlock', { passphrase: 'other words' });
    assert.deepEqual((await done(api, 'key'))['opened_by'], ['machine']);
    await done(api, 'lock');
    await done(api, 'unlock');
    assert.equal(await host.files.read('/mnt/tank/docs/file'), 'content');
  });

  test('when the machine starts, what the machine opens is opened, and what has a passphrase waits', async () => {
    await using box = await boxWith({ encryption: true });
    await done(box.api, 'create');
    await done(box.api, 'create', { dataset: 'tank/words', passphrase: words });
    await done(box.api, 'create', { dataset: 'tank/docs/inner' });
    box.machine.zfs.losePower();
    await using again = await box.restart();
    assert.deepEqual(
      (await again.api.list(root)).map(({ dataset, key_loaded: isLoaded }) => [dataset, isLoaded]),
      [
        ['tank', true],
        ['tank/docs', true],
        ['tank/docs/inner', true],
        ['tank/words', false],
      ],
    );
    await done(again.api, 'unlock', { dataset: 'tank/words', passphrase: words });
  });

  test('what a user locked stays locked when the daemon starts, and follows its volume', async () => {
    await using box = await boxWith({ encryption: true });
    await done(box.api, 'create');
    await done(box.api, 'create', { dataset: 'tank/more' });
    await done(box.api, 'lock');
    await using again = await box.restart();
    assert.equal((await stateOf(again.api, 'tank/docs'))[1], false);
    await again.api.expect(202, 'POST', 'storage/volume/tank/lock/');
    assert.equal((await stateOf(again.api, 'tank/more'))[1], false);
    await again.api.expect(202, 'POST', 'storage/volume/tank/unlock/', {});
    assert.deepEqual(
      [(await stateOf(again.api, 'tank/docs'))[1], (await stateOf(again.api, 'tank/more'))[1]],
      [false, true],
    );
    await done(again.api, 'unlock');
  });

  test('the key of a volume is exported and changed in the same way, and opens it', async () => {
    await using box = await boxWith({ encryption: true });
    const { api } = box;
    const key = String((await done(api, 'export', { dataset: 'tank' }))['key']);
    await done(api, 'lock', { dataset: 'tank' });
    await done(api, 'unlock', { dataset: 'tank', key });
    await done(api, 'key', { dataset: 'tank', passphrase: words });
    assert.equal((await api.expect(200, 'GET', 'storage/volume/tank/'))['vol_encrypt'], 2);
  });

  test('a dataset that was received without its slots is opened by its key, and can be given slots', async () => {
    await using box = await boxWith();
    const { api, host, engine } = box;
    const key = '0123456789abcdef'.repeat(4);
    await host.zfs.createDataset('tank/docs', { encryption: { key, slots: 'none' } });
    await host.zfs.unloadKey('tank/docs');
    await engine.renew('storage');
    assert.deepEqual(await stateOf(api, 'tank/docs'), ['tank/docs', false, []]);
    await refused(api, 'unlock', {}, /Send passphrase or key/);
    await done(api, 'unlock', { key });
    assert.equal(await keyOf(api), key);
    assert.deepEqual((await done(api, 'key'))['opened_by'], ['machine']);
    assert.notEqual(await keyOf(api), key);
  });

  test('a clone is locked with the dataset that it was cloned from, and a removed dataset leaves no key behind', async () => {
    await using box = await boxWith();
    const { api, host } = box;
    await done(api, 'create', { passphrase: words });
    await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/docs', name: 's' });
    await api.expect(202, 'POST', 'storage/snapshot/tank/docs@s/clone/', { name: 'tank/copy' });
    assert.deepEqual(await stateOf(api, 'tank/copy'), ['tank/docs', true, ['passphrase']]);
    await done(api, 'lock');
    assert.equal((await host.zfs.datasets({ names: ['tank/copy'] }))[0]?.mountpoint, undefined);
    assert.deepEqual(await problems(api), ['locked storage/dataset/tank/docs']);
    await done(api, 'unlock', { passphrase: words });
    const held = () => host.files.read('/run/holdfast-keys/tank%2Fdocs');
    assert.notEqual(await held(), undefined);
    await api.expect(204, 'DELETE', 'storage/dataset/tank/copy/');
    await api.expect(204, 'DELETE', 'storage/dataset/tank/docs/');
    assert.equal(await held(), undefined);
    await done(api, 'create');
    assert.deepEqual(await stateOf(api, 'tank/docs'), ['tank/docs', true, ['machine']]);
  });
});

test('neither a key nor a passphrase is in the log, the events, the jobs, the revisions or the answers', async () => {
  await using box = await boxWith();
  const { api, host } = box;
  await done(api, 'create', { passphrase: words });
  const secrets = [words, 'other words', await keyOf(api)];
  await done(api, 'key', { passphrase: 'other words' });
  secrets.push(await keyOf(api));
  await done(api, 'lock');
  await refused(api, 'unlock', { passphrase: 'other words!' }, /does not unlock/);
  await done(api, 'unlock', { passphrase: 'other words' });
  await api.post('/api/holdfast/v1/plan', {
    method: 'POST',
    path: 'storage/volume/tank/datasets/',
    body: { name: 'planned', encryption: true, passphrase: words },
  });
  const texts = [
    JSON.stringify(box.log),
    JSON.stringify(box.engine.events.since(0)),
    ...(await Promise.all(
      ['jobs', 'revisions', 'encryption', 'problems', 'drift'].map(
        async (name) => (await api.get(`/api/holdfast/v1/${name}`)).text,
      ),
    )),
    (await api.get('storage/dataset/')).text,
    JSON.stringify(await host.zfs.datasets()),
  ];
  for (const text of texts) for (const secret of secrets) assert.ok(!text.includes(secret), text.slice(0, 300));
});
