import { isObject } from '../../src/lib/json.ts';
import { ask, askList, askRecord, askRefused, askText, ensure, recordIn } from '../expect.ts';
import { each, either, flag, integer, list, maybe, oneOf, schedule, text, texts } from '../kinds.ts';
import { type Area, type Body, collection, story } from '../resource.ts';
import { listed } from '../walk.ts';
import type { World } from '../world.ts';

const volume = {
  id: integer,
  ...each(
    text,
    'name',
    'vol_name',
    'vol_guid',
    'mountpoint',
    'status',
    'used_si',
    'avail_si',
    'total_si',
    'used_pct',
    'vol_encryptkey',
  ),
  used: either(text, integer),
  vol_encrypt: integer,
  is_decrypted: flag,
  children: list,
};

const path = (name: string) => `storage/volume/${name}`;

/** The volume that everything else lies on. */
const theVolume = story('storage/volume', async (step, world) => {
  const { volume: name } = world.target;
  if ((await world.api.get(`${path(name)}/`)).status === 404)
    await step('is created', () => create(world, name, [{ vdevtype: 'stripe', disks: [world.disk()] }]));
  await step('is read by its name', async () => {
    const record = await askRecord(world, 200, 'GET', `${path(name)}/`, volume);
    ensure(record['status'] === 'HEALTHY', `its status is ${String(record['status'])}`);
    await askRecord(world, 200, 'GET', `${path(String(record['id']))}/`, volume);
  });
  await listed('storage/volume', (record) => String(record['vol_name']), volume, step, world);
});

function create(world: World, volume_name: string, layout: readonly Body[], more: Body = {}): Promise<Body> {
  return askRecord(world, 201, 'POST', 'storage/volume/', volume, { volume_name, layout, ...more });
}

/** Makes a volume for the time of one tale and removes it, disks and all. */
async function withVolume(
  world: World,
  layout: readonly { readonly vdevtype: string; readonly disks: number }[],
  more: Body,
  tell: (name: string, disks: readonly string[]) => Promise<void>,
): Promise<void> {
  const name = world.name('pool');
  const groups = layout.map(({ vdevtype, disks }) => ({
    vdevtype,
    disks: Array.from({ length: disks }, () => world.disk()),
  }));
  const disks = groups.flatMap((group) => group.disks);
  try {
    await create(world, name, groups, more);
    await tell(name, disks);
  } finally {
    const { status } = await world.api.delete(`${path(name)}/`, { destroy: true, cascade: true });
    if (status === 204) world.giveBack({ disks });
  }
}

const does = (world: World, name: string, method: string, segment: string, text_: string, body?: Body, status = 202) =>
  askText(world, status, method, `${path(name)}/${segment}/`, text_, body);

/** The devices of a status tree: its leaves. */
function leaves(node: unknown): readonly Body[] {
  if (!isObject(node)) return [];
  const { children } = node;
  return Array.isArray(children) && children.length > 0 ? children.flatMap(leaves) : [node];
}

async function devices(world: World, name: string): Promise<readonly Body[]> {
  const { json } = await ask(world, 200, 'GET', `${path(name)}/status/`);
  return leaves(Array.isArray(json) ? json[0] : json);
}

async function statusOf(world: World, name: string): Promise<unknown> {
  return (await askRecord(world, 200, 'GET', `${path(name)}/`, volume))['status'];
}

const layouts = story('storage/volume', async (step, world) => {
  for (const [vdevtype, disks] of [
    ['stripe', 1],
    ['mirror', 2],
    ['raidz', 3],
    ['raidz2', 4],
    ['raidz3', 5],
  ] as const)
    await step(`vdevtype may be ${vdevtype}`, () =>
      withVolume(world, [{ vdevtype, disks }], {}, async (name) =>
        ensure((await statusOf(world, name)) === 'HEALTHY', 'it is not healthy'),
      ),
    );
  await step('vdevtype may be nothing else', () =>
    askRefused(world, 'POST', 'storage/volume/', {
      volume_name: world.name('pool'),
      layout: [{ vdevtype: 'raidz9', disks: ['no-such-disk'] }],
    }),
  );
  await step('is extended', () =>
    withVolume(world, [{ vdevtype: 'stripe', disks: 1 }], {}, async (name) => {
      const disk = world.disk();
      await askRecord(world, 201, 'POST', 'storage/volume/', volume, {
        volume_add: name,
        layout: [{ vdevtype: 'stripe', disks: [disk] }],
      });
    }),
  );
});

const maintenance = story('storage/volume', async (step, world) => {
  await step('is scrubbed, and the scrub stopped', () =>
    withVolume(world, [{ vdevtype: 'stripe', disks: 1 }], {}, async (name) => {
      await does(world, name, 'POST', 'scrub', 'Volume scrub started.');
      await does(world, name, 'DELETE', 'scrub', 'Volume scrub stopped.');
    }),
  );
  await step('is upgraded', () =>
    withVolume(world, [{ vdevtype: 'stripe', disks: 1 }], {}, (name) =>
      does(world, name, 'POST', 'upgrade', 'Volume has been upgraded.'),
    ),
  );
  await step('has a status tree', () =>
    withVolume(world, [{ vdevtype: 'mirror', disks: 2 }], {}, async (name) => {
      const node = { id: integer, ...each(text, 'name', 'status', 'read', 'write', 'cksum') };
      const { json } = await ask(world, 200, 'GET', `${path(name)}/status/`);
      const root = recordIn(
        Array.isArray(json) ? json[0] : json,
        { ...node, type: oneOf('root'), pk: text, children: list },
        'the root',
      );
      const vdev = recordIn(
        Array.isArray(root['children']) ? root['children'][0] : undefined,
        { ...node, type: oneOf('vdev'), children: list },
        'a vdev',
      );
      for (const device of leaves(vdev)) recordIn(device, { ...node, type: oneOf('dev'), label: text }, 'a device');
    }),
  );
  await step('loses a disk and gets it back, and loses it for good', () =>
    withVolume(world, [{ vdevtype: 'mirror', disks: 3 }], {}, async (name) => {
      const [device] = await devices(world, name);
      const body = { label: device?.['label'] };
      await does(world, name, 'POST', 'offline', "Disk offline'd.", body);
      ensure((await statusOf(world, name)) === 'DEGRADED', 'it is not degraded');
      await does(world, name, 'POST', 'online', "Disk online'd.", body);
      ensure((await statusOf(world, name)) === 'HEALTHY', 'it is not healthy again');
      await does(world, name, 'POST', 'detach', 'Disk detached.', body);
      ensure((await devices(world, name)).length === 2, 'the disk is still there');
    }),
  );
  await step('has a disk replaced', () =>
    withVolume(world, [{ vdevtype: 'mirror', disks: 2 }], {}, async (name) => {
      const [device] = await devices(world, name);
      await does(world, name, 'POST', 'replace', 'Disk replacement started.', {
        label: device?.['label'],
        replace_disk: world.disk(),
        force: true,
      });
    }),
  );
  await step('has a cache removed', () =>
    withVolume(
      world,
      [
        { vdevtype: 'stripe', disks: 1 },
        { vdevtype: 'cache', disks: 1 },
      ],
      {},
      async (name, disks) => {
        const cache = (await devices(world, name)).find(
          (device) => String(device['name']).startsWith(disks[1] ?? '?') || device['label'] === disks[1],
        );
        await does(world, name, 'POST', 'remove', 'Disk removed.', { label: cache?.['label'] ?? disks[1] });
      },
    ),
  );
});

/** Locking and unlocking, with each of the keys. */
const encryption = story('storage/volume', async (step, world) => {
  await step('is locked and unlocked', () =>
    withVolume(world, [{ vdevtype: 'stripe', disks: 1 }], { encryption: true }, async (name) => {
      const state = async () => {
        const { status, is_decrypted, vol_encrypt } = await askRecord(world, 200, 'GET', `${path(name)}/`, {
          is_decrypted: flag,
          vol_encrypt: integer,
        });
        return `${String(status)} ${String(is_decrypted)} ${String(vol_encrypt)}`;
      };
      ensure((await state()) === 'HEALTHY true 1', `at first it is ${await state()}`);
      await does(
        world,
        name,
        'POST',
        'keypassphrase',
        'Volume passphrase has been set',
        { passphrase: 'open sesame', passphrase2: 'open sesame' },
        201,
      );
      ensure((await state()) === 'HEALTHY true 2', `with a passphrase it is ${await state()}`);
      await does(world, name, 'POST', 'lock', 'Volume has been locked.');
      ensure((await state()).includes('false'), `locked it is ${await state()}`);
      await askRefused(world, 'POST', `${path(name)}/unlock/`, {});
      await does(world, name, 'POST', 'unlock', 'Volume has been unlocked.', { passphrase: 'open sesame' });
      ensure((await state()) === 'HEALTHY true 2', `unlocked it is ${await state()}`);
      const { json } = await ask(world, 202, 'POST', `${path(name)}/recoverykey/`);
      const { content } = recordIn(json, { message: text, content: text }, 'recoverykey');
      await does(world, name, 'POST', 'lock', 'Volume has been locked.');
      await does(world, name, 'POST', 'unlock', 'Volume has been unlocked.', { recovery_key: content });
      await ask(world, 204, 'DELETE', `${path(name)}/recoverykey/`);
      await does(
        world,
        name,
        'PUT',
        'keypassphrase',
        'Volume passphrase has been set',
        { adminpw: world.target.password, passphrase: 'close sesame' },
        201,
      );
      await does(
        world,
        name,
        'PUT',
        'keypassphrase',
        'Volume passphrase has been removed',
        { adminpw: world.target.password, remove: true },
        201,
      );
      await does(world, name, 'POST', 'rekey', 'Volume has been rekeyed.');
      ensure((await state()) === 'HEALTHY true 1', `rekeyed it is ${await state()}`);
    }),
  );
});

const importing = story('storage/volume_import', async (step, world) => {
  await step('a volume that was let go is taken back', async () => {
    const name = world.name('away');
    const { id } = await create(world, name, [{ vdevtype: 'stripe', disks: [world.disk()] }]);
    await ask(world, 204, 'DELETE', `${path(String(id))}/`, { destroy: false });
    const found = (await askList(world, 'storage/volume_import')).find(({ label }) => label === name);
    const record = recordIn(
      found,
      { ...each(text, 'id', 'label', 'group_type'), type: oneOf('zfs') },
      'an importable volume',
    );
    const disks = recordIn(
      record['disks'],
      { ...each(text, 'status', 'name'), numVdevs: integer, vdevs: list },
      'disks',
    );
    recordIn(
      Array.isArray(disks['vdevs']) ? disks['vdevs'][0] : undefined,
      { ...each(text, 'status', 'name', 'type'), numDisks: integer, disks: list },
      'a vdev',
    );
    await askText(world, 202, 'POST', 'storage/volume_import/', 'Volume imported.', { volume_id: record['id'] });
    await ask(world, 204, 'DELETE', `${path(name)}/`);
  });
});

const dataset = {
  ...each(text, 'name', 'pool', 'mountpoint', 'compression'),
  comments: maybe(text),
  ...each(text, 'atime', 'readonly', 'dedup'),
  ...each(integer, 'recordsize', 'quota', 'refquota', 'reservation', 'refreservation', 'avail', 'refer', 'used'),
  inherit_props: texts,
};

/** The closed lists of requests; a record says what holds, also where it was inherited. */
const datasetChoices: Readonly<Record<string, readonly string[]>> = {
  atime: ['on', 'off', 'inherit'],
  readonly: ['on', 'off', 'inherit'],
  dedup: ['on', 'off', 'inherit'],
  compression: [
    'lz4',
    'gzip-1',
    'gzip-2',
    'gzip-3',
    'gzip-4',
    'gzip-5',
    'gzip-6',
    'gzip-7',
    'gzip-8',
    'gzip-9',
    'zle',
    'lzjb',
  ],
  recordsize: ['512', '1K', '2K', '4K', '8k', '16K', '32K', '64K', '128K', '256K', '512K', '1024K'],
};

const datasetsBelow = story('storage/volume/{vol}/datasets', async (step, world) => {
  const place = `${path(world.target.volume)}/datasets`;
  const names = [world.name('data'), world.name('data'), world.name('data')];
  const [name = ''] = names;
  await step('is created', async () => {
    for (const one of names)
      await askRecord(world, 201, 'POST', `${place}/`, dataset, {
        name: one,
        comments: 'A dataset',
        compression: 'lz4',
        quota: '500M',
      });
  });
  await listed(place, (record) => String(record['name']), dataset, step, world);
  await step('is read alone', () => askRecord(world, 200, 'GET', `${place}/${name}/`, dataset));
  await step('is changed in what is sent', async () => {
    const record = await askRecord(world, 201, 'PUT', `${place}/${name}/`, dataset, {
      comments: 'Another',
      quota: '200M',
    });
    ensure(
      record['comments'] === 'Another' && record['quota'] === 200 * 1024 ** 2 && record['compression'] === 'lz4',
      JSON.stringify(record),
    );
  });
  for (const [field, members] of Object.entries(datasetChoices)) {
    for (const member of members)
      await step(`${field} may be ${member}`, async () => {
        const record = await askRecord(world, 201, 'PUT', `${place}/${name}/`, dataset, { [field]: member });
        const said = record[field];
        const wanted = field === 'recordsize' ? Number.parseInt(member, 10) * (/k$/i.test(member) ? 1024 : 1) : member;
        const inherits = Array.isArray(record['inherit_props']) && record['inherit_props'].includes(field);
        ensure(
          member === 'inherit' ? inherits : said === wanted && !inherits,
          `it is ${String(said)}, inherited: ${inherits}`,
        );
      });
    await step(`${field} may be nothing else`, () =>
      askRefused(world, 'PUT', `${place}/${name}/`, { [field]: 'none of them' }),
    );
  }
  await step('is removed', async () => {
    for (const one of names) await ask(world, 204, 'DELETE', `${place}/${one}/`);
    ensure((await world.api.get(`${place}/${name}/`)).status === 404, 'it should answer 404');
  });
});

const datasets = story('storage/dataset', async (step, world) => {
  const { volume: pool } = world.target;
  const parent = world.name('above');
  const whole = `${pool}/${parent}/below`;
  await step('is created below another', async () => {
    await askRecord(world, 201, 'POST', `storage/dataset/${pool}/`, dataset, { name: parent });
    const { name } = await askRecord(world, 201, 'POST', `storage/dataset/${pool}/${parent}/`, dataset, {
      name: 'below',
      atime: 'off',
    });
    ensure(name === whole, `it is called ${String(name)}`);
  });
  await listed('storage/dataset', (record) => String(record['name']), dataset, step, world);
  await step('is changed by a POST without a name', async () => {
    const { comments, atime } = await askRecord(world, 202, 'POST', `storage/dataset/${whole}/`, dataset, {
      comments: 'Another',
    });
    ensure(comments === 'Another' && atime === 'off', 'it is not as was sent');
  });
  await step('is removed', async () => {
    await ask(world, 204, 'DELETE', `storage/dataset/${whole}/`);
    await ask(world, 204, 'DELETE', `storage/dataset/${pool}/${parent}/`);
    ensure((await world.api.get(`storage/dataset/${whole}/`)).status === 404, 'it should answer 404');
  });
});

const zvol = {
  ...each(text, 'name', 'compression'),
  comments: maybe(text),
  dedup: oneOf('on', 'off'),
  ...each(integer, 'avail', 'refer', 'used', 'volsize'),
};

const zvols = story('storage/volume/{vol}/zvols', async (step, world) => {
  const place = `${path(world.target.volume)}/zvols`;
  const names = [world.name('zvol'), world.name('zvol'), world.name('zvol')];
  const [name = ''] = names;
  await step('is created', async () => {
    for (const one of names)
      await askRecord(world, 202, 'POST', `${place}/`, zvol, {
        name: one,
        comments: 'A zvol',
        volsize: '10M',
        compression: 'lz4',
        sparse: true,
        force: false,
        blocksize: '4K',
      });
  });
  await listed(place, (record) => String(record['name']), zvol, step, world);
  await step('is changed in what is sent', async () => {
    const record = await askRecord(world, 201, 'PUT', `${place}/${name}/`, zvol, {
      volsize: '50M',
      dedup: 'on',
      compression: 'zle',
    });
    ensure(
      record['volsize'] === 50 * 1024 ** 2 && record['dedup'] === 'on' && record['compression'] === 'zle',
      JSON.stringify(record),
    );
  });
  for (const member of ['on', 'off'])
    await step(`dedup may be ${member}`, async () =>
      ensure(
        (await askRecord(world, 201, 'PUT', `${place}/${name}/`, zvol, { dedup: member }))['dedup'] === member,
        'it is not',
      ),
    );
  await step('dedup may be nothing else', () =>
    askRefused(world, 'PUT', `${place}/${name}/`, { dedup: 'none of them' }),
  );
  await step('is removed', async () => {
    for (const one of names) await ask(world, 204, 'DELETE', `${place}/${one}/`);
    ensure((await world.api.get(`${place}/${name}/`)).status === 404, 'it should answer 404');
  });
});

const snapshots = story('storage/snapshot', async (step, world) => {
  const shape = {
    ...each(text, 'filesystem', 'fullname', 'id', 'name'),
    mostrecent: flag,
    parent_type: oneOf('filesystem', 'volume'),
    used: either(integer, text),
    refer: either(integer, text),
  };
  const { volume: pool } = world.target;
  const source = `${pool}/${world.name('source')}`;
  const at = (name: string) => `storage/snapshot/${source}%40${name}`;
  await step('is created', async () => {
    await ask(world, 201, 'POST', `storage/dataset/${pool}/`, { name: source.slice(pool.length + 1) });
    for (const name of ['one', 'two', 'three']) {
      const { id, fullname } = await askRecord(world, 201, 'POST', 'storage/snapshot/', shape, {
        dataset: source,
        name,
      });
      ensure(id === `${source}@${name}` && fullname === id, `it is called ${String(id)}`);
    }
  });
  await listed('storage/snapshot', (record) => String(record['id']), shape, step, world);
  const clone = `${pool}/${world.name('clone')}`;
  await step('is cloned', () =>
    askText(world, 202, 'POST', `${at('one')}/clone/`, 'Snapshot cloned.', { name: clone }),
  );
  await step('the clone is there and goes', () => ask(world, 204, 'DELETE', `storage/dataset/${clone}/`));
  await step('is rolled back to', () =>
    askText(world, 202, 'POST', `${at('two')}/rollback/`, 'Snapshot rolled back.', { force: true }),
  );
  await step('is removed', async () => {
    for (const name of ['one', 'two']) await ask(world, 204, 'DELETE', `${at(name)}/`);
    await ask(world, 204, 'DELETE', `storage/dataset/${source}/`);
  });
});

const disks = story('storage/disk', async (step, world) => {
  const settings = {
    disk_hddstandby: oneOf('Always On', '5', '10', '20', '30', '60', '120', '180', '240', '300', '330'),
    disk_advpowermgmt: oneOf('Disabled', '1', '64', '127', '128', '192', '254'),
    disk_acousticlevel: oneOf('Disabled', 'Minimum', 'Medium', 'Maximum'),
  };
  const shape = {
    ...each(
      text,
      'disk_identifier',
      'disk_name',
      'disk_serial',
      'disk_size',
      'disk_multipath_name',
      'disk_multipath_member',
      'disk_description',
      'disk_transfermode',
      'disk_smartoptions',
    ),
    ...settings,
    disk_togglesmart: flag,
    disk_expiretime: maybe(text),
  };
  await listed('storage/disk', (record) => String(record['disk_identifier']), shape, step, world);
  const disk = await step('is there', async () => {
    const [first] = await askList(world, 'storage/disk', '?limit=1');
    ensure(first !== undefined, 'there is no disk');
    return first;
  });
  if (disk === undefined) return;
  const at = `storage/disk/${encodeURIComponent(String(disk['disk_identifier']))}/`;
  await step('is changed in what is sent', async () => {
    const record = await askRecord(world, 200, 'PUT', at, shape, { disk_description: 'the upper one' });
    ensure(
      record['disk_description'] === 'the upper one' && record['disk_hddstandby'] === disk['disk_hddstandby'],
      JSON.stringify(record),
    );
  });
  for (const [field, { members = [] }] of Object.entries(settings)) {
    for (const member of members)
      await step(`${field} may be ${member}`, async () =>
        ensure((await askRecord(world, 200, 'PUT', at, shape, { [field]: member }))[field] === member, 'it is not'),
      );
    await step(`${field} may be nothing else`, () => askRefused(world, 'PUT', at, { [field]: 'none of them' }));
  }
  await step('is put back', () =>
    askRecord(
      world,
      200,
      'PUT',
      at,
      shape,
      Object.fromEntries(['disk_description', ...Object.keys(settings)].map((field) => [field, disk[field]])),
    ),
  );
});

const permission = story('storage/permission', async (step, world) => {
  const body = {
    mp_path: world.folder('permitted'),
    mp_acl: 'unix',
    mp_mode: '755',
    mp_user: 'root',
    mp_group: 'wheel',
    mp_recursive: false,
  };
  await step('a folder to permit is made', () =>
    ask(world, 201, 'POST', `${path(world.target.volume)}/datasets/`, { name: 'permitted' }),
  );
  for (const mp_acl of ['unix', 'mac', 'windows'])
    await step(`mp_acl may be ${mp_acl}`, () =>
      askText(world, 201, 'PUT', 'storage/permission/', 'Mount Point permissions successfully updated.', {
        ...body,
        mp_acl,
      }),
    );
  await step('mp_acl may be nothing else', () =>
    askRefused(world, 'PUT', 'storage/permission/', { ...body, mp_acl: 'none of them' }),
  );
  await step('the folder is removed', () =>
    ask(world, 204, 'DELETE', `${path(world.target.volume)}/datasets/permitted/`),
  );
});

const snapshotTasks = collection('storage/task', {
  record: {
    ...each(text, 'task_filesystem', 'task_begin', 'task_end', 'task_repeat_unit', 'task_byweekday'),
    ...each(flag, 'task_recursive', 'task_enabled'),
    task_ret_count: integer,
    task_ret_unit: oneOf('hour', 'day', 'week', 'month', 'year'),
    task_interval: oneOf(5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440, 10_080),
  },
  create: (world) => ({
    task_filesystem: world.target.volume,
    task_recursive: false,
    task_ret_unit: 'week',
    task_interval: 60,
  }),
  change: () => ({ task_ret_count: 3, task_byweekday: '6,7' }),
});

const replications = collection('storage/replication', {
  record: {
    ...each(
      text,
      'repl_filesystem',
      'repl_zfs',
      'repl_remote_hostname',
      'repl_remote_hostkey',
      'repl_begin',
      'repl_end',
      'repl_status',
      'repl_lastsnapshot',
    ),
    ...each(integer, 'repl_remote_port', 'repl_limit'),
    ...each(flag, 'repl_remote_dedicateduser_enabled', 'repl_userepl', 'repl_followdelete', 'repl_enabled'),
    repl_remote_dedicateduser: maybe(text),
    repl_remote_cipher: oneOf('standard', 'fast', 'disabled'),
    repl_compression: oneOf('off', 'lz4', 'pigz', 'plzip'),
  },
  create: async (world) => {
    // What is replicated needs a task that makes its snapshots.
    const { volume: pool } = world.target;
    if (!(await askList(world, 'storage/task', '?limit=0')).some(({ task_filesystem }) => task_filesystem === pool))
      await ask(world, 201, 'POST', 'storage/task/', { task_filesystem: pool });
    return {
      repl_filesystem: pool,
      repl_zfs: `backup/${world.name('copy')}`,
      repl_remote_hostname: `${world.name('host')}.example.com`,
      repl_remote_hostkey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0',
      repl_remote_cipher: 'standard',
    };
  },
  change: () => ({ repl_limit: 100, repl_begin: '01:00:00' }),
});

const scrubs = collection('storage/scrub', {
  record: {
    ...each(text, 'scrub_volume', 'scrub_description'),
    scrub_threshold: integer,
    scrub_enabled: flag,
    ...schedule('scrub', 'minute', 'hour', 'daymonth', 'month', 'dayweek'),
  },
  create: async (world) => {
    // A volume has one from the beginning, which makes room for this one.
    const name = world.name('scrubbed');
    const { id } = await create(world, name, [{ vdevtype: 'stripe', disks: [world.disk()] }]);
    const own = (await askList(world, 'storage/scrub', '?limit=0')).find(({ scrub_volume }) => scrub_volume === name);
    await ask(world, 204, 'DELETE', `storage/scrub/${String(own?.['id'])}/`);
    return { scrub_volume: id, scrub_threshold: 30, scrub_dayweek: '6' };
  },
  change: () => ({ scrub_threshold: 20, scrub_enabled: false }),
  // Its number is sent, its name is answered.
  respelt: ['scrub_volume'],
});

export const storageArea: Area = {
  name: 'storage',
  resources: [
    theVolume,
    layouts,
    maintenance,
    encryption,
    importing,
    datasetsBelow,
    datasets,
    zvols,
    snapshots,
    disks,
    permission,
    snapshotTasks,
    replications,
    scrubs,
  ],
};
