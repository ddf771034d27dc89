import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance } from '../support/appliance.ts';
import { type OldTables, oldDatabase, oldKey } from '../support/old-appliance.ts';

const path = '/api/holdfast/v1/migrate';

/** An aggregate of two interfaces with a VLAN on it, as 13.0 has it: members have rows of their own. */
const tables: OldTables = {
  network_interfaces: [
    {
      ...{ id: 1, int_interface: 'igb0', int_name: 'house', int_ipv4address: '192.0.2.9', int_v4netmaskbit: '24' },
      ...{ int_link_address: '02:00:00:00:00:03' },
    },
    { id: 2, int_interface: 'ix0', int_name: 'member of lagg5', int_options: 'rxcsum' },
    { id: 3, int_interface: 'ix1', int_name: 'member of lagg5', int_options: '' },
    {
      id: 4,
      int_interface: 'lagg5',
      int_name: 'trunk',
      int_mtu: 9000,
      int_ipv4address: '198.51.100.5',
      int_v4netmaskbit: '24',
    },
    { id: 5, int_interface: 'vlan20', int_name: 'cellar', int_ipv4address: '203.0.113.5', int_v4netmaskbit: '24' },
    { id: 6, int_interface: 'bridge0', int_name: 'guests' },
  ],
  network_alias: [{ id: 1, alias_interface_id: 5, alias_v4address: '203.0.113.6', alias_v4netmaskbit: '24' }],
  network_lagginterface: [{ id: 1, lagg_interface_id: 4, lagg_protocol: 'LACP' }],
  network_lagginterfacemembers: [
    { id: 1, lagg_interfacegroup_id: 1, lagg_ordernum: 1, lagg_physnic: 'ix0' },
    { id: 2, lagg_interfacegroup_id: 1, lagg_ordernum: 2, lagg_physnic: 'ix1' },
  ],
  network_vlan: [
    { id: 1, vlan_vint: 'vlan20', vlan_pint: 'lagg5', vlan_tag: 20, vlan_pcp: 3, vlan_description: 'Cellar' },
  ],
  network_bridge: [{ id: 1, interface_id: 6, members: '["igb0"]' }],
};

test('a link aggregate and a VLAN on it are carried once their interfaces are chosen', async () => {
  await using nas = await appliance({ nics: 4 });
  const content = oldDatabase('13.0', tables).toString('base64');
  const migrate = async (interfaces: object) => {
    const answer = await nas.api.post(path, { content, interfaces });
    return { status: answer.status, text: answer.text, body: JSON.parse(answer.text) };
  };

  const first = await migrate({});
  assert.equal(first.status, 200, first.text);
  const [igb, ix] = first.body.interfaces;
  assert.deepEqual(
    [igb.name, igb.mac, igb.addresses, igb.proposed, igb.why],
    ['igb0', '02:00:00:00:00:03', ['192.0.2.9/24'], 'em3', 'It has the same hardware address, 02:00:00:00:00:03.'],
  );
  assert.deepEqual([ix.name, ix.proposed, ix.chosen], ['ix0', '', '']);
  assert.ok(first.body.here.some((one: { name: string; link: string }) => one.name === 'mgmt0' && one.link === 'yes'));
  assert.doesNotMatch(first.body.file, /^ {2}?lagg:/m);
  assert.match(
    first.text,
    /The VLAN vlan20 is on lagg5\. The aggregate lagg5 has the members ix0, ix1\. Not chosen yet: ix0, ix1\./,
  );
  assert.match(first.text, /--interface igb0=em3\. It has the same hardware address/);

  assert.match((await migrate({ em9: 'em1' })).text, /The old appliance has no interface/);
  assert.match((await migrate({ ix0: 'em1', ix1: 'em1' })).text, /em1 is given for both ix0 and ix1/);

  const second = await migrate({ igb0: 'em3', ix0: 'em1', ix1: 'em2' });
  assert.equal(second.status, 200, second.text);
  const applied = await nas.api.post('/api/holdfast/v1/file/apply', {
    files: [{ name: 'proposed.yaml', text: second.body.file }],
  });
  assert.equal(applied.status, 200, `${applied.text}\n${second.body.file}`);

  const [aggregate, ...others] = await nas.api.list('network/lagg/');
  assert.deepEqual([others.length, aggregate?.['lagg_interface'], aggregate?.['lagg_protocol']], [0, 'lagg0', 'lacp']);
  const members = await nas.api.list('network/lagginterfacemembers/');
  assert.deepEqual(
    members.map((one) => [one['lagg_physnic'], one['lagg_deviceoptions']]),
    [
      ['em1', 'mtu 9000'],
      ['em2', 'mtu 9000'],
    ],
  );
  const [vlan] = await nas.api.list('network/vlan/');
  assert.deepEqual([vlan?.['vlan_vint'], vlan?.['vlan_pint'], vlan?.['vlan_tag']], ['vlan20', 'lagg0', 20]);
  const records = new Map((await nas.api.list('network/interface/')).map((one) => [one['int_interface'], one]));
  assert.deepEqual([...records.keys()].toSorted(), ['em3', 'lagg0', 'vlan20']);
  assert.equal(records.get('lagg0')?.['int_ipv4address'], '198.51.100.5');
  assert.deepEqual(records.get('vlan20')?.['int_aliases'], ['203.0.113.6/24']);
  const device = nas.engine.world.facts.network.links.find(({ name }) => name === 'vlan20');
  assert.deepEqual(device?.addresses.toSorted(), ['203.0.113.5/24', '203.0.113.6/24']);

  const reasons = second.body.left.map((one: { reason: string }) => one.reason).join('\n');
  assert.match(reasons, /It was called lagg5, and is lagg0 here/);
  assert.match(reasons, /The options rxcsum are of drivers of FreeBSD/);
  assert.match(reasons, /bridge0 is a bridge of \["igb0"\], which Holdfast does not make/);

  // A second run finds the aggregate by its members.
  const third = await migrate({ igb0: 'em3', ix0: 'em1', ix1: 'em2' });
  const diff = await nas.api.post('/api/holdfast/v1/file/diff', {
    files: [{ name: 'proposed.yaml', text: third.body.file }],
  });
  assert.deepEqual(JSON.parse(diff.text).changes, [], diff.text);
});

for (const isNew of [false, true])
  test(`the id map of a domain keeps its numbers, ${isNew ? 'from the one table of 13.0' : 'from that of its kind in 11.2'}`, async () => {
    await using nas = await appliance();
    const domain = { id: 1, ad_domainname: 'example.com', ad_bindname: 'admin', ad_enable: 1 };
    const content = isNew
      ? oldDatabase('13.0', {
          directoryservice_activedirectory: [domain],
          directoryservice_idmap_domain: [
            idmap(1, 'DS_TYPE_ACTIVEDIRECTORY', 'AUTORID', 200_000, 400_000_000, { rangesize: 200_000, oddity: 1 }),
            idmap(2, 'DS_TYPE_DEFAULT_DOMAIN', 'tdb', 90_000_001, 100_000_000, {}),
            idmap(3, 'OTHER', 'rid', 500_000_000, 600_000_000, {}),
          ],
        })
      : oldDatabase('11.2', {
          directoryservice_activedirectory: [{ ...domain, ad_idmap_backend: 'autorid' }],
          directoryservice_idmap_autorid: [
            {
              ...{ id: 4, idmap_ds_type: 1, idmap_ds_id: 1, idmap_autorid_range_low: 200_000 },
              ...{ idmap_autorid_range_high: 400_000_000, idmap_autorid_rangesize: 200_000 },
            },
          ],
          directoryservice_idmap_rid: [
            { id: 1, idmap_ds_type: 1, idmap_ds_id: 1, idmap_rid_range_low: 20_000, idmap_rid_range_high: 90_000_000 },
          ],
        });
    const answer = await nas.api.post(path, {
      content: content.toString('base64'),
      secret: oldKey.toString('base64'),
    });
    assert.equal(answer.status, 200, answer.text);
    const { file, left } = JSON.parse(answer.text);
    const applied = await nas.api.post('/api/holdfast/v1/file/apply', {
      files: [{ name: 'proposed.yaml', text: file }],
    });
    assert.equal(applied.status, 200, `${applied.text}\n${file}`);
    const [map, ...others] = await nas.api.list('directoryservice/idmap/autorid/');
    assert.deepEqual(
      [others.length, map?.['idmap_ds_type'], map?.['idmap_autorid_range_low'], map?.['idmap_autorid_rangesize']],
      [0, 1, 200_000, 200_000],
    );
    assert.deepEqual(await nas.api.list('directoryservice/idmap/rid/'), []);
    const settings = JSON.parse((await nas.api.get('directoryservice/activedirectory/')).text);
    assert.equal(settings.ad_idmap_backend, 'autorid');
    const reasons = left.map((one: { reason: string }) => one.reason).join('\n');
    if (isNew) {
      assert.match(reasons, /OTHER is a trusted domain\. Its accounts had the numbers from 500000000 to 600000000/);
      assert.match(reasons, /Its options oddity were not carried/);
    }
  });

function idmap(id: number, name: string, backend: string, low: number, high: number, options: object) {
  return {
    ...{ id, idmap_domain_name: name, idmap_domain_idmap_backend: backend, idmap_domain_range_low: low },
    ...{ idmap_domain_range_high: high, idmap_domain_options: JSON.stringify(options) },
  };
}
