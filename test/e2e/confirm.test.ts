import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { KeyAccess } from '../../src/areas/keys/key-access.ts';
import { systemSettings } from '../../src/areas/system/settings.ts';
import { type ClientConnection, confirmWithin } from '../../src/engine/change/confirm.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const nic = { int_name: 'a', int_interface: 'em0', int_ipv4address: '192.0.2.1', int_v4netmaskbit: '24' };
const addressOf = async (nas: Appliance) => (await nas.host.network.look()).links[0]?.addresses;
const waits = async (nas: Appliance) => (await nas.api.get('/api/holdfast/v1/confirmation')).json;

/** Looks without asking over HTTP, which would confirm. */
async function until(nas: Appliance, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await holds()); ) {
    if (Date.now() > end) assert.fail(JSON.stringify(nas.log.slice(-5)));
    await wait(50);
  }
}

test('a change that is to be confirmed goes back by itself, as a change of its own with an event', async () => {
  await using nas = await appliance();
  const made = await nas.api.post('network/interface/?confirm_within=1', nic);
  assert.equal(made.status, 201);
  assert.ok(made.headers.get('x-holdfast-confirm-until'));
  assert.deepEqual(await addressOf(nas), ['192.0.2.1/24']);
  await until(nas, async () => (await addressOf(nas))?.length === 0);
  assert.deepEqual(await nas.api.list('network/interface/'), []);
  const [newest] = await nas.api.list('/api/holdfast/v1/revisions?limit=1');
  assert.equal(newest?.['title'], 'revert, not confirmed: create a network interface');
  assert.deepEqual(
    nas.engine.events.since(0).flatMap(({ name }) => (name.startsWith('change.') ? [name] : [])),
    ['change.provisional', 'change.reverted'],
  );
});

test('any request confirms a change that cannot cut its caller off, and then it stays', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'network/interface/?confirm_within=1', nic);
  assert.equal(await waits(nas), null);
  await wait(1500);
  assert.deepEqual(await addressOf(nas), ['192.0.2.1/24']);
});

test('a request that says so confirms nothing, and the next one does', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'network/interface/?confirm_within=30', nic);
  const { status } = await nas.api.send('GET', '/api/v1.0/system/version/', undefined, { 'x-holdfast-confirm': 'no' });
  assert.equal(status, 200);
  assert.notEqual(nas.engine.provisional, undefined);
  await nas.api.get('/api/v1.0/system/version/');
  assert.equal(nas.engine.provisional, undefined);
});

test('a request with a wrong password confirms nothing', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'network/interface/?confirm_within=1', nic);
  await fetch(`${nas.api.url}/api/v1.0/network/interface/`, { headers: { authorization: 'Basic cm9vdDp3cm9uZw==' } });
  assert.notEqual(nas.engine.provisional, undefined);
});

test('without the word, a change from this machine itself needs no confirmation, and the word is a number of seconds', async () => {
  await using nas = await appliance();
  const made = await nas.api.post('network/interface/', nic);
  assert.equal(made.headers.get('x-holdfast-confirm-until'), null);
  assert.equal(nas.engine.provisional, undefined);
  const refused = await nas.api.put('network/interface/1/?confirm_within=soon', { int_name: 'b' });
  assert.deepEqual(
    [refused.status, refused.json],
    [400, { error: 'Expected confirm_within in seconds, from 0 to 3600, got "soon".' }],
  );
});

test('a change that does more than the configuration says cannot be told to go back', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'storage/volume/?confirm_within=1', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  assert.equal(nas.engine.provisional, undefined, 'a volume is more than its record');
  const refused = await nas.api.post('sharing/cifs/?confirm_within=1', {
    cifs_path: '/mnt/tank/media',
    cifs_name: 'media',
  });
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /Expected no confirm_within: this change includes a step that cannot be reverted automatically .*media/,
  );
  assert.equal(await nas.host.files.kind('/mnt/tank/media'), undefined);
});

test('after an end of the daemon in between, the change is gone before anything else happens', async () => {
  let nas = await appliance();
  try {
    await nas.api.expect(201, 'POST', 'network/vlan/', { vlan_vint: 'vlan7', vlan_pint: 'em0', vlan_tag: 7 });
    await nas.api.expect(200, 'PUT', 'network/vlan/1/?confirm_within=600', { vlan_tag: 8, vlan_vint: 'vlan8' });
    nas = await nas.restart();
    assert.deepEqual(
      (await nas.api.list('network/vlan/')).map((one) => [one['vlan_vint'], one['vlan_tag']]),
      [['vlan7', 7]],
    );
    assert.ok((await nas.host.network.look()).links.some(({ name }) => name === 'vlan7'));
    assert.equal(await nas.host.files.read('/etc/systemd/network/05-holdfast-vlan8.netdev'), undefined);
    assert.ok(nas.engine.events.since(0).some(({ name }) => name === 'change.reverted'));
    nas = await nas.restart();
    assert.equal(
      (await nas.api.list('/api/holdfast/v1/revisions?limit=2')).filter((one) =>
        String(one['title']).startsWith('revert'),
      ).length,
      1,
    );
  } finally {
    await nas[Symbol.asyncDispose]();
  }
});

/** Changes as they come from outside: the engine is told from where. */
test('a caller whose address, interface or route changes must come again by the changed way', async () => {
  await using nas = await appliance();
  const put = (path: string, id: number, sent: object, connection: ClientConnection) => {
    const resource = nas.engine.resources.find((one) => one.path === path);
    if (resource === undefined || resource.kind === 'hosted') throw new Error(path);
    return nas.engine.change(`change ${path}`, { actor: 'root', request: 'r', connection }, (draft) =>
      draft.update(resource, id, sent),
    );
  };
  await nas.api.expect(201, 'POST', 'network/interface/', nic);
  await nas.api.expect(201, 'POST', 'network/interface/', {
    int_name: 'b',
    int_interface: 'em1',
    int_ipv4address: '198.51.100.1',
    int_v4netmaskbit: '24',
  });
  await nas.api.expect(201, 'POST', 'network/staticroute/', {
    sr_destination: '203.0.113.0/24',
    sr_gateway: '192.0.2.254',
  });
  const near = { local: '192.0.2.1', port: 80, remote: '192.0.2.50' };
  const far = { local: '192.0.2.1', port: 80, remote: '203.0.113.9' };
  const other = { local: '198.51.100.1', port: 80, remote: '198.51.100.2' };
  const guarded = async (path: string, id: number, sent: object, connection: typeof near) => {
    const before = performance.now();
    await put(path, id, sent, connection);
    const cuts = nas.engine.provisional?.cuts === true;
    if (nas.engine.provisional !== undefined) {
      assert.ok(nas.engine.provisional.until - Date.now() <= confirmWithin * 1000);
      // Not by another way, not by a connection that is older, but by this one.
      nas.engine.heard(other, performance.now(), undefined);
      nas.engine.heard(connection, before, undefined);
      assert.notEqual(nas.engine.provisional, undefined);
    }
    return cuts;
  };
  assert.equal(await guarded('network/interface', 1, { int_name: 'renamed' }, near), false);
  assert.equal(await guarded('network/interface', 1, { int_aliases: ['192.0.2.9/32'] }, near), false);
  assert.equal(await guarded('network/interface', 2, { int_ipv4address: '198.51.100.3' }, near), false);
  assert.equal(await guarded('network/staticroute', 1, { sr_gateway: '192.0.2.253' }, near), false);
  assert.equal(await guarded('network/staticroute', 1, { sr_gateway: '192.0.2.252' }, far), true);
  await assert.rejects(
    put('network/staticroute', 1, { sr_gateway: '192.0.2.251' }, near),
    /The change "change network\/staticroute.*" waits to be confirmed until/,
  );
  const accessTo = (...resources: readonly string[]) =>
    new KeyAccess('The key "one"', {
      ...{ role: 'read-only' as const, dataset: '', addresses: [], expires: '' },
      permissions: [{ resources, verbs: ['update'], fields: [], raw: false }],
    });
  nas.engine.heard(far, performance.now(), accessTo('sharing/*', 'network/vlan'));
  assert.notEqual(nas.engine.provisional, undefined, 'who may not change it does not confirm it');
  nas.engine.heard(far, performance.now(), accessTo('network/staticroute'));
  assert.equal(nas.engine.provisional, undefined);
  assert.equal(await guarded('network/interface', 1, { int_options: 'down' }, near), true);
  nas.engine.heard(near, performance.now(), undefined);
  assert.equal(await guarded('network/interface', 1, { int_ipv4address: '192.0.2.77' }, near), true);
  nas.engine.heard({ ...near, local: '192.0.2.77' }, performance.now(), undefined);
  assert.equal(nas.engine.provisional, undefined);
});

test('a caller whose door is closed must come again by one that was opened, and else it opens again', async () => {
  await using nas = await appliance();
  const settings = (sent: object, connection: ClientConnection, seconds?: number) =>
    nas.engine.change(
      'change the settings',
      { actor: 'root', request: 'r', connection, ...(seconds === undefined ? {} : { confirmWithin: seconds }) },
      (draft) => draft.update(systemSettings, 1, sent),
    );
  const own: ClientConnection = { local: '192.0.2.7', port: 8080, remote: '192.0.2.50' };
  const http: ClientConnection = { ...own, port: 80 };
  const cutting = () => nas.engine.provisional?.cuts;
  const open = async () => new Set((await nas.host.web.served()).map(({ port }) => port));
  await settings({ stg_guiport: 80 }, own);
  assert.equal(cutting(), undefined, 'the door that the daemon was started with stays open');
  await settings({ stg_guiport: 81 }, http);
  assert.equal(cutting(), true);
  nas.engine.heard(own, performance.now(), undefined);
  assert.equal(cutting(), true, 'a door that was open all the time shows nothing');
  nas.engine.heard({ ...own, port: 81 }, performance.now(), undefined);
  assert.equal(cutting(), undefined);
  await settings({ stg_guiport: 82 }, { ...own, port: 81 }, 1);
  assert.deepEqual(await open(), new Set([82]));
  await until(nas, async () => (await open()).has(81));
  assert.deepEqual(await open(), new Set([81]));
  assert.equal((await nas.api.expect(200, 'GET', 'system/settings/'))['stg_guiport'], 81);
});

test('a connection that is older than the change confirms it when it is used a second time', async () => {
  await using nas = await appliance();
  const { Agent } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = () =>
    new Promise<void>((resolve, reject) => {
      const asked = request(`${nas.api.url}/healthz`, { agent, auth: 'root:a test password' }, (answer) =>
        answer.resume().on('end', resolve),
      );
      asked.on('error', reject);
      asked.end();
    });
  await get();
  await nas.api.expect(201, 'POST', 'network/interface/?confirm_within=30', nic);
  await get();
  assert.notEqual(nas.engine.provisional, undefined, 'what was sent need not have been heard');
  await get();
  assert.equal(nas.engine.provisional, undefined);
  agent.destroy();
});
