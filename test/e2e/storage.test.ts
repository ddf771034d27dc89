import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import type { Api, ApiAnswer } from '../support/api.ts';
import { type Appliance, type ApplianceOptions, appliance } from '../support/appliance.ts';

const MiB = 1024 ** 2;

async function boxWithTank(options: ApplianceOptions = {}): Promise<Appliance> {
  const box = await appliance(options);
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  return box;
}

function refusedFor(answer: ApiAnswer, name: string, words: RegExp): void {
  assert.equal(answer.status, 400, answer.text);
  assert.ok(isObject(answer.json) && Array.isArray(answer.json[name]), `not under ${name}: ${answer.text}`);
  assert.match(String(answer.json[name]), words);
}

const ids = async (api: Api, query = 'limit=0') =>
  (await api.list(`storage/snapshot/?${query}`)).map((one) => one['id']);

describe('zvols', () => {
  test('a zvol is made with 202, read, grown with 201 and removed with 204', async () => {
    await using box = await boxWithTank();
    const zvols = 'storage/volume/tank/zvols';
    const made = await box.api.expect(202, 'POST', `${zvols}/`, { name: 'v', volsize: '10M' });
    assert.deepEqual(Object.keys(made), [
      'avail',
      'comments',
      'compression',
      'dedup',
      'name',
      'refer',
      'sync',
      'used',
      'volsize',
    ]);
    assert.equal(made['name'], 'v');
    assert.equal(made['volsize'], 10 * MiB);
    assert.equal(made['comments'], null);
    assert.deepEqual(await box.api.expect(200, 'GET', `${zvols}/v/`), made);
    assert.deepEqual(await box.api.list('storage/volume/1/zvols/'), [made]);
    const grown = await box.api.expect(201, 'PUT', `${zvols}/v`, {
      volsize: '50M',
      name: '',
      blocksize: '4K',
      compression: 'gzip-9',
    });
    assert.equal(grown['volsize'], 50 * MiB);
    assert.equal(grown['compression'], 'gzip-9');
    const stronger = await box.api.expect(201, 'PUT', `${zvols}/v`, { compression: 'zstd-3' });
    assert.equal(stronger['compression'], 'zstd-3');
    assert.equal(
      (await box.host.zfs.datasets()).find((one) => one.name === 'tank/v')?.properties.volblocksize,
      '16384',
    );
    assert.equal((await box.api.delete(`${zvols}/v/`)).status, 204);
    assert.equal((await box.api.get(`${zvols}/v/`)).status, 404);
  });

  test('sizes are written as people and programs write them', async () => {
    await using box = await boxWithTank();
    const sizes = new Map<string | number, number>([
      ['64M', 64],
      ['104MiB', 104],
      ['1 MiB', 1],
      ['0.009765625 GiB', 10],
      ['1024 KiB', 1],
      ['10mb', 10],
      ['1048576b', 1],
      ['1048576', 1],
      [1048576, 1],
    ]);
    let n = 0;
    for (const [volsize, mebibytes] of sizes) {
      n += 1;
      const made = await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', {
        name: `v${n}`,
        volsize,
        sparse: 'true',
      });
      assert.equal(made['volsize'], mebibytes * MiB, String(volsize));
    }
  });

  test('a zvol in a dataset is named by its path, in every spelling', async () => {
    await using box = await boxWithTank();
    await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'a' });
    const made = await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'a/v', volsize: '10M' });
    assert.equal(made['name'], 'a/v');
    for (const path of [
      'storage/volume/tank/zvols/a/v/',
      'storage/volume/tank/zvols/a%2Fv',
      '/api/v1.0//storage/volume/tank/zvols//a/v/',
    ])
      assert.deepEqual(await box.api.expect(200, 'GET', path), made);
    refusedFor(
      await box.api.post('storage/volume/tank/zvols/', { name: 'none/v', volsize: '10M' }),
      'name',
      /parent does not exist/,
    );
    refusedFor(
      await box.api.post('storage/volume/tank/zvols/', { name: 'a/v/w', volsize: '10M' }),
      'name',
      /parent does not exist/,
    );
    assert.equal((await box.api.delete('storage/volume/tank/zvols/a/v/')).status, 204);
  });

  test('a name that is taken is refused with the phrase that programs look for', async () => {
    await using box = await boxWithTank();
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M' });
    refusedFor(
      await box.api.post('storage/volume/tank/zvols/', { name: 'v', volsize: '10M' }),
      'name',
      /dataset already exists/,
    );
    refusedFor(await box.api.post('storage/volume/tank/datasets/', { name: 'v' }), 'name', /dataset already exists/);
    const absent = await box.api.delete('storage/volume/tank/zvols/none/');
    assert.equal(absent.status, 404);
    assert.ok(isObject(absent.json) && typeof absent.json['error_message'] === 'string');
    assert.equal((await box.api.get('storage/volume/none/zvols/')).status, 404);
  });

  test('more than 80 % of what is free needs force, when it is made and when it grows', async () => {
    await using box = await boxWithTank();
    const free = Number((await box.api.expect(200, 'GET', 'storage/dataset/tank/'))['avail']);
    const most = Math.floor((0.85 * free) / MiB);
    refusedFor(await box.api.post('storage/volume/tank/zvols/', { name: 'v', volsize: `${most}M` }), 'volsize', /80 %/);
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: `${most}M`, force: true });
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'w', volsize: '10M' });
    refusedFor(await box.api.put('storage/volume/tank/zvols/w/', { volsize: `${most}M` }), 'volsize', /80 %/);
  });

  test('what cannot be is refused under its name, and nothing is done', async () => {
    await using box = await boxWithTank();
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M' });
    refusedFor(
      await box.api.put('storage/volume/tank/zvols/v/', { volsize: '5M', comments: 'smaller' }),
      'volsize',
      /shrink/,
    );
    refusedFor(await box.api.post('storage/volume/tank/zvols/', { name: 'w' }), 'volsize', /required/);
    refusedFor(await box.api.post('storage/volume/tank/zvols/', { name: 'w', volsize: '0' }), 'volsize', /size/);
    refusedFor(
      await box.api.post('storage/volume/tank/zvols/', { name: 'w', volsize: '1M', blocksize: '3K' }),
      'blocksize',
      /3K/,
    );
    refusedFor(await box.api.post('storage/volume/tank/zvols/', { name: '/w', volsize: '1M' }), 'name', /must begin/);
    assert.deepEqual(
      (await box.api.list('storage/volume/tank/zvols/')).map((one) => [one['name'], one['volsize'], one['comments']]),
      [['v', 10 * MiB, null]],
    );
  });

  test('a zvol with snapshots goes only with them', async () => {
    await using box = await boxWithTank();
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M', sparse: true });
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/v', name: 's' });
    await box.api.expect(202, 'POST', 'storage/snapshot/tank/v@s/clone/', { name: 'tank/c' });
    const refusal = await box.api.delete('storage/volume/tank/zvols/v/');
    assert.equal(refusal.status, 400);
    assert.equal(typeof refusal.json, 'string');
    assert.equal((await box.api.delete('storage/volume/tank/zvols/v/', { cascade: true })).status, 204);
    assert.deepEqual(await box.api.list('storage/volume/tank/zvols/'), []);
  });
});

describe('datasets', () => {
  test('deleting a dataset below a volume takes a zvol of that name as well', async () => {
    await using box = await boxWithTank();
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M' });
    assert.equal((await box.api.get('storage/volume/tank/datasets/v/')).status, 404);
    assert.equal((await box.api.delete('storage/volume/tank/datasets/v/')).status, 204);
    assert.deepEqual(await box.api.list('storage/volume/tank/zvols/'), []);
  });

  test('a dataset goes with its children and its snapshots', async () => {
    await using box = await boxWithTank();
    await box.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'a' });
    await box.api.expect(201, 'POST', 'storage/dataset/tank/a/', { name: 'b' });
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/a', name: 's', recursive: true });
    assert.equal((await box.api.delete('storage/dataset/tank/a/')).status, 204);
    assert.deepEqual(await ids(box.api), []);
  });

  test('what the pool refuses is told under the name of the property', async () => {
    await using box = await boxWithTank();
    await box.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'a', share_type: 'windows' });
    refusedFor(
      await box.api.put('storage/dataset/tank/a/', { comments: 'x', reservation: '1000G' }),
      'reservation',
      /space/,
    );
    refusedFor(
      await box.api.post('storage/dataset/tank/', { name: 'b', refreservation: '1000G' }),
      'refreservation',
      /space/,
    );
    refusedFor(await box.api.put('storage/dataset/tank/a/', { quota: '1K' }), 'quota', /less than current used/);
    const a = await box.api.expect(200, 'GET', 'storage/dataset/tank/a/');
    assert.deepEqual([a['comments'], a['reservation'], a['quota'], a['share_type']], [null, 0, 0, undefined]);
  });

  test('no dataset is made over a folder that is there', async () => {
    await using box = await boxWithTank();
    await box.host.files.makeFolder('/mnt/tank/a', { within: '/mnt/tank', mode: 0o755 });
    refusedFor(await box.api.post('storage/dataset/tank/', { name: 'a' }), 'name', /file or folder/);
    assert.equal((await box.api.get('storage/dataset/tank/a/')).status, 404);
  });
});

describe('snapshots', () => {
  test('a snapshot has all its fields, in the list and alone', async () => {
    await using box = await boxWithTank();
    const made = await box.api.expect(201, 'POST', 'storage/snapshot/', {
      dataset: 'tank',
      name: 'one',
      vmware_sync: false,
    });
    const { refer, used, ...words } = made;
    assert.deepEqual(words, {
      id: 'tank@one',
      fullname: 'tank@one',
      filesystem: 'tank',
      name: 'one',
      mostrecent: true,
      parent_type: 'filesystem',
    });
    assert.ok(Number.isInteger(refer) && Number.isInteger(used));
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M', sparse: true });
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'two', recursive: 'True' });
    assert.deepEqual(
      (await box.api.list('storage/snapshot/')).map((one) => [one['id'], one['mostrecent'], one['parent_type']]),
      [
        ['tank@one', false, 'filesystem'],
        ['tank@two', true, 'filesystem'],
        ['tank/v@two', true, 'volume'],
      ],
    );
    assert.deepEqual(await ids(box.api, 'limit=1&offset=1'), ['tank@two']);
    assert.deepEqual(await ids(box.api, 'sort(-name)&limit=1'), ['tank@two']);
  });

  test('an id is understood in every spelling', async () => {
    await using box = await boxWithTank();
    await box.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'b' });
    const spellings = ['tank%2Fb@s', 'tank/b@s', 'tank%2Fb%40s', 'tank/b%40s', '/tank//b@s'];
    for (const [n, id] of spellings.entries()) {
      await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/b', name: 's' });
      assert.equal((await box.api.expect(200, 'GET', `storage/snapshot/${id}/`))['id'], 'tank/b@s');
      const cloned = await box.api.post(`storage/snapshot/${id}/clone/`, { name: `tank/c${n}` });
      assert.deepEqual([cloned.status, cloned.text], [202, 'Snapshot cloned.']);
      const back = await box.api.post(`storage/snapshot/${id}/rollback`, {});
      assert.deepEqual([back.status, back.text], [202, 'Snapshot rolled back.']);
      assert.equal((await box.api.delete(`storage/dataset/tank/c${n}/`)).status, 204);
      assert.equal((await box.api.delete(`storage/snapshot/${id}`)).status, 204);
    }
    assert.deepEqual(await ids(box.api), []);
  });

  test('what is wrong with a new one is told in the forms that programs know', async () => {
    await using box = await boxWithTank();
    const create = (body: object) => box.api.post('storage/snapshot/', body);
    refusedFor(await create({ dataset: 'tank', name: 'a/b' }), 'ms_name', /letters/);
    refusedFor(await create({ dataset: 'tank' }), 'ms_name', /required/);
    refusedFor(await create({ dataset: 'none', name: 'a' }), 'dataset', /none/);
    refusedFor(await create({ dataset: 'tank', name: 'a', vmware_sync: true }), 'vmware_sync', /VMware/);
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'a' });
    refusedFor(await create({ dataset: 'tank', name: 'a' }), 'ms_name', /already exists/);
    await box.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'b' });
    refusedFor(await create({ dataset: 'tank', name: 'a', recursive: true }), 'ms_name', /already exists/);
    assert.deepEqual(await ids(box.api), ['tank@a']);
  });

  test('deleting what is no snapshot answers 400 with an error', async () => {
    await using box = await boxWithTank();
    for (const id of ['tank', 'tank@none', 'none@none', 'a/b/c']) {
      const answer = await box.api.delete(`storage/snapshot/${id}/`);
      assert.equal(answer.status, 400, id);
      assert.ok(isObject(answer.json) && typeof answer.json['error'] === 'string', answer.text);
    }
    assert.equal((await box.api.get('storage/snapshot/tank@none/')).status, 404);
  });

  test('one that has a clone is deleted with 204 and goes with its last clone', async () => {
    await using box = await boxWithTank();
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 's' });
    await box.api.expect(202, 'POST', 'storage/snapshot/tank@s/clone/', { name: 'tank/c' });
    assert.equal((await box.api.delete('storage/snapshot/tank%40s/')).status, 204);
    assert.deepEqual(await ids(box.api), ['tank@s']);
    assert.equal((await box.api.delete('storage/dataset/tank/c/')).status, 204);
    assert.deepEqual(await ids(box.api), []);
  });

  test('a clone outside the pool, or in a place that is taken, is refused', async () => {
    await using box = await boxWithTank();
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 's' });
    refusedFor(
      await box.api.post('storage/snapshot/tank@s/clone/', { name: 'other/c' }),
      'cs_name',
      /must begin with tank/,
    );
    refusedFor(await box.api.post('storage/snapshot/tank@s/clone/', {}), 'cs_name', /required/);
    for (const name of ['tank/none/c', 'tank/x@y'])
      assert.equal((await box.api.post('storage/snapshot/tank@s/clone/', { name })).status, 400);
    await box.api.expect(202, 'POST', 'storage/snapshot/tank@s/clone/', { name: 'tank/c' });
    const taken = await box.api.post('storage/snapshot/tank@s/clone/', { name: 'tank/c' });
    assert.equal(taken.status, 400);
    assert.match(String(taken.json), /dataset already exists/);
    assert.equal((await box.api.post('storage/snapshot/tank@none/clone/', { name: 'tank/d' })).status, 404);
  });

  test('rolling back past newer ones needs force, and what was made below stays', async () => {
    await using box = await boxWithTank();
    await box.host.files.write('/mnt/tank/file', 'old');
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'a' });
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'b' });
    await box.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'below' });
    await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M' });
    await box.host.files.write('/mnt/tank/file', 'new');
    const refusal = await box.api.post('storage/snapshot/tank@a/rollback/', {});
    assert.equal(refusal.status, 400);
    assert.match(String(refusal.json), /more recent snapshots/);
    assert.equal(await box.host.files.read('/mnt/tank/file'), 'new');
    await box.api.expect(202, 'POST', 'storage/snapshot/tank@a/rollback/', { force: true });
    assert.equal(await box.host.files.read('/mnt/tank/file'), 'old');
    assert.deepEqual(await ids(box.api), ['tank@a']);
    await box.api.expect(200, 'GET', 'storage/dataset/tank/below/');
    await box.api.expect(200, 'GET', 'storage/volume/tank/zvols/v/');
  });

  test('a list of more than a thousand comes whole, with its head', async () => {
    await using box = await boxWithTank();
    for (let n = 0; n < 24; n += 1) await box.host.zfs.createDataset(`tank/d${n}`);
    for (let n = 0; n < 43; n += 1) await box.host.zfs.createSnapshot(`tank@s${n}`, { recursive: true });
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'last', recursive: true });
    const answer = await box.api.get('storage/snapshot/?limit=0');
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('content-range'), 'items 0-1099/1100');
    assert.equal(new Set((await ids(box.api)).map(String)).size, 44 * 25);
    assert.equal((await box.api.send('HEAD', 'storage/snapshot/?limit=0')).text, '');
    assert.equal((await ids(box.api, 'limit=90000000001')).length, 1000);
  });

  test('what other hands do is seen at the next look', async () => {
    let now = Date.now();
    await using box = await boxWithTank({ now: () => now });
    await box.host.zfs.createSnapshot('tank@theirs');
    now += 10_000;
    await ids(box.api);
    for (let tries = 0; tries < 100 && (await ids(box.api)).length === 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(await ids(box.api), ['tank@theirs']);
  });
});

describe('permissions', () => {
  const body = { mp_path: '/mnt/tank/', mp_acl: 'unix', mp_mode: '750', mp_user: 'root', mp_group: 'wheel' };
  const modeOf = ({ folder }: Appliance, path: string) =>
    (statSync(`${folder}/virtual/root${path}`).mode & 0o7777).toString(8);

  test('a folder gets them, and all below it when told so', async () => {
    await using box = await boxWithTank();
    await box.host.files.makeFolder('/mnt/tank/a', { within: '/mnt/tank', mode: 0o755 });
    await box.host.files.write('/mnt/tank/a/file', 'x');
    const answer = await box.api.put('storage/permission/', body);
    assert.deepEqual([answer.status, answer.text], [201, 'Mount Point permissions successfully updated.']);
    assert.deepEqual([modeOf(box, '/mnt/tank'), modeOf(box, '/mnt/tank/a')], ['750', '755']);
    await box.api.expect(201, 'PUT', 'storage/permission/', { ...body, mp_recursive: true, mp_mode: '700' });
    const [job] = await box.api.list('/api/holdfast/v1/jobs?subject=files:/mnt/tank');
    assert.match(String(job?.['progress']), /^\d+ files and folders$/);
    assert.deepEqual([modeOf(box, '/mnt/tank/a'), modeOf(box, '/mnt/tank/a/file')], ['700', '700']);
    await box.api.expect(201, 'PUT', 'storage/permission/', {
      ...body,
      mp_acl: 'windows',
      mp_mode: undefined,
      mp_recursive: true,
    });
    assert.deepEqual([modeOf(box, '/mnt/tank/a'), modeOf(box, '/mnt/tank/a/file')], ['2775', '664']);
    await box.api.expect(201, 'PUT', 'storage/permission/', {
      ...body,
      mp_mode_en: false,
      mp_mode: '000',
      mp_user_en: false,
      mp_user: '',
    });
    assert.equal(modeOf(box, '/mnt/tank'), '2775');
  });

  test('what is wrong is told under each name', async () => {
    await using box = await boxWithTank();
    refusedFor(
      await box.api.put('storage/permission/', { ...body, mp_path: '/etc' }),
      'mp_path',
      /Expected a path on a volume/,
    );
    refusedFor(await box.api.put('storage/permission/', { ...body, mp_user: 'no-one' }), 'mp_user', /no-one/);
    refusedFor(await box.api.put('storage/permission/', { ...body, mp_group: '' }), 'mp_group', /required/);
    refusedFor(await box.api.put('storage/permission/', { ...body, mp_mode: '888' }), 'mp_mode', /octal digits/);
    refusedFor(await box.api.put('storage/permission/', { ...body, mp_mode: null }), 'mp_mode', /required/);
    refusedFor(await box.api.put('storage/permission/', { ...body, mp_acl: 'nfs' }), 'mp_acl', /windows/);
    refusedFor(await box.api.put('storage/permission/', {}), 'mp_path', /required/);
    const absent = await box.api.put('storage/permission/', { ...body, mp_path: '/mnt/tank/none' });
    assert.equal(absent.status, 400);
    assert.match(absent.text, /no such file/);
    for (const method of ['GET', 'POST', 'DELETE'])
      assert.equal((await box.api.send(method, 'storage/permission/')).status, 405);
  });
});

describe('disks', () => {
  const one = `storage/disk/${encodeURIComponent('{serial}VIRT0001')}/`;

  test('what is decided about a disk is kept, told to it and told again when it appears', async () => {
    await using box = await appliance();
    const changed = await box.api.expect(200, 'PUT', one, {
      disk_description: 'left',
      disk_hddstandby: '60',
      disk_name: 'ada9',
      disk_advpowermgmt: 127,
    });
    assert.deepEqual(
      [changed['disk_description'], changed['disk_hddstandby'], changed['disk_name'], changed['disk_advpowermgmt']],
      ['left', '60', 'ada0', '127'],
    );
    assert.match(
      (await box.host.files.read('/etc/hdparm.conf')) ?? '',
      /^\/dev\/ada0 \{\n\tspindown_time = 242\n\tapm = 127\n\}$/m,
    );
    await using again = await box.restart();
    assert.deepEqual(await again.api.expect(200, 'GET', 'storage/disk/{serial}VIRT0001/'), changed);
    await again.api.expect(200, 'PUT', one, { disk_hddstandby: 'Always On', disk_advpowermgmt: 'Disabled' });
    assert.equal(await again.host.files.read('/etc/hdparm.conf'), '# Written by Holdfast.\n');
  });

  test('a disk that cannot follow says so, and everything else of it may be changed', async () => {
    await using box = await appliance({
      around: (host) => ({
        ...host,
        disks: {
          health: () => host.disks.health(),
          scramble: (disk: string) => host.disks.scramble(disk),
          tune: (...words) => host.disks.tune(...words),
          list: async () => (await host.disks.list()).map((disk) => ({ ...disk, can: [] })),
        },
      }),
    });
    const answer = await box.api.put(one, {
      disk_hddstandby: '5',
      disk_acousticlevel: 'Minimum',
      disk_description: 'quiet',
    });
    assert.equal(answer.status, 409);
    assert.deepEqual(answer.json, {
      disk_hddstandby: ['The disk ada0 has no standby timer, so this setting has no effect.'],
      disk_acousticlevel: ['The disk ada0 has no acoustic management, so this setting has no effect.'],
    });
    assert.equal((await box.api.expect(200, 'GET', one))['disk_description'], '');
    await box.api.expect(200, 'PUT', one, { disk_description: 'quiet', disk_hddstandby: 'Always On' });
  });

  test('what the programs of SMART object to is the answer', async () => {
    await using box = await appliance();
    const answer = await box.api.put(one, { disk_smartoptions: '--nonsense' });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /UNRECOGNIZED OPTION/);
    assert.equal((await box.api.expect(200, 'GET', one))['disk_smartoptions'], '');
    const unknown = await box.api.put('storage/disk/{serial}NONE/', { disk_description: 'x' });
    assert.deepEqual([unknown.status, unknown.json], [404, 'Object not found']);
  });
});
