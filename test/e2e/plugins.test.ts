import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Api } from '../support/api.ts';
import { type Appliance, type ApplianceOptions, appliance, rootPassword } from '../support/appliance.ts';
import { type FaultyHost, withFaults } from '../support/faults.ts';
import { finallyOf } from '../support/hosts.ts';
import { holdfast } from '../support/programs.ts';

const installing = '/api/holdfast/v1/plugins';
const bundles = '/usr/share/holdfast/plugins';

/** An appliance with a place and addresses for jails. */
async function withJails(t: TestContext, options: ApplianceOptions = {}): Promise<Appliance> {
  const one = await appliance(options);
  finallyOf(t, () => one[Symbol.asyncDispose]());
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await one.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'jails' });
  await one.api.expect(200, 'PUT', 'jails/configuration/', {
    jc_path: '/mnt/tank/jails',
    jc_ipv4_network: '10.3.0.0/24',
  });
  return one;
}

/** A bundle on the machine, of a manifest with other values here and there. */
async function bundleOf(
  { machine }: Appliance,
  more: object = {},
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const manifest = { format: 1, name: 'small', version: '1', start: ['true'], stop: ['true'], port: 9000, ...more };
  await machine.files.write('/srv/small/plugin.json', JSON.stringify(manifest));
  for (const [name, content] of Object.entries(files)) await machine.files.write(`/srv/small/${name}`, content);
  return '/srv/small';
}

const statuses = async (api: Api) =>
  (await api.list('plugins/plugins/')).map((one) => `${one['plugin_name']} ${one['plugin_status']}`);

test('a plugin is installed into a jail, started, stopped, and removed with all that it brought', async (t) => {
  const { api, machine } = await withJails(t);
  await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  const record = await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage`, jail: 'web' });
  assert.deepEqual(record, {
    id: 1,
    plugin_api_version: '1',
    plugin_arch: 'any',
    plugin_enabled: false,
    plugin_ip: '10.3.0.1',
    plugin_jail: 'web',
    plugin_name: 'webpage',
    plugin_path: '/opt/webpage',
    plugin_pbiname: 'webpage-1.0-any',
    plugin_port: 8080,
    plugin_status: 'STOPPED',
    plugin_version: '1.0',
  });
  assert.deepEqual(await api.list('plugins/plugins/'), [record]);
  assert.deepEqual((await machine.jails.look()).get('web')?.mounted, ['/opt/webpage']);
  assert.deepEqual(await machine.plugins.lacking('web', ['busybox']), []);
  for (const [action, sentence, status] of [
    ['start', 'Plugin started.', 'RUNNING'],
    ['start', 'Plugin started.', 'RUNNING'],
    ['stop', 'Plugin stopped.', 'STOPPED'],
  ] as const) {
    const answer = await api.post(`plugins/plugins/1/${action}/`);
    assert.deepEqual([answer.status, answer.text], [202, sentence]);
    const [after] = await api.list('plugins/plugins/');
    assert.deepEqual([after?.['plugin_status'], after?.['plugin_enabled']], [status, false]);
  }
  const held = await api.delete('jails/jails/1/');
  assert.deepEqual(
    [held.status, held.json],
    [400, { error_message: 'The plugin "webpage" is installed in the jail "web". Delete the plugin first.' }],
  );
  await api.expect(204, 'DELETE', 'plugins/plugins/1/');
  assert.deepEqual(await api.list('plugins/plugins/'), []);
  assert.deepEqual((await machine.jails.look()).get('web')?.mounted, []);
  assert.deepEqual(await machine.plugins.lacking('web', ['busybox']), ['busybox']);
  assert.equal(await machine.files.kind('/mnt/tank/jails/web/opt/webpage'), undefined);
  assert.ok(!(await machine.zfs.datasets()).some(({ name }) => name.includes('bundle')));
  assert.deepEqual(await machine.files.beginning('/etc/holdfast/plugins/'), []);
  await api.expect(204, 'DELETE', 'jails/jails/1/');
});

test('what the document does not have is not allowed, and what is not there is not found', async (t) => {
  const { api } = await withJails(t);
  await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
  assert.equal((await api.post('plugins/plugins/', { plugin_name: 'x' })).status, 405);
  assert.equal((await api.put('plugins/plugins/1/', { plugin_enabled: true })).status, 405);
  assert.equal((await api.post('plugins/plugins/7/start/')).status, 404);
  assert.equal((await api.delete('plugins/plugins/7/')).status, 404);
});

test('a failure to start or to stop is told as an error', async (t) => {
  const { api } = await withJails(t);
  const { id } = await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage`, jail: 'web' });
  await api.post(`jails/jails/${id}/stop/`);
  const answer = await api.post('plugins/plugins/1/start/');
  assert.deepEqual([answer.status, answer.json], [400, { error: 'the jail web does not run' }]);
  const refusal = await api.delete('plugins/plugins/1/');
  assert.deepEqual(
    [refusal.status, refusal.json],
    [400, { error: 'The jail "web" is not running, so busybox cannot be removed. Start the jail first.' }],
  );
});

test('with its jail starts a plugin that is enabled, and each ends with it', async (t) => {
  const { api } = await withJails(t);
  const { id } = await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage`, jail: 'web', enabled: true });
  await api.expect(200, 'POST', installing, { bundle: `${bundles}/fileindex`, jail: 'web' });
  for (const one of await api.list('plugins/plugins/')) await api.post(`plugins/plugins/${one['id']}/start/`);
  assert.deepEqual(await statuses(api), ['fileindex RUNNING', 'webpage RUNNING']);
  await api.post(`jails/jails/${id}/stop/`);
  assert.deepEqual(await statuses(api), ['fileindex STOPPED', 'webpage STOPPED']);
  await api.post(`jails/jails/${id}/start/`);
  assert.deepEqual(await statuses(api), ['fileindex STOPPED', 'webpage RUNNING']);
  for (const one of await api.list('plugins/plugins/')) {
    const changed = await api.expect(200, 'POST', `${installing}/enable`, {
      id: one['id'],
      enabled: one['plugin_name'] === 'fileindex',
    });
    assert.deepEqual(changed, { ...one, plugin_enabled: !one['plugin_enabled'] }, 'what runs goes on');
  }
  await api.post(`jails/jails/${id}/restart/`);
  assert.deepEqual(await statuses(api), ['fileindex RUNNING', 'webpage STOPPED']);
  assert.equal((await api.post(`${installing}/enable`, { id: 7, enabled: true })).status, 404);
  assert.match((await api.post(`${installing}/enable`, {})).text, /"enabled":\["This field is required\."\].*"id"/);
});

test('a jail that is made for plugins goes with the last of them; what the others need stays', async (t) => {
  const { api, machine } = await withJails(t);
  const first = await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
  assert.equal(first['plugin_jail'], 'webpage');
  const second = await api.expect(200, 'POST', installing, { bundle: `${bundles}/fileindex`, jail: 'webpage' });
  await api.expect(204, 'DELETE', `plugins/plugins/${first['id']}/`);
  assert.deepEqual(await machine.plugins.lacking('webpage', ['busybox']), []);
  assert.equal((await api.list('jails/jails/')).length, 1);
  await api.expect(204, 'DELETE', `plugins/plugins/${second['id']}/`);
  assert.deepEqual(await api.list('jails/jails/'), []);
  const third = await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
  await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
  assert.deepEqual(
    (await api.list('jails/jails/')).map((one) => one['jail_host']),
    ['webpage', 'webpage-2'],
  );
  await api.expect(204, 'DELETE', `plugins/plugins/${third['id']}/`);
});

test('a bundle that cannot be used is refused with all that is wrong, and nothing is left', async (t) => {
  const one = await withJails(t);
  const { api, machine } = one;
  await api.expect(201, 'POST', 'jails/jails/', { jail_host: 'web' });
  const before = JSON.stringify([await machine.zfs.datasets(), await machine.jails.look()]);
  const refusal = async (body: object, words: RegExp) => {
    const answer = await api.post(installing, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, words);
    assert.equal(JSON.stringify([await machine.zfs.datasets(), await machine.jails.look()]), before);
  };
  await refusal({}, /"bundle":\["This field is required\."\]/);
  await refusal({ bundle: 'webpage', jail: 'web' }, /Expected an absolute path or an http, https or ftp URL/);
  await refusal({ bundle: `${bundles}/webpage`, jail: 'none' }, /The jail \\"none\\" does not exist/);
  await refusal({ bundle: '/srv/none', jail: 'web' }, /cannot read the bundle \/srv\/none: no such file/);
  await refusal(
    { bundle: await bundleOf(one, { name: 'Bad', port: 0, stop: [], health: 'ping', more: 1 }), jail: 'web' },
    /name: The name may.*stop: Expected a list.*port: Expected a number between 1 and 65535, got 0.*health: .*more/,
  );
  await refusal(
    { bundle: await bundleOf(one, { start: ['bin/../../etc/passwd'] }), jail: 'web' },
    /no file .*bin\/\.\.\/\.\.\/etc\/passwd/,
  );
  await refusal({ bundle: await bundleOf(one, { arch: 'x86' }), jail: 'web' }, /for the architecture x86/);
  await refusal(
    { bundle: await bundleOf(one, { packages: ['missing-one'] }), jail: 'web' },
    /Unable to locate package missing-one/,
  );
  await refusal({ bundle: await bundleOf(one, { template: 'none' }) }, /template \\"none\\", which does not exist/);
  const { id } = await api.expect(200, 'POST', installing, { bundle: await bundleOf(one), jail: 'web' });
  const again = await api.post(installing, { bundle: await bundleOf(one, { name: 'other' }), jail: 'web' });
  assert.match(again.text, /The plugin \\"small\\" in the same jail already uses the port 9000/);
  await api.expect(204, 'DELETE', `plugins/plugins/${id}/`);
  await refusal({ bundle: await bundleOf(one, { start: ['bin/none'] }), jail: 'web' }, /no file \\"bin\/none\\"/);
});

test('whatever call fails while a plugin is installed with a jail of its own, or removed with it, nothing is left of half of it', async (t) => {
  const beneath: FaultyHost[] = [];
  const { api, machine } = await withJails(t, {
    around: (host) => {
      const faulty = withFaults(host);
      beneath.push(faulty);
      return faulty.host;
    },
  });
  const [broken] = beneath;
  assert.ok(broken !== undefined);
  // The template is fetched once, and stays.
  const { id } = await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
  await api.expect(204, 'DELETE', `plugins/plugins/${id}/`);
  await jobsEnd(api);
  const names = async () => (await machine.zfs.datasets()).map(({ name }) => name);
  const untouched = await names();
  for (const when of ['instead', 'afterwards'] as const) {
    for (let n = 1, done = false; !done; n += 1) {
      broken.failAt(n, when);
      const answer = await api.post(installing, { bundle: `${bundles}/webpage` });
      const call: string | undefined = broken.titles[n - 1];
      broken.heal();
      const told: string = `${call} failing ${when}: ${answer.text}`;
      done = call === undefined;
      if (answer.status === 200)
        await api.expect(204, 'DELETE', `plugins/plugins/${(await api.list('plugins/plugins/'))[0]?.['id']}/`);
      else assert.match(answer.text, new RegExp(`made to fail at call ${n}`), told);
      await jobsEnd(api);
      assert.deepEqual(
        [await api.list('plugins/plugins/'), await api.list('jails/jails/'), [...(await machine.jails.look()).keys()]],
        [[], [], []],
        told,
      );
      assert.deepEqual(await names(), untouched, told);
    }
    for (let n = 1, done = false; !done; n += 1) {
      const made = await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
      await api.post(`plugins/plugins/${made['id']}/start/`);
      broken.failAt(n, when);
      const answer = await api.delete(`plugins/plugins/${made['id']}/`);
      await jobsEnd(api);
      const call: string | undefined = broken.titles[n - 1];
      broken.heal();
      const told: string = `${call} failing ${when}: ${answer.text}`;
      done = call === undefined;
      const irrevocable = call === 'zfs.destroyDataset';
      if (answer.status === 204)
        assert.deepEqual([await api.list('plugins/plugins/'), await api.list('jails/jails/')], [[], []], told);
      else {
        if (!(irrevocable && when === 'afterwards')) assert.deepEqual(await statuses(api), ['webpage RUNNING'], told);
        await api.expect(204, 'DELETE', `plugins/plugins/${made['id']}/`);
      }
      await jobsEnd(api);
    }
  }
  // What a job could not clear away is gone with the next plugin that comes.
  const last = await api.expect(200, 'POST', installing, { bundle: `${bundles}/webpage` });
  await api.expect(204, 'DELETE', `plugins/plugins/${last['id']}/`);
  await jobsEnd(api);
  assert.deepEqual(await names(), untouched);
});

async function jobsEnd(api: Api): Promise<void> {
  while ((await api.list('/api/holdfast/v1/jobs?limit=20')).some((job) => job['state'] === 'running'))
    await new Promise((resolve) => setTimeout(resolve, 5));
}

test('holdfast plugin install asks the daemon, and says where the page is or what is wrong', async (t) => {
  const { api } = await withJails(t);
  const install = (...words: readonly string[]) =>
    promisify(execFile)(process.execPath, [holdfast, 'plugin', 'install', '--url', api.url, ...words], {
      env: { ...process.env, HOLDFAST_PASSWORD: rootPassword },
    });
  const { stdout } = await install(`${bundles}/webpage`, '--enable');
  assert.equal(
    stdout,
    'Installed the plugin webpage 1.0 in the jail webpage as number 1. It serves http://10.3.0.1:8080/\n',
  );
  const [record] = await api.list('plugins/plugins/');
  assert.deepEqual([record?.['plugin_status'], record?.['plugin_enabled']], ['RUNNING', true]);
  await assert.rejects(install('/srv/none'), (error) => {
    assert.ok(error instanceof Error && 'stderr' in error && 'code' in error);
    assert.deepEqual(
      [error.code, error.stderr],
      [2, 'holdfast: cannot read the bundle /srv/none: no such file or directory\n'],
    );
    return true;
  });
});
