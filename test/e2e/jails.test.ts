import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import type { Api } from '../support/api.ts';
import { type Appliance, type ApplianceOptions, appliance } from '../support/appliance.ts';
import { type FaultyHost, withFaults } from '../support/faults.ts';
import { finallyOf } from '../support/hosts.ts';

/** An appliance with the dataset tank/jails for jails and tank/media for what they are shown. */
async function withJails(t: TestContext, options: ApplianceOptions = {}): Promise<Appliance> {
  const one = await appliance(options);
  finallyOf(t, () => one[Symbol.asyncDispose]());
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (const name of ['jails', 'media']) await one.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  await one.api.expect(200, 'PUT', 'jails/configuration/', { jc_path: '/mnt/tank/jails' });
  return one;
}

async function issuesOf(
  api: Api,
  method: 'POST' | 'PUT',
  path: string,
  body: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await api.send(method, path, body);
  assert.equal(answer.status, 409, answer.text);
  assert.ok(isObject(answer.json));
  return answer.json;
}

test('a jail is made of the template of a fresh system, runs, is stopped and deleted', async (t) => {
  const { api, machine } = await withJails(t);
  const jail = await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  assert.equal(jail['jail_status'], 'Running');
  assert.equal(jail['jail_type'], 'standard');
  assert.match(String(jail['jail_mac']), /^02(:[0-9a-f]{2}){5}$/);
  assert.deepEqual(
    (await machine.zfs.datasets())
      .map(({ name, origin }) => `${name} ${origin ?? ''}`.trim())
      .filter((name) => name.startsWith('tank/jails/')),
    ['tank/jails/.template-1', 'tank/jails/web tank/jails/.template-1@ready'],
  );
  const instances = async () =>
    (await api.list('jails/templates/')).find((one) => one['jt_name'] === 'standard')?.['jt_instances'];
  assert.equal(await instances(), 1);
  const sentence = await api.post(`jails/jails/${jail['id']}/stop/`);
  assert.equal(sentence.status, 202);
  assert.match(sentence.text, /Jail stopped\./);
  assert.equal((await api.list('jails/jails/'))[0]?.['jail_status'], 'Stopped');
  await api.post(`jails/jails/${jail['id']}/stop/`);
  assert.match((await api.post(`jails/jails/${jail['id']}/start/`)).text, /Jail started\./);
  assert.match((await api.post(`jails/jails/${jail['id']}/restart/`)).text, /Jail restarted\./);
  assert.equal((await api.list('jails/jails/'))[0]?.['jail_status'], 'Running');
  await api.expect(204, 'DELETE', `jails/jails/${jail['id']}/`);
  assert.deepEqual([...(await machine.jails.look()).keys()], []);
  assert.equal(await instances(), 0);
  assert.ok(!(await machine.zfs.datasets()).some(({ name }) => name === 'tank/jails/web'));
  assert.equal((await api.post(`jails/jails/${jail['id']}/start/`)).status, 404);
});

test('a template of the other system is a record, and refused in words when a jail shall be made of it', async (t) => {
  const { api, machine } = await withJails(t);
  await api.expect(201, 'POST', 'jails/templates/', {
    jt_name: 'other',
    jt_os: 'FreeBSD',
    jt_arch: 'x64',
    jt_url: 'http://example.com/other.tgz',
  });
  const issues = await issuesOf(api, 'POST', 'jails/jails/', { jail_host: 'web', jail_type: 'other' });
  assert.match(String(issues['jail_type']), /cannot run on the Linux kernel of this machine/);
  assert.match(
    String((await issuesOf(api, 'POST', 'jails/jails/', { jail_host: 'web', jail_type: 'none' }))['jail_type']),
    /The jail template "none" does not exist/,
  );
  assert.deepEqual([...(await machine.jails.look()).keys()], []);
});

test('templates, their collection and bundles of plugins come from a closed list of schemes', async (t) => {
  const { api } = await withJails(t);
  const template = { jt_name: 'other', jt_os: 'Linux', jt_arch: 'x64' };
  for (const scheme of ['gopher', 'scp', 'data', 'javascript', 'dict', 'ssh']) {
    const url = `${scheme}://example.com/other.tgz`;
    const refusal = new RegExp(`Expected an .*(http|https|ftp).*, got \\\\?"${scheme}:`);
    assert.match(
      JSON.stringify(await issuesOf(api, 'POST', 'jails/templates/', { ...template, jt_url: url })),
      refusal,
    );
    assert.match(
      JSON.stringify(await issuesOf(api, 'PUT', 'jails/configuration/', { jc_collectionurl: url })),
      refusal,
    );
    const bundle = await api.post('/api/holdfast/v1/plugins', { bundle: url, jail: 'web' });
    assert.equal(bundle.status, 400, bundle.text);
    assert.match(bundle.text, refusal);
  }
  assert.ok(!(await api.get('jails/templates/?limit=0')).text.includes('example.com/other.tgz'));
});

test('without a place for jails, and with a template that cannot be fetched, nothing is made', async (t) => {
  const bare = await appliance({});
  finallyOf(t, () => bare[Symbol.asyncDispose]());
  const answer = await bare.api.post('jails/jails/', { jail_host: 'web' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /Jails are not configured/);
  const { api, machine } = await withJails(t);
  await api.expect(201, 'POST', 'jails/templates/', {
    jt_name: 'gone',
    jt_os: 'Linux',
    jt_arch: 'x64',
    jt_url: 'http://example.com/missing/root.tgz',
  });
  const failure = await api.post('jails/jails/', { jail_host: 'web', jail_type: 'gone' });
  assert.equal(failure.status, 400);
  assert.match(failure.text, /cannot fetch .*404/);
  assert.ok(!(await machine.zfs.datasets()).some(({ name }) => name.includes('.template')));
  const [job] = await api.list('/api/holdfast/v1/jobs?limit=1');
  assert.deepEqual([job?.['title'], job?.['state']], ['fetch the jail template gone', 'failed']);
});

test('whatever call fails while a template is fetched and the first jail made, nothing is left', async (t) => {
  const beneath: FaultyHost[] = [];
  const one = await withJails(t, {
    around: (host) => {
      const faulty = withFaults(host);
      beneath.push(faulty);
      return faulty.host;
    },
  });
  const { api, machine } = one;
  const [broken] = beneath;
  assert.ok(broken !== undefined);
  const names = async () =>
    (await machine.zfs.datasets()).map(({ name }) => name).filter((name) => name.startsWith('tank/jails/'));
  for (const when of ['instead', 'afterwards'] as const) {
    let made = false;
    for (let n = 1; !made; n += 1) {
      broken.failAt(n, when);
      const answer = await api.post('jails/jails/', { jail_host: 'web' });
      const call: string | undefined = broken.titles[n - 1];
      broken.heal();
      made = answer.status === 201;
      const told: string = `${call} failing ${when}: ${answer.text}`;
      if (!made) {
        assert.equal(answer.status, 400, told);
        assert.deepEqual([...(await machine.jails.look()).keys()], [], told);
        assert.ok(!(await names()).includes('tank/jails/web'), told);
        assert.deepEqual(await api.list('jails/jails/'), [], told);
      }
      const kept = (await machine.zfs.snapshots()).some(({ name }) => name === 'ready');
      assert.equal((await names()).includes('tank/jails/.template-1'), kept, `${told}: half a template`);
      for (const jail of await api.list('jails/jails/')) await api.expect(204, 'DELETE', `jails/jails/${jail['id']}/`);
      if (made && call !== undefined) made = false;
      // The next one fetches it again.
      if (kept) {
        await machine.zfs.destroyDataset('tank/jails/.template-1', { recursive: true });
        await one.engine.glance(['storage']);
      }
    }
  }
});

test('addresses come from the range, past those of jails, of the machine and of gateways', async (t) => {
  const { api } = await withJails(t);
  await api.expect(201, 'POST', 'network/interface/', {
    int_interface: 'em0',
    int_name: 'lan',
    int_ipv4address: '192.0.2.3',
    int_v4netmaskbit: '24',
  });
  await api.expect(200, 'PUT', 'network/globalconfiguration/', { gc_ipv4gateway: '192.0.2.4' });
  const settings = await api.expect(200, 'PUT', 'jails/configuration/', {
    jc_ipv4_network: '192.0.2.0/24',
    jc_ipv4_network_start: '192.0.2.2',
    jc_ipv4_network_end: '192.0.2.6',
  });
  assert.equal(settings['jc_ipv4_network_start'], '192.0.2.2/24');
  const made: unknown[] = [];
  for (const name of ['a', 'b', 'c']) {
    const jail = await api.expect(201, 'POST', 'jails/jails/', { jail_host: name });
    made.push([jail['jail_ipv4'], jail['jail_ipv4_netmask'], jail['jail_iface']]);
  }
  assert.deepEqual(made, [
    ['192.0.2.2', '24', 'em0'],
    ['192.0.2.5', '24', 'em0'],
    ['192.0.2.6', '24', 'em0'],
  ]);
  assert.match(
    String((await issuesOf(api, 'POST', 'jails/jails/', { jail_host: 'd' }))['jail_ipv4']),
    /range has no free address/,
  );
  assert.match(
    String((await issuesOf(api, 'POST', 'jails/jails/', { jail_host: 'd', jail_ipv4: '192.0.2.3' }))['jail_ipv4']),
    /The machine already has/,
  );
  assert.match(
    String((await issuesOf(api, 'POST', 'jails/jails/', { jail_host: 'd', jail_ipv4: '192.0.2.5' }))['jail_ipv4']),
    /The jail "b" already has this address/,
  );
  const taken = await issuesOf(api, 'POST', 'network/interface/', {
    int_interface: 'em1',
    int_name: 'more',
    int_aliases: ['192.0.2.6/32'],
  });
  assert.match(String(taken['int_aliases']), /The jail "c" already has this address/);
});

test('all that is wrong with a jail is told together', async (t) => {
  const { api } = await withJails(t);
  const issues = await issuesOf(api, 'POST', 'jails/jails/', {
    jail_host: 'bad name',
    jail_flags: 'allow.mount=1',
    jail_mac: '01:00:00:00:00:00',
    jail_ipv4: '2001:db8::1',
    jail_ipv4_netmask: '33',
    jail_ipv4_dhcp: true,
    jail_iface: 'none0',
  });
  assert.deepEqual(Object.keys(issues).toSorted(), [
    'jail_flags',
    'jail_host',
    'jail_iface',
    'jail_ipv4',
    'jail_ipv4_dhcp',
    'jail_ipv4_netmask',
    'jail_mac',
  ]);
  const shared = await issuesOf(api, 'POST', 'jails/jails/', {
    jail_host: 'x',
    jail_vnet: false,
    jail_nat: true,
    jail_bridge_ipv4: '10.0.0.1',
    jail_ipv4: '10.0.0.2',
  });
  assert.deepEqual(Object.keys(shared).toSorted(), ['jail_bridge_ipv4', 'jail_iface', 'jail_nat']);
});

test('mount points come and go in a jail that runs, and wait for one that does not', async (t) => {
  const { api, machine } = await withJails(t);
  const { id } = await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  const shown = async () => (await machine.jails.look()).get('web')?.mounted;
  const mount = await api.expect(201, 'POST', 'jails/mountpoints/', {
    jail: 'web',
    source: '/mnt/tank/media',
    destination: '/mnt//media/',
    readonly: true,
  });
  assert.deepEqual([mount['mounted'], mount['destination']], [true, '/mnt/media']);
  assert.deepEqual(await shown(), ['/mnt/media']);
  assert.equal(await machine.files.kind('/mnt/tank/jails/web/mnt/media'), 'folder');
  const path = `jails/mountpoints/${mount['id']}/`;
  assert.equal((await api.expect(200, 'PUT', path, { mounted: false }))['mounted'], false);
  assert.deepEqual(await shown(), []);
  await api.post(`jails/jails/${id}/stop/`);
  assert.equal((await api.expect(200, 'PUT', path, { mounted: true }))['mounted'], true);
  await api.post(`jails/jails/${id}/start/`);
  assert.deepEqual(await shown(), ['/mnt/media']);
  await machine.jails.detach('web', '/mnt/media');
  await api.expect(200, 'PUT', path, { readonly: false });
  assert.deepEqual(await shown(), ['/mnt/media'], 'a change makes it what it says again');
  await api.expect(204, 'DELETE', path);
  assert.deepEqual(await shown(), []);
});

test('a mount point wants a jail, a folder to show, and a place for it', async (t) => {
  const { api } = await withJails(t);
  await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  const of = (more: object) =>
    issuesOf(api, 'POST', 'jails/mountpoints/', {
      jail: 'web',
      source: '/mnt/tank/media',
      destination: '/media',
      ...more,
    });
  assert.match(String((await of({ jail: 'none' }))['jail']), /The jail "none" does not exist/);
  assert.match(String((await of({ source: '/mnt/tank/none' }))['source']), /The folder .* does not exist/);
  assert.match(String((await of({ source: '/etc' }))['source']), /Expected a path on a volume/);
  assert.match(String((await of({ destination: '/proc/media' }))['destination']), /reserved/);
  assert.match(String((await of({ destination: `/${'long'.repeat(20)}` }))['destination']), /at most 88 characters/);
  assert.match(String((await of({ create: false }))['destination']), /create is false/);
  await api.expect(201, 'POST', 'jails/mountpoints/', {
    jail: 'web',
    source: '/mnt/tank/media',
    destination: '/media',
  });
  assert.match(String((await of({}))['destination']), /already/);
});

test('what goes with a jail: its mount points and the snapshot tasks of its dataset', async (t) => {
  const { api } = await withJails(t);
  const { id } = await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  await api.expect(201, 'POST', 'jails/mountpoints/', {
    jail: 'web',
    source: '/mnt/tank/media',
    destination: '/media',
  });
  await api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank/jails/web' });
  await api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank/media' });
  await api.expect(204, 'DELETE', `jails/jails/${id}/`);
  assert.deepEqual(await api.list('jails/mountpoints/'), []);
  assert.deepEqual(
    (await api.list('storage/task/')).map((task) => task['task_filesystem']),
    ['tank/media'],
  );
});

test('a template that jails were made of stays as it is, and so does the place of the jails', async (t) => {
  const { api, machine } = await withJails(t);
  const { id } = await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  const [standard] = (await api.list('jails/templates/')).filter((one) => one['jt_name'] === 'standard');
  const path = `jails/templates/${standard?.['id']}/`;
  assert.equal((await api.send('DELETE', path)).status, 400);
  assert.match(
    String((await issuesOf(api, 'PUT', path, { jt_url: 'debootstrap:bookworm' }))['jt_url']),
    /The template is in use/,
  );
  assert.match(
    String((await issuesOf(api, 'PUT', 'jails/configuration/', { jc_path: '/mnt/tank/media' }))['jc_path']),
    /Delete all jails first/,
  );
  await api.expect(204, 'DELETE', `jails/jails/${id}/`);
  await api.expect(200, 'PUT', path, { jt_readonly: true });
  assert.match(String((await issuesOf(api, 'PUT', path, { jt_url: 'debootstrap:bookworm' }))['__all__']), /read-only/);
  await api.expect(200, 'PUT', path, { jt_readonly: false, jt_url: 'debootstrap:bookworm' });
  assert.ok(
    !(await machine.zfs.datasets()).some(({ name }) => name.includes('.template')),
    'what was kept of another address is gone',
  );
  await api.expect(204, 'DELETE', path);
  assert.match(
    String((await issuesOf(api, 'PUT', 'jails/configuration/', { jc_path: '/mnt/tank/none' }))['jc_path']),
    /No dataset is mounted/,
  );
});

test('while jails start, other changes go their way', async (t) => {
  const authenticator = Promise.withResolvers<void>();
  let holding = false;
  const { api } = await withJails(t, {
    around: (host) => ({
      ...host,
      jails: {
        look: () => host.jails.look(),
        stop: (name) => host.jails.stop(name),
        attach: (name, mount) => host.jails.attach(name, mount),
        detach: (name, destination) => host.jails.detach(name, destination),
        furnish: (folder, source, watch) => host.jails.furnish(folder, source, watch),
        async start(name) {
          if (holding) await authenticator.promise;
          await host.jails.start(name);
        },
      },
    }),
  });
  const ids: unknown[] = [];
  for (let n = 0; n < 10; n += 1) {
    const { id } = await api.expect(201, 'POST', 'jails/jails/', { jail_host: `jail${n}` });
    await api.post(`jails/jails/${id}/stop/`);
    ids.push(id);
  }
  holding = true;
  const starts = ids.map((id) => api.post(`jails/jails/${id}/start/`));
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_name: 'media' });
  authenticator.resolve();
  assert.deepEqual(new Set((await Promise.all(starts)).map(({ status }) => status)), new Set([202]));
  assert.deepEqual(new Set((await api.list('jails/jails/')).map((jail) => jail['jail_status'])), new Set(['Running']));
});
