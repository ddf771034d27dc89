import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hasPassphrase } from '../../src/areas/storage/keys.ts';
import { readSlots } from '../../src/areas/storage/keyslots.ts';
import { type Host, HostError } from '../../src/host/ports/index.ts';
import type { ImportablePool } from '../../src/host/ports/zfs.ts';
import { isObject } from '../../src/lib/json.ts';
import type { Api, ApiAnswer } from '../support/api.ts';
import { type Appliance, type ApplianceOptions, appliance, GiB, rootPassword } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';

const mirror = [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }];
const stripe = [{ vdevtype: 'stripe', disks: ['ada0'] }];

async function boxWith(
  layout: unknown,
  options: ApplianceOptions & { readonly encryption?: boolean } = {},
): Promise<Appliance> {
  const { encryption, ...rest } = options;
  const box = await appliance(rest);
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout,
    encryption: encryption ?? false,
  });
  return box;
}

const tank = (api: Api) => api.expect(200, 'GET', 'storage/volume/tank/');
const act = (api: Api, action: string, body?: unknown, method = 'POST') =>
  api.send(method, `storage/volume/tank/${action}/`, body);

function description(answer: ApiAnswer, status: number, text: string): void {
  assert.deepEqual([answer.status, answer.text], [status, text]);
}

/** The answer to what the machine would not do: 400 with error_message. */
function failed(answer: ApiAnswer, words: RegExp): void {
  assert.equal(answer.status, 400, answer.text);
  assert.ok(isObject(answer.json) && typeof answer.json['error_message'] === 'string', answer.text);
  assert.match(answer.json['error_message'], words);
}

/** The answer to what a rule forbids: 400 with a JSON string. */
function forbidden(answer: ApiAnswer, words: RegExp): void {
  assert.equal(answer.status, 400, answer.text);
  assert.equal(typeof answer.json, 'string', answer.text);
  assert.match(String(answer.json), words);
}

function wrongField(answer: ApiAnswer, name: string, words: RegExp): void {
  assert.equal(answer.status, 400, answer.text);
  assert.ok(isObject(answer.json) && Array.isArray(answer.json[name]), `not under ${name}: ${answer.text}`);
  assert.match(String(answer.json[name]), words);
}

interface Node {
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly label?: string;
  readonly children: readonly Node[];
}

function nodeOf(value: unknown): Node {
  if (!isObject(value)) return { name: '', type: '', status: '', children: [] };
  const children = Array.isArray(value['children']) ? value['children'].map(nodeOf) : [];
  const label = value['label'];
  return {
    name: String(value['name']),
    type: String(value['type']),
    status: String(value['status']),
    children,
    ...(typeof label === 'string' ? { label } : {}),
  };
}

const statusOf = async (api: Api) => nodeOf(await api.expect(200, 'GET', 'storage/volume/tank/status/'));
const devicesOf = async (api: Api) =>
  (await statusOf(api)).children.flatMap(({ children }) => children).map(({ name, status }) => [name, status]);

/** Without logs, caches and spares. */
const dataDevicesOf = async (api: Api) =>
  (await statusOf(api)).children
    .filter(({ type }) => type === 'vdev')
    .flatMap(({ children }) => children)
    .map(({ name, status }) => [name, status]);

describe('the volume record (gaps 11.1)', () => {
  test('a new volume is decrypted, HEALTHY and mounted below /mnt; a fresh system has none (V12)', async () => {
    await using box = await appliance();
    assert.equal((await box.api.get('storage/volume/')).text, '[]');
    await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout: mirror });
    const {
      is_decrypted,
      mountpoint,
      name,
      vol_name,
      status,
      vol_encryptkey,
      vol_encrypt,
      is_upgraded,
      used,
      used_pct,
      avail,
      used_si,
      avail_si,
      total_si,
    } = await tank(box.api);
    assert.deepEqual(
      { is_decrypted, mountpoint, name, vol_name, status, vol_encryptkey, vol_encrypt, is_upgraded },
      {
        is_decrypted: true,
        mountpoint: '/mnt/tank',
        name: 'tank',
        vol_name: 'tank',
        status: 'HEALTHY',
        vol_encryptkey: '',
        vol_encrypt: 0,
        is_upgraded: true,
      },
    );
    assert.match(String(used), /^\d.* \(\d+%\)$/);
    assert.match(String(used_pct), /^\d+%$/);
    assert.ok(Number.isInteger(avail));
    for (const size of [used_si, avail_si, total_si]) assert.match(String(size), /^[\d.]+ \w+$/);
    assert.deepEqual(await box.api.expect(200, 'GET', 'storage/volume/1/'), await tank(box.api));
  });

  test('in the profile clients sizes are bytes, and those with units are absent', async () => {
    await using box = await boxWith(mirror, { profile: 'clients' });
    const record = await tank(box.api);
    assert.ok(Number.isInteger(record['used']) && Number.isInteger(record['avail']));
    assert.deepEqual(
      Object.keys(record).filter((name) => name.endsWith('_si')),
      [],
    );
    const tree = await box.api.list('storage/volume/tank/status/');
    assert.deepEqual([tree.length, tree[0]?.['pk'], tree[0]?.['type']], [1, 'tank', 'root']);
  });
});

describe('create and extend (gaps 11.2)', () => {
  test('every kind of data group makes a volume of its size rule, and one disk less does not', async () => {
    for (const [vdevtype, fewest] of Object.entries({ stripe: 1, mirror: 2, raidz: 3, raidz2: 4, raidz3: 5 })) {
      const disks = Array.from({ length: fewest }, (_, n) => `ada${n}`);
      await using box = await appliance();
      const create = (some: readonly string[]) =>
        box.api.post('storage/volume/', { volume_name: 'tank', layout: [{ vdevtype, disks: some }] });
      assert.equal((await create(disks.slice(1))).status, 409, vdevtype);
      assert.deepEqual(await box.api.list('storage/volume/'), []);
      assert.equal((await create(disks)).status, 201, vdevtype);
      const [group] = (await statusOf(box.api)).children;
      assert.equal(
        group?.name,
        { stripe: 'stripe', mirror: 'mirror-0', raidz: 'raidz1-0', raidz2: 'raidz2-0', raidz3: 'raidz3-0' }[vdevtype],
      );
    }
  });

  test('log, cache and spare groups join and are shown as trees of their own; two logs are a mirror', async () => {
    await using box = await boxWith(mirror);
    const extend = (layout: unknown) => box.api.post('storage/volume/', { volume_add: 'tank', layout });
    assert.equal((await extend([{ vdevtype: 'raidz', disks: ['ada2', 'ada3', 'ada4'] }])).status, 409);
    assert.equal((await extend([{ vdevtype: 'mirror', disks: ['ada2', 'ada3', 'ada4'] }])).status, 409);
    await box.api.expect(201, 'POST', 'storage/volume/', {
      volume_add: 'tank',
      layout: [
        { vdevtype: 'mirror', disks: ['ada2', 'ada3'] },
        { vdevtype: 'cache', disks: ['ada4'] },
        { vdevtype: 'log', disks: ['ada5', 'ada6'] },
        { vdevtype: 'spare', disks: ['ada7'] },
      ],
    });
    const tree = await statusOf(box.api);
    assert.deepEqual(
      tree.children.map(({ name, type, children }) => [
        name,
        type,
        children.map((child) => [child.name, child.status, child.type]),
      ]),
      [
        [
          'mirror-0',
          'vdev',
          [
            ['ada0', 'ONLINE', 'dev'],
            ['ada1', 'ONLINE', 'dev'],
          ],
        ],
        [
          'mirror-1',
          'vdev',
          [
            ['ada2', 'ONLINE', 'dev'],
            ['ada3', 'ONLINE', 'dev'],
          ],
        ],
        ['cache', 'root', [['ada4', 'ONLINE', 'vdev']]],
        ['spares', 'root', [['ada7', 'ONLINE', 'vdev']]],
        ['logs', 'root', [['mirror-2', 'ONLINE', 'vdev']]],
      ],
    );
    assert.equal(tree.children[3]?.children[0]?.children[0]?.status, 'AVAIL');
  });
});

describe('status values and transitions (gaps 11.3)', () => {
  test('offline: the device is OFFLINE, the volume DEGRADED; online: both are back', async () => {
    await using box = await boxWith(mirror);
    description(await act(box.api, 'offline', { label: 'ada0' }), 202, "Disk offline'd.");
    assert.deepEqual(
      [(await tank(box.api))['status'], await devicesOf(box.api)],
      [
        'DEGRADED',
        [
          ['ada0', 'OFFLINE'],
          ['ada1', 'ONLINE'],
        ],
      ],
    );
    failed(await act(box.api, 'offline', { label: 'ada1' }), /no valid replicas/);
    description(await act(box.api, 'online', { label: 'ada0' }), 202, "Disk online'd.");
    assert.equal((await tank(box.api))['status'], 'HEALTHY');
    failed(await act(box.api, 'offline', { label: 'gptid/none' }), /no device "gptid\/none"/);
    wrongField(await act(box.api, 'offline', {}), 'label', /required/);
  });

  test('replace: the guid names the old device; the new disk must be there, unused and empty, or forced', async () => {
    const clock = standingClock();
    await using box = await boxWith(mirror, { now: clock.now });
    box.machine.zfs.breakDisk('ada1');
    box.machine.zfs.partitionDisk('ada2');
    await using again = await box.restart();
    const { api, machine } = again;
    assert.deepEqual(
      [(await tank(api))['status'], await devicesOf(api)],
      [
        'DEGRADED',
        [
          ['ada0', 'ONLINE'],
          ['ada1', 'UNAVAIL'],
        ],
      ],
    );
    const label = (await machine.zfs.pools())[0]?.groups[0]?.devices[1]?.guid;
    wrongField(
      await act(api, 'replace', { label, replace_disk: 'ada99' }),
      'replace_disk',
      /disk ada99 does not exist/,
    );
    wrongField(await act(api, 'replace', { label, replace_disk: 'ada0' }), 'replace_disk', /in use/);
    wrongField(await act(api, 'replace', { label, replace_disk: 'ada2' }), 'force', /not empty/);
    wrongField(await act(api, 'replace', { replace_disk: 'ada2' }), 'label', /required/);
    description(
      await act(api, 'replace', { label, replace_disk: 'ada2', force: true }),
      202,
      'Disk replacement started.',
    );
    const during = await api.expect(200, 'GET', 'storage/volume/tank/status/');
    const began = Math.floor(clock.now() / 1000);
    assert.deepEqual(during['scan'], { kind: 'resilver', state: 'running', percent: 0, errors: 0, began });
    failed(await act(api, 'scrub'), /currently resilvering/);
    clock.advance(60_000);
    description(await act(api, 'scrub'), 202, 'Volume scrub started.');
    assert.deepEqual(
      [(await tank(api))['status'], await devicesOf(api)],
      [
        'HEALTHY',
        [
          ['ada0', 'ONLINE'],
          ['ada2', 'ONLINE'],
        ],
      ],
    );
  });

  test('replace: a smaller disk is refused by its field', async () => {
    await using box = await boxWith([{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }], {
      disks: [4 * GiB, 4 * GiB, GiB],
    });
    wrongField(await act(box.api, 'replace', { label: 'ada0', replace_disk: 'ada2' }), 'replace_disk', /too small/);
  });

  test('detach: a device leaves its mirror; from what is none it does not', async () => {
    await using box = await boxWith(mirror);
    description(await act(box.api, 'detach', { label: 'ada0' }), 202, 'Disk detached.');
    assert.deepEqual(await devicesOf(box.api), [['ada1', 'ONLINE']]);
    failed(await act(box.api, 'detach', { label: 'ada1' }), /only applicable to mirror/);
    assert.equal((await box.api.list('storage/disk/')).length, 8);
    await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'other', layout: stripe });
  });

  test('a spare steps in for a failed disk, leaves when that is replaced, and is put in by request too', async () => {
    const clock = standingClock();
    const withSpare = [...mirror, { vdevtype: 'spare', disks: ['ada2'] }];
    await using box = await boxWith(withSpare, { now: clock.now });
    const { api, machine } = box;
    const spares = async () => {
      const { children } = await statusOf(api);
      return children
        .find(({ name }) => name === 'spares')
        ?.children[0]?.children.map(({ name, status }) => [name, status]);
    };
    const spareMessages = async () =>
      (await api.list('system/alert/')).map(({ message }) => String(message)).filter((text) => text.includes('spare'));
    assert.deepEqual(await spareMessages(), []);
    machine.zfs.breakDisk('ada1');
    await box.engine.renew('storage');
    assert.deepEqual(await dataDevicesOf(api), [
      ['ada0', 'ONLINE'],
      ['ada1', 'UNAVAIL'],
      ['ada2', 'ONLINE'],
    ]);
    assert.deepEqual(await spares(), [['ada2', 'INUSE']]);
    assert.match((await spareMessages()).join(), /The spare ada2 stands in for a disk of the volume tank/);
    failed(await act(api, 'remove', { label: 'ada2' }), /stands in for a disk of tank. Detach the spare/);
    wrongField(await act(api, 'replace', { label: 'ada0', replace_disk: 'ada2' }), 'replace_disk', /Detach it first/);
    clock.advance(60_000);
    description(await act(api, 'replace', { label: 'ada1', replace_disk: 'ada3' }), 202, 'Disk replacement started.');
    clock.advance(60_000);
    await box.engine.renew('storage');
    assert.deepEqual(await dataDevicesOf(api), [
      ['ada0', 'ONLINE'],
      ['ada3', 'ONLINE'],
    ]);
    assert.deepEqual(
      [(await tank(api))['status'], await spares(), await spareMessages()],
      ['HEALTHY', [['ada2', 'AVAIL']], []],
    );

    description(await act(api, 'replace', { label: 'ada0', replace_disk: 'ada2' }), 202, 'Disk replacement started.');
    failed(await act(api, 'detach', { label: 'ada0' }), /no valid replicas/);
    clock.advance(60_000);
    description(await act(api, 'detach', { label: 'ada0' }), 202, 'Disk detached.');
    assert.deepEqual(await dataDevicesOf(api), [
      ['ada2', 'ONLINE'],
      ['ada3', 'ONLINE'],
    ]);
    assert.equal(await spares(), undefined);
  });

  test('a spare steps back when its disk works again; without the event daemon none steps in, and that is reported', async () => {
    const clock = standingClock();
    await using box = await boxWith([...mirror, { vdevtype: 'spare', disks: ['ada2'] }], { now: clock.now });
    const { api, machine } = box;
    machine.zfs.breakDisk('ada1');
    await box.engine.renew('storage');
    machine.zfs.mendDisk('ada1');
    await box.engine.renew('storage');
    assert.deepEqual(await dataDevicesOf(api), [
      ['ada0', 'ONLINE'],
      ['ada1', 'ONLINE'],
    ]);
    await machine.services.stop('zfs-zed');
    machine.zfs.breakDisk('ada1');
    await box.engine.renew('storage', 'services');
    assert.deepEqual(await dataDevicesOf(api), [
      ['ada0', 'ONLINE'],
      ['ada1', 'UNAVAIL'],
    ]);
    const messages = async () => (await api.list('system/alert/')).map(({ message }) => String(message)).join();
    assert.match(await messages(), /The volume tank has spares, but zfs-zed, .* does not run/);
    const ended = new Promise<void>((resolve) => {
      box.engine.events.listen(({ name }) => name === 'job.ended' && resolve());
    });
    clock.advance(60_000);
    box.engine.lookAtClock();
    await ended;
    assert.deepEqual((await dataDevicesOf(api)).at(-1), ['ada2', 'ONLINE']);
  });

  test('detach: a cache, a spare and a log leave as with remove, and their disks are free at once', async () => {
    await using box = await boxWith([
      ...mirror,
      { vdevtype: 'cache', disks: ['ada2'] },
      { vdevtype: 'spare', disks: ['ada3'] },
      { vdevtype: 'log', disks: ['ada4'] },
    ]);
    for (const label of ['ada2', 'ada3', 'ada4'])
      description(await act(box.api, 'detach', { label }), 202, 'Disk detached.');
    assert.deepEqual(await dataDevicesOf(box.api), [
      ['ada0', 'ONLINE'],
      ['ada1', 'ONLINE'],
    ]);
    const layout = [{ vdevtype: 'stripe', disks: ['ada2', 'ada3', 'ada4'] }];
    await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'other', layout });
  });

  test('remove: a cache, a spare and a log leave, data does not', async () => {
    await using box = await boxWith([
      { vdevtype: 'stripe', disks: ['ada0', 'ada1'] },
      { vdevtype: 'cache', disks: ['ada2'] },
      { vdevtype: 'spare', disks: ['ada3'] },
      { vdevtype: 'log', disks: ['ada4', 'ada5'] },
    ]);
    failed(await act(box.api, 'remove', { label: 'ada4' }), /part of the mirrored log mirror-2/);
    for (const label of ['ada2', 'ada3', 'mirror-2'])
      description(await act(box.api, 'remove', { label }), 202, 'Disk removed.');
    failed(await act(box.api, 'remove', { label: 'ada0' }), /is a data device/);
    assert.deepEqual(await devicesOf(box.api), [
      ['ada0', 'ONLINE'],
      ['ada1', 'ONLINE'],
    ]);
  });

  test('upgrade: is_upgraded turns true', async () => {
    const clock = standingClock();
    await using box = await boxWith(stripe, { now: clock.now });
    box.machine.zfs.outdate('tank');
    await using again = await box.restart();
    assert.equal((await tank(again.api))['is_upgraded'], false);
    description(await act(again.api, 'upgrade'), 202, 'Volume has been upgraded.');
    assert.equal((await tank(again.api))['is_upgraded'], true);
  });

  test('scrub: started and stopped; one that runs, or none that runs, is a failure; the status stays', async () => {
    const clock = standingClock();
    await using box = await boxWith(stripe, { now: clock.now });
    failed(await act(box.api, 'scrub', undefined, 'DELETE'), /no active scrub/);
    description(await act(box.api, 'scrub'), 202, 'Volume scrub started.');
    failed(await act(box.api, 'scrub'), /currently scrubbing/);
    assert.equal((await tank(box.api))['status'], 'HEALTHY');
    description(await act(box.api, 'scrub', undefined, 'DELETE'), 202, 'Volume scrub stopped.');
  });

  test('a volume that is not there is 404 with nothing in it', async () => {
    await using box = await appliance();
    for (const action of [
      'scrub',
      'upgrade',
      'replace',
      'offline',
      'online',
      'detach',
      'remove',
      'unlock',
      'lock',
      'rekey',
      'recoverykey',
      'keypassphrase',
    ])
      description(await act(box.api, action, {}), 404, '');
  });

  test('UNKNOWN: the pool is not there', async () => {
    const clock = standingClock();
    await using box = await boxWith(stripe, { now: clock.now });
    await box.host.zfs.destroyPool('tank');
    await using again = await box.restart();
    const { status, used_pct, children } = await tank(again.api);
    assert.deepEqual({ status, used_pct, children }, { status: 'UNKNOWN', used_pct: 'Error', children: [] });
    failed(await act(again.api, 'offline', { label: 'ada0' }), /not imported/);
  });
});

describe('delete (gaps 11.4)', () => {
  test('with destroy false the data stays and can be imported; cascade takes the shares, and leaves them when it is false', async () => {
    await using box = await boxWith(stripe);
    await box.host.files.write('/mnt/tank/file', 'content');
    await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank', cifs_name: 'all' });
    await box.api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank'] });
    assert.equal((await box.api.delete('storage/volume/1/', { destroy: false, cascade: false })).status, 204);
    assert.deepEqual(
      [(await box.api.list('sharing/cifs/')).length, (await box.api.list('sharing/nfs/')).length],
      [1, 1],
    );
    assert.equal((await box.api.list('storage/volume_import/')).length, 1);
    const [found] = await box.api.list('storage/volume_import/');
    description(await box.api.post('storage/volume_import/', { volume_id: found?.['id'] }), 202, '"Volume imported."');
    assert.equal(await box.host.files.read('/mnt/tank/file'), 'content');
    const { id } = await tank(box.api);
    assert.equal((await box.api.delete(`storage/volume/${String(id)}/`)).status, 204);
    assert.deepEqual(
      [
        await box.api.list('sharing/cifs/'),
        await box.api.list('sharing/nfs/'),
        await box.api.list('storage/volume/'),
        await box.api.list('storage/volume_import/'),
      ],
      [[], [], [], []],
    );
  });
});

describe('import (gaps 11.6)', () => {
  const layout = [...mirror, { vdevtype: 'cache', disks: ['ada2'] }];

  test('the long form of the document', async () => {
    await using box = await boxWith(layout);
    const { vol_guid } = await tank(box.api);
    await box.api.expect(204, 'DELETE', 'storage/volume/1/', { destroy: false });
    const disks = (...names: readonly string[]) => names.map((name) => ({ name, status: 'ONLINE' }));
    assert.deepEqual(await box.api.list('storage/volume_import/'), [
      {
        id: `tank|${String(vol_guid)}`,
        label: 'tank',
        type: 'zfs',
        group_type: 'none',
        log: null,
        spare: null,
        cache: {
          name: 'cache',
          status: 'ONLINE',
          numVdevs: 1,
          vdevs: [{ name: 'ada2', type: 'cache', status: 'ONLINE', numDisks: 1, disks: disks('ada2') }],
        },
        disks: {
          name: 'tank',
          status: 'ONLINE',
          numVdevs: 1,
          vdevs: [{ name: 'mirror-0', type: 'mirror', status: 'ONLINE', numDisks: 2, disks: disks('ada0', 'ada1') }],
        },
      },
    ]);
    wrongField(
      await box.api.post('storage/volume_import/', { volume_id: 'tank' }),
      'volume_id',
      /No importable volume/,
    );
    wrongField(await box.api.post('storage/volume_import/', {}), 'volume_id', /required/);
    description(
      await box.api.post('storage/volume_import/', { volume_id: `tank|${String(vol_guid)}` }),
      202,
      '"Volume imported."',
    );
    assert.deepEqual([(await tank(box.api))['vol_guid'], await box.api.list('storage/volume_import/')], [vol_guid, []]);
  });

  test('the short form of the profile clients', async () => {
    await using box = await boxWith(layout, { profile: 'clients' });
    const { vol_guid: guid } = await tank(box.api);
    await box.api.expect(204, 'DELETE', 'storage/volume/1/', { destroy: false });
    assert.deepEqual(await box.api.list('storage/volume_import/'), [
      { id: `tank|${String(guid)}`, name: 'tank', guid, status: 'ONLINE', hostname: '' },
    ]);
  });

  test('a name that another volume has taken meanwhile is refused', async () => {
    await using box = await boxWith(stripe);
    await box.api.expect(204, 'DELETE', 'storage/volume/1/', { destroy: false });
    await box.api.expect(201, 'POST', 'storage/volume/', {
      volume_name: 'tank',
      layout: [{ vdevtype: 'stripe', disks: ['ada1'] }],
    });
    const [found] = await box.api.list('storage/volume_import/');
    wrongField(
      await box.api.post('storage/volume_import/', { volume_id: found?.['id'] }),
      'volume_id',
      /Another volume already has the name tank/,
    );
  });

  test('a pool is not importable while it is a pool of the machine, whatever the look at the disks still says', async () => {
    let seen: readonly ImportablePool[] = [];
    const importable = async (host: Host) => {
      const found = await host.zfs.importable();
      seen = found.length === 0 ? seen : found;
      return seen;
    };
    await using box = await boxWith(stripe, {
      around: (host) => ({
        ...host,
        zfs: new Proxy(host.zfs, {
          get: (port, name): unknown => (name === 'importable' ? () => importable(host) : Reflect.get(port, name)),
        }),
        close: () => host.close(),
      }),
    });
    await box.api.expect(204, 'DELETE', 'storage/volume/1/', { destroy: false });
    const [found] = await box.api.list('storage/volume_import/');
    const send = () => box.api.post('storage/volume_import/', { volume_id: found?.['id'] });
    description(await send(), 202, '"Volume imported."');
    assert.equal(seen.length, 1);
    assert.deepEqual(await box.api.list('storage/volume_import/'), []);
    assert.deepEqual((await box.api.expect(200, 'GET', '/api/holdfast/v1/found'))['importable'], []);
    wrongField(await send(), 'volume_id', /The pool tank is imported already/);
  });

  test('a volume that another machine used last is imported only when a person asks for it', async () => {
    await using box = await boxWith(stripe, { profile: 'clients', now: standingClock().now });
    await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'kept' });
    const { vol_guid: guid } = await tank(box.api);
    box.machine.zfs.useElsewhere('tank', 'attic');
    await using again = await box.restart();
    assert.equal((await again.host.zfs.pools()).length, 0);
    const messages = (await again.api.list('system/alert/')).map(({ message }) => String(message));
    assert.ok(
      messages.some((message) => /The volume tank is not imported\. The machine attic used it last/.test(message)),
      messages.join('\n'),
    );
    const [found] = await again.api.list('storage/volume_import/');
    assert.deepEqual([found?.['guid'], found?.['hostname']], [guid, 'attic']);
    await again.api.expect(202, 'POST', 'storage/volume_import/', { volume_id: found?.['id'] });
    assert.equal((await tank(again.api))['status'], 'HEALTHY');
    assert.ok((await again.host.zfs.datasets()).some(({ name }) => name === 'tank/kept'));
    assert.equal((await again.api.list('storage/volume/')).length, 1);
  });

  test('a volume that nobody has imported is taken up when the daemon starts', async () => {
    await using box = await boxWith(stripe, { now: standingClock().now });
    await box.host.zfs.exportPool('tank');
    await using again = await box.restart();
    assert.equal((await tank(again.api))['status'], 'HEALTHY');
  });
});

describe('encrypted volumes (gaps 11.3)', () => {
  const pass = { passphrase: 'open sesame', passphrase2: 'open sesame' };
  const level = async (api: Api) => {
    const { vol_encrypt, is_decrypted, status } = await tank(api);
    return [vol_encrypt, is_decrypted, status];
  };

  test('create: vol_encrypt 1, the key has a name; datasets below are encrypted too', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    assert.deepEqual(await level(box.api), [1, true, 'HEALTHY']);
    assert.match(String((await tank(box.api))['vol_encryptkey']), /^[\da-f-]{36}$/);
    await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'a' });
    assert.equal((await box.host.zfs.datasets()).find(({ name }) => name === 'tank/a')?.key, 'available');
  });

  test('lock: LOCKED and undecrypted, used is Locked; unlock by passphrase: HEALTHY, with what was in it', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    await box.host.files.write('/mnt/tank/file', 'content');
    description(await act(box.api, 'keypassphrase', pass), 201, 'Volume passphrase has been set');
    assert.deepEqual(await level(box.api), [2, true, 'HEALTHY']);
    description(await act(box.api, 'lock'), 202, 'Volume has been locked.');
    assert.deepEqual(await level(box.api), [2, false, 'LOCKED']);
    const { used, avail } = await tank(box.api);
    assert.deepEqual([used, avail], ['Locked', 'Locked']);
    assert.deepEqual(await box.api.expect(200, 'GET', 'storage/volume/1/status/'), {
      id: 1,
      pk: '1',
      name: 'tank',
      status: 'LOCKED',
    });
    assert.equal(await box.host.files.read('/mnt/tank/file'), undefined);
    forbidden(await act(box.api, 'lock'), /already locked/);
    wrongField(await act(box.api, 'unlock', {}), '__all__', /Send passphrase or recovery_key/);
    assert.match(JSON.stringify(await box.api.list('system/alert/')), /The volume tank is locked/);
    failed(await act(box.api, 'unlock', { passphrase: 'open barley' }), /does not unlock/);
    assert.deepEqual(await level(box.api), [2, false, 'LOCKED']);
    description(
      await act(box.api, 'unlock', { passphrase: 'open sesame', services: ['cifs', 'jails'] }),
      202,
      'Volume has been unlocked.',
    );
    assert.equal(await box.host.files.read('/mnt/tank/file'), 'content');
    forbidden(await act(box.api, 'unlock', { passphrase: 'open sesame' }), /not locked/);
  });

  test('unlock without a secret: the key of the machine opens a volume that has no passphrase', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    await box.host.files.write('/mnt/tank/file', 'content');
    description(await act(box.api, 'lock'), 202, 'Volume has been locked.');
    description(await act(box.api, 'unlock', {}), 202, 'Volume has been unlocked.');
    assert.equal(await box.host.files.read('/mnt/tank/file'), 'content');
    assert.deepEqual(await level(box.api), [1, true, 'HEALTHY']);
    assert.doesNotMatch(JSON.stringify(await box.api.list('system/alert/')), /is locked/);
    await using again = await box.restart();
    assert.deepEqual(await level(again.api), [1, true, 'HEALTHY']);
  });

  test('replace: pass may be sent, and must then be the passphrase', async () => {
    await using box = await boxWith(mirror, { encryption: true });
    await act(box.api, 'keypassphrase', pass);
    const disks = { label: 'ada1', replace_disk: 'ada2' };
    wrongField(await act(box.api, 'replace', { ...disks, pass: 'open barley' }), 'pass', /Incorrect passphrase/);
    description(await act(box.api, 'replace', { ...disks, pass: 'open sesame' }), 202, 'Disk replacement started.');
  });

  test('keypassphrase: changed and removed with the password of root, refused without', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    wrongField(await act(box.api, 'keypassphrase', { ...pass, passphrase2: 'other' }), 'passphrase2', /differ/);
    wrongField(await act(box.api, 'keypassphrase', {}), 'passphrase', /required/);
    await act(box.api, 'keypassphrase', pass);
    const put = (body: unknown) => act(box.api, 'keypassphrase', body, 'PUT');
    wrongField(await put({ adminpw: 'guess', passphrase: 'x' }), 'adminpw', /Incorrect password/);
    wrongField(await put({ passphrase: 'x' }), 'adminpw', /required/);
    wrongField(await put({ adminpw: rootPassword }), 'passphrase', /required/);
    wrongField(await put({ adminpw: rootPassword, passphrase: 'x', passphrase2: 'y' }), 'passphrase2', /differ/);
    description(await put({ adminpw: rootPassword, passphrase: 'new words' }), 201, 'Volume passphrase has been set');
    await act(box.api, 'lock');
    failed(await act(box.api, 'unlock', { passphrase: 'open sesame' }), /does not unlock/);
    description(await act(box.api, 'unlock', { passphrase: 'new words' }), 202, 'Volume has been unlocked.');
    description(await put({ adminpw: rootPassword, remove: true }), 201, 'Volume passphrase has been removed');
    assert.deepEqual(await level(box.api), [1, true, 'HEALTHY']);
  });

  test('recoverykey: opens the volume, the next one ends the former, and a removed one opens nothing', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    const add = async () => {
      const { message, content } = await box.api.expect(202, 'POST', 'storage/volume/tank/recoverykey/');
      assert.equal(message, 'New recovery key has been added.');
      return String(content);
    };
    const first = await add();
    const second = await add();
    await act(box.api, 'lock');
    failed(await act(box.api, 'unlock', { recovery_key: first }), /does not unlock/);
    wrongField(await act(box.api, 'unlock', { recovery_key: 'short' }), 'recovery_key', /32 bytes/);
    failed(await act(box.api, 'recoverykey'), /is locked/);
    description(await act(box.api, 'unlock', { recovery_key: second }), 202, 'Volume has been unlocked.');
    await act(box.api, 'keypassphrase', pass);
    description(await act(box.api, 'recoverykey', undefined, 'DELETE'), 204, '');
    description(await act(box.api, 'recoverykey', undefined, 'DELETE'), 204, '');
    await act(box.api, 'lock');
    failed(await act(box.api, 'unlock', { recovery_key: second }), /does not unlock/);
  });

  test('rekey: a new key, the passphrase and the recovery key are dropped (2 becomes 1)', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    await act(box.api, 'keypassphrase', pass);
    const { content } = await box.api.expect(202, 'POST', 'storage/volume/tank/recoverykey/');
    const before = (await tank(box.api))['vol_encryptkey'];
    description(await act(box.api, 'rekey', {}), 202, 'Volume has been rekeyed.');
    assert.deepEqual(await level(box.api), [1, true, 'HEALTHY']);
    assert.notEqual((await tank(box.api))['vol_encryptkey'], before);
    await act(box.api, 'lock');
    for (const body of [{ passphrase: 'open sesame' }, { recovery_key: content }])
      failed(await act(box.api, 'unlock', body), /does not unlock/);
  });

  test('a device goes offline, and does not come back online', async () => {
    await using box = await boxWith(mirror, { encryption: true });
    description(await act(box.api, 'offline', { label: 'ada0' }), 202, "Disk offline'd.");
    failed(await act(box.api, 'online', { label: 'ada0' }), /encrypted/);
  });

  test('a plain volume has nothing to lock, unlock, rekey or protect', async () => {
    await using box = await boxWith(stripe);
    for (const [action, body] of [
      ['lock', {}],
      ['unlock', { passphrase: 'x' }],
      ['keypassphrase', pass],
    ] as const)
      forbidden(await act(box.api, action, body), /not encrypted/);
    for (const action of ['rekey', 'recoverykey']) failed(await act(box.api, action), /not encrypted/);
    failed(await act(box.api, 'recoverykey', undefined, 'DELETE'), /not encrypted/);
  });

  test('when the machine starts anew a volume without a passphrase opens by itself, one with a passphrase waits', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    box.machine.zfs.losePower();
    await using again = await box.restart();
    assert.deepEqual(await level(again.api), [1, true, 'HEALTHY']);
    await act(again.api, 'keypassphrase', pass);
    again.machine.zfs.losePower();
    await using third = await again.restart();
    assert.deepEqual(await level(third.api), [2, false, 'LOCKED']);
    description(await act(third.api, 'unlock', { passphrase: 'open sesame' }), 202, 'Volume has been unlocked.');
  });

  test('one that was locked by hand stays so when the daemon starts anew, and opens when it is imported', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    await act(box.api, 'lock');
    await using again = await box.restart();
    assert.deepEqual(await level(again.api), [1, false, 'LOCKED']);
    await again.api.expect(204, 'DELETE', 'storage/volume/1/', { destroy: false });
    const [found] = await again.api.list('storage/volume_import/');
    description(
      await again.api.post('storage/volume_import/', { volume_id: found?.['id'] }),
      202,
      '"Volume imported."',
    );
    assert.deepEqual(await level(again.api), [1, true, 'HEALTHY']);
  });

  test('on another machine the passphrase opens it, whatever the first machine knew', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    await box.host.files.write('/mnt/tank/file', 'content');
    await act(box.api, 'keypassphrase', pass);
    await box.api.expect(204, 'DELETE', 'storage/volume/1/', { destroy: false });
    await using other = await elsewhere(box);
    const [found] = await other.api.list('storage/volume_import/');
    description(
      await other.api.post('storage/volume_import/', { volume_id: found?.['id'] }),
      202,
      '"Volume imported."',
    );
    assert.deepEqual(await level(other.api), [2, false, 'LOCKED']);
    description(await act(other.api, 'unlock', { passphrase: 'open sesame' }), 202, 'Volume has been unlocked.');
    assert.equal(await other.host.files.read('/mnt/tank/file'), 'content');
    await other.api.expect(202, 'POST', 'storage/volume/tank/recoverykey/');
  });

  test('a passphrase is in no log, no job and no revision', async () => {
    await using box = await boxWith(stripe, { encryption: true });
    await act(box.api, 'keypassphrase', pass);
    await act(box.api, 'lock');
    await act(box.api, 'unlock', { passphrase: 'open sesame' });
    const told = [
      JSON.stringify(box.log),
      (await box.api.get('/api/holdfast/v1/jobs')).text,
      (await box.api.get('/api/holdfast/v1/revisions')).text,
    ];
    for (const text of told) assert.ok(!text.includes('sesame'), text.slice(0, 500));
  });
});

/** The disks of an appliance in another one, which has never seen them. */
async function elsewhere(box: Appliance): Promise<Appliance> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  cpSync(join(box.folder, 'virtual'), join(folder, 'virtual'), { recursive: true });
  rmSync(join(folder, 'virtual', 'root', 'run'), { recursive: true, force: true });
  return appliance({ folder });
}

/** A host whose power fails after so many calls that change something: nothing is done from then on, also nothing is taken back. */
function powered(host: Host, power: { left: number }): Host {
  const looks = new Set<PropertyKey>(['pools', 'datasets', 'snapshots', 'importable', 'isKey', 'read', 'kind']);
  const wrap = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        if (key === 'watch') return (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        return async (...args: unknown[]): Promise<unknown> => {
          if (power.left <= 0) throw new HostError('there is no power');
          if (!looks.has(key)) power.left -= 1;
          return Reflect.apply(value, target, args);
        };
      },
    });
  return { ...host, zfs: wrap(host.zfs), files: wrap(host.files), close: () => host.close() };
}

describe('a power cut between any two steps never loses the data of an encrypted volume', () => {
  const trials = [
    { title: 'rekey', send: (api: Api) => act(api, 'rekey') },
    {
      title: 'set a passphrase',
      send: (api: Api) => act(api, 'keypassphrase', { passphrase: 'second', passphrase2: 'second' }),
    },
    {
      title: 'remove the passphrase',
      send: (api: Api) => act(api, 'keypassphrase', { adminpw: rootPassword, remove: true }, 'PUT'),
    },
    { title: 'add a recovery key', send: (api: Api) => act(api, 'recoverykey') },
  ];

  /** A volume with a passphrase, on which the request has lost power after `n` changes; and whether it got through. */
  async function cutAfter(
    n: number,
    send: (api: Api) => Promise<ApiAnswer>,
  ): Promise<{ readonly box: Appliance; readonly power: { left: number }; readonly done: boolean }> {
    const power = { left: Number.POSITIVE_INFINITY };
    const box = await boxWith(stripe, {
      encryption: true,
      now: standingClock().now,
      around: (host) => powered(host, power),
    });
    await box.host.files.write('/mnt/tank/file', 'content');
    description(
      await act(box.api, 'keypassphrase', { passphrase: 'first', passphrase2: 'first' }),
      201,
      'Volume passphrase has been set',
    );
    power.left = n;
    const { status } = await send(box.api);
    box.machine.zfs.losePower();
    rmSync(join(box.folder, 'virtual', 'root', 'run'), { recursive: true, force: true });
    power.left = Number.POSITIVE_INFINITY;
    return { box, power, done: status < 300 };
  }

  async function mustOpen({ api, host }: Appliance, told: string): Promise<void> {
    if ((await tank(api))['status'] === 'LOCKED') {
      const answers = [
        await act(api, 'unlock', { passphrase: 'first' }),
        await act(api, 'unlock', { passphrase: 'second' }),
      ];
      assert.ok(
        answers.some(({ status }) => status === 202),
        `${told}: ${answers.map(({ text }) => text).join(' ')}`,
      );
    }
    assert.equal((await tank(api))['status'], 'HEALTHY', told);
    assert.equal(await host.files.read('/mnt/tank/file'), 'content', told);
    // And all of it goes on from there.
    description(await act(api, 'rekey'), 202, 'Volume has been rekeyed.');
  }

  for (const [place, { title, send }] of trials.entries()) {
    test(`${title}, and the machine starts anew`, async () => {
      for (let n = 0; ; n += 1) {
        const cut = await cutAfter(n, send);
        await using _ = cut.box;
        await using after = await cut.box.restart();
        await mustOpen(after, `${title}, cut after ${n} changes`);
        if (cut.done) return;
        assert.ok(n < 20, 'it never got through');
      }
    });

    // The two that are most unlike: one changes the key, the other what it is wrapped by.
    if (place > 1) continue;
    test(`${title}, and only the disks are left, which another machine gets`, async () => {
      for (let n = 0; ; n += 1) {
        const cut = await cutAfter(n, send);
        await using box = cut.box;
        const slots = readSlots((await box.machine.zfs.datasets())[0]?.keySlots);
        // From the moment that the passphrase is given up, the machine that gave it up is needed.
        if (slots === undefined || !hasPassphrase(slots)) return;
        await box.machine.zfs.exportPool('tank');
        await using other = await elsewhere(box);
        const [found] = await other.api.list('storage/volume_import/');
        description(
          await other.api.post('storage/volume_import/', { volume_id: found?.['id'] }),
          202,
          '"Volume imported."',
        );
        await mustOpen(other, `${title}, cut after ${n} changes`);
        if (cut.done) return;
        assert.ok(n < 20, 'it never got through');
      }
    });
  }
});
