import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { compareValues } from '../../src/engine/configuration/tables.ts';
import { readPage, slice, sorted } from '../../src/http/lists.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;
const people = 28;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const uids = async (query: string) =>
  (await box.api.list(`account/users/?${query}`)).map((user) => Number(user['bsdusr_uid']));
const rangeOf = async (path: string, headers?: Readonly<Record<string, string>>) =>
  (await box.api.get(path, headers)).headers.get('content-range');

test('H9: limit=0 is everything, no limit is 20, and any large number is accepted', async () => {
  assert.equal((await uids('limit=0')).length, people);
  assert.equal((await uids('')).length, 20);
  for (const limit of ['28', '1000', '1001', '90000000001', '99999999999999999999'])
    assert.equal((await uids(`limit=${limit}`)).length, people, limit);
  assert.equal((await uids('limit=7')).length, 7);
});

test('H9: unknown and empty query keys change nothing, neither on lists nor on single records', async () => {
  const plain = (await box.api.get('account/users/')).text;
  for (const query of [
    'format=json',
    'limit=&offset=',
    '&',
    '&&format=json&',
    'nonsense',
    'order_by=-bsdusr_uid',
    '_=1',
    'a=b&a=c',
    'toString=1',
    '__proto__=1',
  ])
    assert.equal((await box.api.get(`account/users/?${query}`)).text, plain, query);
  const root = (await box.api.get('account/users/1/')).text;
  for (const query of ['limit=1', 'limit=-1', 'offset=9', 'format=json', 'bsdusr_uid=0', '&'])
    assert.equal((await box.api.get(`account/users/1/?${query}`)).text, root, query);
  assert.equal((await box.api.get('services/ftp/?limit=1&offset=5')).status, 200);
});

test('a page is the part of the whole that offset and limit name, and Content-Range says which', async () => {
  const whole = await uids('limit=0');
  for (const [offset, limit] of [
    [0, 1],
    [5, 10],
    [20, 20],
    [27, 5],
  ] as const) {
    assert.deepEqual(await uids(`offset=${offset}&limit=${limit}`), whole.slice(offset, offset + limit));
    assert.equal(
      await rangeOf(`account/users/?offset=${offset}&limit=${limit}`),
      `items ${offset}-${Math.min(offset + limit, people) - 1}/${people}`,
    );
  }
  assert.equal(await rangeOf('account/users/?limit=0'), `items 0-27/${people}`);
  assert.equal(await rangeOf('account/users/?offset=20&limit=0'), `items 20-27/${people}`);
});

test('an offset past the end gives an empty list, and so does a list without records', async () => {
  const past = await box.api.get('account/users/?offset=28');
  assert.deepEqual([past.status, past.text, past.headers.get('content-range')], [200, '[]', 'items 28-27/28']);
  assert.equal((await box.api.get('account/users/?offset=90000000001')).text, '[]');
  const empty = await box.api.get('tasks/cronjob/');
  assert.deepEqual([empty.text, empty.headers.get('content-range')], ['[]', 'items 0--1/0']);
});

test('a Range header names a page where the query names none', async () => {
  const whole = await uids('limit=0');
  const withRange = async (range: string, query = '') => {
    const answer = await box.api.get(`account/users/?${query}`, { range });
    return Array.isArray(answer.json) ? answer.json.map((user) => Number(Object(user)['bsdusr_uid'])) : [];
  };
  assert.deepEqual(await withRange('items=3-4'), whole.slice(3, 5));
  assert.deepEqual(await withRange('items=10-'), whole.slice(10));
  assert.deepEqual(await withRange('items=3-4', 'limit=1'), whole.slice(0, 1));
  assert.deepEqual(await withRange('bytes=0-1'), whole.slice(0, 20));
  assert.equal(await rangeOf('account/users/', { range: 'items=26-99' }), 'items 26-27/28');
});

test('limits and offsets that are no whole numbers are a 400 with a sentence', async () => {
  for (const query of [
    'limit=-1',
    'offset=-1',
    'limit=x',
    'offset=x',
    'limit=1.5',
    'limit=1e3',
    'offset=0x10',
    'limit=%20',
    'limit=NaN',
    'limit=+',
  ]) {
    for (const path of [
      'account/users/',
      'storage/volume/',
      'storage/volume/tank/datasets/',
      'storage/disk/',
      'services/services/',
    ]) {
      const answer = await box.api.get(`${path}?${query}`);
      assert.equal(answer.status, 400, `${path}?${query}`);
      assert.match(answer.text, /^{"error":".+"}$/);
    }
  }
});

test('only the filters of the document narrow a list; another field is a 400', async () => {
  assert.deepEqual(
    (await box.api.list('services/services/?srv_service=ssh')).map((one) => one['srv_service']),
    ['ssh'],
  );
  assert.deepEqual(await box.api.list('services/services/?srv_service=telnet'), []);
  assert.equal(await rangeOf('services/services/?srv_service=ssh'), 'items 0-0/1');
  assert.equal((await box.api.list('storage/volume/?vol_name=tank')).length, 1);
  assert.deepEqual(await box.api.list('storage/volume/?vol_name=none'), []);
  for (const path of [
    'services/services/?srv_enable=true',
    'services/services/?id=1',
    'storage/volume/?name=tank',
    'account/users/?bsdusr_username=root',
    'account/users/?bsdusr_uid__gt=5',
  ])
    assert.match((await box.api.get(path)).text, /^{"error":"/, path);
});

test('sort(...) sorts by one field, either way', async () => {
  const whole = await uids('limit=0');
  const ascending = whole.toSorted((a, b) => a - b);
  assert.deepEqual(await uids('limit=0&sort(bsdusr_uid)'), ascending);
  assert.deepEqual(await uids('limit=0&sort(+bsdusr_uid)'), ascending);
  assert.deepEqual(await uids('limit=0&sort(-bsdusr_uid)'), ascending.toReversed());
  assert.deepEqual(await uids('limit=0&sort%28-bsdusr_uid%29='), ascending.toReversed());
  assert.deepEqual(await uids('sort(-bsdusr_uid)&limit=3&offset=2'), ascending.toReversed().slice(2, 5));
});

test('hosted records are paged and sorted like kept ones', async () => {
  const disks = await box.api.list('storage/disk/?sort(-disk_name)&limit=2');
  assert.deepEqual(
    disks.map((disk) => disk['disk_name']),
    ['ada7', 'ada6'],
  );
  for (const name of ['m', 'b', 'x']) await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  const names = async (query: string) =>
    (await box.api.list(`storage/volume/tank/datasets/?${query}`)).map((one) => one['name']);
  assert.deepEqual(await names('sort(-name)'), ['tank/x', 'tank/m', 'tank/b']);
  assert.deepEqual(await names('sort(name)&offset=1&limit=1'), ['tank/m']);
  assert.equal(await rangeOf('storage/volume/tank/datasets/'), 'items 0-2/3');
});

test('lists stand in their natural order: people before the system, then by number; jobs by description and user; shares by name', async () => {
  const person = (name: string, uid: number) => ({
    bsdusr_username: name,
    bsdusr_full_name: name,
    bsdusr_uid: uid,
    bsdusr_password_disabled: true,
    bsdusr_group: 35,
  });
  await box.api.expect(201, 'POST', 'account/users/', person('late', 2000));
  await box.api.expect(201, 'POST', 'account/users/', person('early', 1500));
  const users = await box.api.list('account/users/?limit=0');
  assert.deepEqual(
    users.slice(0, 3).map((user) => user['bsdusr_username']),
    ['early', 'late', 'root'],
  );
  const system = users.slice(2).map((user) => Number(user['bsdusr_uid']));
  assert.deepEqual(
    system,
    system.toSorted((a, b) => a - b),
  );
  for (const [cron_description, cron_user] of [
    ['b', 'root'],
    ['a', 'root'],
    ['b', 'nobody'],
  ])
    await box.api.expect(201, 'POST', 'tasks/cronjob/', { cron_description, cron_user, cron_command: 'true' });
  assert.deepEqual(
    (await box.api.list('tasks/cronjob/')).map((one) => `${one['cron_description']} ${one['cron_user']}`),
    ['a root', 'b nobody', 'b root'],
  );
  for (const name of ['zoo', 'ant'])
    await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: `/mnt/tank/${name}` });
  assert.deepEqual(
    (await box.api.list('sharing/cifs/')).map((one) => one['cifs_name']),
    ['ant', 'zoo'],
  );
});

test('a list of more than a thousand records is cut to a thousand when a limit is sent, and whole with limit=0', async () => {
  await using large = await appliance();
  await Promise.all(
    Array.from({ length: 1005 }, (_, n) =>
      large.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: `echo ${n}` }),
    ),
  );
  assert.equal((await large.api.list('tasks/cronjob/?limit=5000')).length, 1000);
  assert.equal((await large.api.list('tasks/cronjob/?limit=0')).length, 1005);
  assert.deepEqual(
    (await large.api.list('tasks/cronjob/?limit=0&sort(id)')).map((one) => one['id']),
    Array.from({ length: 1005 }, (_, n) => n + 1),
  );
});

// What a page is, for any list ---------------------------------------------------------------------------------------

const value = fc.oneof(
  fc.constant(null),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom('', 'a', 'B', 'b', 'ä', '10', '9'),
  fc.boolean(),
);
const rows = fc.array(fc.record({ id: fc.nat(), x: value, y: value }), { maxLength: 30 });

test('a page of any list is what a plain loop would take of it', () => {
  fc.assert(
    fc.property(
      rows,
      fc.nat({ max: 40 }),
      fc.option(fc.nat({ max: 40 }), { nil: undefined }),
      (items, offset, limit) => {
        const page = readPage(`offset=${offset}${limit === undefined ? '' : `&limit=${limit}`}`, undefined, {}, []);
        const expected: unknown[] = [];
        for (let at = offset; at < items.length && (limit === 0 || expected.length < (limit ?? 20)); at += 1)
          expected.push(items[at]);
        const { items: found, range } = slice(items, page);
        assert.deepEqual(found, expected);
        assert.equal(range, `items ${offset}-${offset + expected.length - 1}/${items.length}`);
      },
    ),
  );
});

test('several sort fields are stable sorts one after the other, so that the last dominates', () => {
  const key = fc.constantFrom(...(['x', 'y', 'id'] as const));
  fc.assert(
    fc.property(rows, fc.array(fc.record({ name: key, descending: fc.boolean() }), { maxLength: 3 }), (items, sort) => {
      const found = sorted(items, sort, (item, name) => item[name === 'x' ? 'x' : name === 'y' ? 'y' : 'id']);
      const places = new Map(items.map((item, place) => [item, place]));
      const naive = items.toSorted((a, b) => {
        for (const { name, descending } of sort.toReversed()) {
          const order = compareValues(a[name], b[name]);
          if (order !== 0) return descending ? -order : order;
        }
        return (places.get(a) ?? 0) - (places.get(b) ?? 0);
      });
      assert.deepEqual(found, naive);
    }),
  );
});

test('the order of values is total: it is the same whichever way one asks, and goes on from one to the next', () => {
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      assert.equal(Math.sign(compareValues(a, b)), 0 - Math.sign(compareValues(b, a)));
      if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) assert.ok(compareValues(a, c) <= 0);
    }),
  );
});

test('lists of both interfaces are filtered, ordered, cut to fields and paged by cursor', async () => {
  const names = async (query: string) =>
    (await box.api.list(`account/users/?${query}`)).map((one) => one['bsdusr_username']);
  const all = await box.api.list('account/users/?limit=0');
  const builtin = all.filter((one) => one['bsdusr_builtin'] === true).map((one) => String(one['bsdusr_username']));
  assert.deepEqual(
    await names('filter=bsdusr_builtin=true&order=-bsdusr_username&limit=0'),
    builtin.toSorted().toReversed(),
  );
  assert.deepEqual(await names('filter=bsdusr_uid=0'), ['root']);
  assert.deepEqual(Object.keys((await box.api.list('account/users/?fields=bsdusr_uid,id'))[0] ?? {}), [
    'bsdusr_uid',
    'id',
  ]);
  const paged: unknown[] = [];
  let address: string | undefined = '/api/v1.0/account/users/?order=bsdusr_username&limit=9';
  for (let pages = 0; address !== undefined && pages < 9; pages += 1) {
    const answer = await box.api.get(address);
    assert.ok(Array.isArray(answer.json) && answer.json.length <= 9);
    paged.push(...answer.json.map((one) => one.bsdusr_username));
    address = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  assert.deepEqual(paged, all.map((one) => String(one['bsdusr_username'])).toSorted());
  assert.deepEqual(await names('offset=2&order=bsdusr_username&limit=1'), [paged[2]]);

  await box.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  await box.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'false' });
  const own = '/api/holdfast/v1/revisions';
  const [newest, older] = (await box.api.list(own)).map((one) => Number(one['number']));
  assert.deepEqual(await box.api.list(`${own}?filter=number<${newest}&fields=number&limit=1`), [{ number: older }]);
  assert.deepEqual((await box.api.list(`${own}?order=number&limit=1&fields=number`))[0], { number: 1 });
  const link = /<(.*)>/.exec((await box.api.get(`${own}?limit=1`)).headers.get('link') ?? '')?.[1] ?? '';
  assert.equal((await box.api.list(link))[0]?.['number'], older);
  const audited = await box.api.list(
    '/api/holdfast/v1/audit?filter=method=POST&filter=path~cronjob&fields=status,path',
  );
  assert.ok(audited.length >= 2);
  assert.deepEqual(
    new Set(audited.map((one) => JSON.stringify(one))),
    new Set([JSON.stringify({ path: '/api/v1.0/tasks/cronjob/', status: 201 })]),
  );
});

test('a list is sent as NDJSON to who asks for it, the whole of it unless it is limited', async () => {
  const lines = async (path: string) => {
    const answer = await box.api.get(path, { accept: 'application/x-ndjson' });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/x-ndjson']);
    return answer.text
      .split('\n')
      .slice(0, -1)
      .map((line): unknown => JSON.parse(line));
  };
  assert.deepEqual(await lines('account/users/'), await box.api.list('account/users/?limit=0'));
  assert.equal((await lines('account/users/?limit=3')).length, 3);
  assert.deepEqual(
    await lines('/api/holdfast/v1/revisions?fields=number'),
    await box.api.list('/api/holdfast/v1/revisions?fields=number&limit=1000'),
  );
  assert.equal(
    (await box.api.get('account/users/', { accept: '*/*' })).headers.get('content-type'),
    'application/json',
  );
});

test('a list that is longer than what is held in memory arrives whole, in every form', async () => {
  const { zfs } = box.machine;
  for (let n = 0; n < 40; n += 1) await zfs.createDataset(`tank/d${n}`);
  for (let n = 0; n < 29; n += 1) await zfs.createSnapshot(`tank@s${n}`, { recursive: true });
  await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'last', recursive: true });
  const whole = await box.api.list('storage/snapshot/?limit=0');
  assert.ok(whole.length >= 41 * 30);
  const ids = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map((row) => String(row['id'])).toSorted();
  assert.deepEqual(ids(await box.api.list('storage/snapshot/?limit=0&filter=id!=null')), ids(whole));
  const lines = (await box.api.get('storage/snapshot/', { accept: 'application/x-ndjson' })).text.split('\n');
  assert.equal(lines.pop(), '');
  assert.deepEqual(
    lines.map((line): unknown => JSON.parse(line)),
    whole,
  );
  const paged = new Set<string>();
  for (let at = '/api/v1.0/storage/snapshot/?limit=500&filter=name!=last'; at !== ''; ) {
    const { json, headers } = await box.api.get(at);
    assert.ok(Array.isArray(json));
    for (const { id } of json) paged.add(String(id));
    at = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
  }
  assert.deepEqual([...paged].toSorted(), ids(whole.filter((one) => one['name'] !== 'last')));
});

test('an unknown field, operator or cursor is refused, in the words of each interface', async () => {
  const refused = async (path: string) => {
    const { status, json } = await box.api.get(path);
    assert.equal(status, 400, path);
    return JSON.stringify(json);
  };
  assert.match(await refused('account/users/?filter=name=root'), /^\{"error":"filter: These records have no field/);
  assert.match(await refused('account/users/?filter=bsdusr_unixhash=x'), /have no field/);
  assert.match(await refused('storage/snapshot/?order=-usd'), /^\{"error":"order: /);
  assert.match(await refused('storage/snapshot/?cursor=1'), /^\{"error":"cursor: /);
  assert.match(
    await refused('/api/holdfast/v1/jobs?filter=state=gone&limit=0'),
    /"code":"invalid".*"fields":\{"filter":\[.*"limit":\[/,
  );
});

test('a key that may not read raw lines cannot find out about them by a filter or an order', async () => {
  const made = await box.api.expect(201, 'POST', '/api/holdfast/v1/keys', { name: 'reader', role: 'read-only' });
  const key = { authorization: `Bearer ${made['key']}`, accept: 'application/x-ndjson' };
  for (const query of ['filter=cron_command=true', 'order=cron_command', 'fields=cron_command'])
    assert.equal((await box.api.get(`tasks/cronjob/?${query}`, key)).status, 400, query);
  const { status, text } = await box.api.get('tasks/cronjob/', key);
  assert.equal(status, 200);
  assert.match(text, /"cron_user":"root"/);
  assert.doesNotMatch(text, /cron_command/);
});
