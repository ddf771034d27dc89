import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance } from '../support/appliance.ts';

const nic = (index: number, more: object = {}) => ({ int_name: `NIC ${index}`, int_interface: `em${index}`, ...more });
const fixed = (int_ipv4address: string, int_v4netmaskbit = '24') => ({ int_ipv4address, int_v4netmaskbit });

async function issues(answer: Promise<{ readonly status: number; readonly json: unknown }>): Promise<unknown> {
  const { status, json } = await answer;
  assert.equal(status, 409, JSON.stringify(json));
  return json;
}

test('the document’s first request makes an interface by DHCP, and shows the lease', async () => {
  await using nas = await appliance();
  const record = await nas.api.expect(201, 'POST', 'network/interface/', {
    int_dhcp: 'true',
    int_name: 'ext',
    int_interface: 'em0',
  });
  assert.deepEqual(record, {
    id: 1,
    int_aliases: [],
    int_dhcp: true,
    int_interface: 'em0',
    int_ipv4address: '',
    int_ipv6address: '',
    int_ipv6auto: false,
    int_media_status: 'Active',
    int_name: 'ext',
    int_options: '',
    int_v4netmaskbit: '',
    int_v6netmaskbit: '',
    ipv4_addresses: ['198.51.100.20/24'],
    ipv6_addresses: [],
  });
});

test('an interface has one record, DHCP is for one and clears the fixed address, and what is there is fixed', async () => {
  await using nas = await appliance();
  const { id } = await nas.api.expect(201, 'POST', 'network/interface/', nic(0, fixed('192.0.2.1')));
  assert.deepEqual(await issues(nas.api.post('network/interface/', nic(0))), {
    int_interface: ['A record for this interface already exists.'],
  });
  assert.deepEqual(await issues(nas.api.post('network/interface/', nic(9))), {
    int_interface: ['Pick one of the existing interfaces; em9 is not one of them.'],
  });
  const leased = await nas.api.expect(200, 'PUT', `network/interface/${id}/`, { int_dhcp: true, int_interface: 'em1' });
  assert.deepEqual([leased['int_interface'], leased['int_ipv4address'], leased['int_v4netmaskbit']], ['em0', '', '']);
  assert.deepEqual(await issues(nas.api.post('network/interface/', nic(1, { int_dhcp: true }))), {
    int_dhcp: ['Only one interface can use DHCP: em0 already does.'],
  });
  assert.equal((await nas.api.delete(`network/interface/${id}/`)).status, 204);
  assert.deepEqual((await nas.host.network.look()).links[0]?.addresses, []);
});

test('addresses need their masks, are given once, and IPv4 networks lie apart', async () => {
  await using nas = await appliance();
  await nas.api.expect(
    201,
    'POST',
    'network/interface/',
    nic(0, { ...fixed('192.0.2.1'), int_aliases: ['198.51.100.1/25', '2001:db8::1/64'] }),
  );
  const refused = (more: object) => issues(nas.api.post('network/interface/', nic(1, more)));
  assert.deepEqual(await refused({ int_ipv4address: '203.0.113.1' }), {
    int_v4netmaskbit: ['int_ipv4address and int_v4netmaskbit must be set together.'],
  });
  assert.deepEqual(await refused({ int_v6netmaskbit: 64 }), {
    int_ipv6address: ['int_ipv6address and int_v6netmaskbit must be set together.'],
  });
  assert.deepEqual(await refused(fixed('192.0.2.1')), {
    int_ipv4address: ['The address 192.0.2.1 is already in use on em0.'],
  });
  assert.deepEqual(await refused(fixed('198.51.100.200')), {
    int_v4netmaskbit: ['The network 198.51.100.0/24 overlaps 198.51.100.0/25 of em0.'],
  });
  assert.deepEqual(await refused({ int_aliases: ['2001:db8:0::1/64', 'x'] }), {
    alias_v6address: ['The address 2001:db8::1 is already in use on em0.'],
    alias_v4address: ['Expected an address with its prefix length, as 192.0.2.7/32 or 2001:db8::7/64, got "x".'],
  });
  assert.deepEqual(await refused(fixed('127.0.0.1', '8')), {
    int_ipv4address: ['Expected an address for an interface, got the reserved address 127.0.0.1.'],
  });
});

test('an update without aliases keeps them, and one with some keeps the order of those that stay', async () => {
  await using nas = await appliance();
  const { id } = await nas.api.expect(
    201,
    'POST',
    'network/interface/',
    nic(0, { int_aliases: ['192.0.2.1/32', '192.0.2.2/32'] }),
  );
  const kept = await nas.api.expect(200, 'PUT', `network/interface/${id}/`, {
    int_aliases: ['192.0.2.3/32', '192.0.2.2/32'],
  });
  assert.deepEqual(kept['int_aliases'], ['192.0.2.2/32', '192.0.2.3/32']);
  assert.deepEqual(kept['ipv4_addresses'], ['192.0.2.2/32', '192.0.2.3/32']);
  assert.deepEqual(
    (await nas.api.expect(200, 'PUT', `network/interface/${id}/`, { int_name: 'other' }))['int_aliases'],
    kept['int_aliases'],
  );
});

test('the words of ifconfig are a closed set', async () => {
  await using nas = await appliance();
  const made = await nas.api.expect(
    201,
    'POST',
    'network/interface/',
    nic(0, { int_options: 'up mtu 9000 -promisc media autoselect' }),
  );
  assert.equal(made['int_options'], 'up mtu 9000 -promisc media autoselect');
  assert.equal((await nas.host.network.look()).links[0]?.mtu, 9000);
  const refused = async (int_options: string) =>
    JSON.stringify(await issues(nas.api.post('network/interface/', nic(1, { int_options }))));
  assert.match(await refused('polling'), /Expected one of the ifconfig options up, down, mtu N.*, got \\"polling\\"/);
  assert.match(await refused('mtu'), /Expected a number from 68 to 65535 after mtu/);
  assert.match(await refused('media carrier-pigeon'), /Expected autoselect or a medium, as 100baseTX/);
  assert.match(await refused('mediaopt half-duplex'), /mediaopt requires media with a speed/);
  assert.match(await refused('ether 01:00:00:00:00:01'), /unicast hardware address/);
});

test('a card is held to a medium, and let go when the record says nothing of it', async () => {
  await using nas = await appliance();
  const medium = () => nas.host.network.medium('em0');
  const { id } = await nas.api.expect(
    201,
    'POST',
    'network/interface/',
    nic(0, { int_options: 'media 100baseTX mediaopt half-duplex' }),
  );
  assert.deepEqual(await medium(), { speed: 100, duplex: 'half' });
  await nas.api.expect(200, 'PUT', `network/interface/${id}/`, { int_options: 'media 1000baseT' });
  assert.deepEqual(await medium(), { speed: 1000, duplex: 'full' });
  const refused = await nas.api.put(`network/interface/${id}/`, { int_options: 'media 10Gbase-T' });
  assert.deepEqual(
    [refused.status, refused.json],
    [400, { error_message: 'em0 does not support 10000 Mbit/s with full duplex.' }],
  );
  assert.deepEqual(await medium(), { speed: 1000, duplex: 'full' });
  await nas.api.expect(200, 'PUT', `network/interface/${id}/`, { int_options: '' });
  assert.equal(await medium(), 'auto');
});

test('a VLAN brings records for itself and its parent, and goes with its own', async () => {
  await using nas = await appliance();
  const made = await nas.api.expect(201, 'POST', 'network/vlan/', {
    vlan_vint: 'vlan07',
    vlan_pint: 'em0',
    vlan_tag: 7,
  });
  assert.deepEqual(made, {
    id: 1,
    vlan_vint: 'vlan7',
    vlan_pint: 'em0',
    vlan_tag: 7,
    vlan_description: '',
    vlan_pcp: null,
  });
  const records = async () =>
    (await nas.api.list('network/interface/')).map((one) => [
      one['int_interface'],
      one['int_name'],
      one['int_options'],
    ]);
  assert.deepEqual(await records(), [
    ['em0', 'em0', 'up'],
    ['vlan7', 'vlan7', ''],
  ]);
  const body = { vlan_vint: 'vlan8', vlan_pint: 'em9', vlan_tag: 5000 };
  assert.deepEqual(await issues(nas.api.post('network/vlan/', body)), {
    vlan_tag: ['A VLAN tag lies between 1 and 4095.'],
    vlan_pint: ['Pick one of the existing interfaces; em9 is not one of them.'],
  });
  assert.deepEqual(await issues(nas.api.post('network/vlan/', { ...body, vlan_pint: 'vlan7', vlan_tag: 7 })), {
    vlan_pint: ['Expected an interface that is not a VLAN, got vlan7.'],
    vlan_tag: ['A VLAN with this tag already exists.'],
  });
  await nas.api.expect(200, 'PUT', 'network/vlan/1/', { vlan_vint: 'vlan9', vlan_pint: 'em1' });
  assert.deepEqual(
    (await records()).map(([name]) => name),
    ['em0', 'em1', 'vlan9'],
  );
  const [, , row] = await nas.api.list('network/interface/');
  assert.equal((await nas.api.delete(`network/interface/${row?.['id']}/`)).status, 204);
  assert.deepEqual(await nas.api.list('network/vlan/'), []);
  await nas.api.expect(201, 'POST', 'network/vlan/', { vlan_vint: 'vlan9', vlan_pint: 'em1', vlan_tag: 9 });
  assert.equal((await nas.api.delete('network/vlan/2/')).status, 204);
  assert.deepEqual(
    (await records()).map(([name]) => name),
    ['em0', 'em1'],
  );
});

test('the VLANs of an interface stay when its record goes', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'network/vlan/', { vlan_vint: 'vlan7', vlan_pint: 'em0', vlan_tag: 7 });
  const [parent] = await nas.api.list('network/interface/');
  assert.equal((await nas.api.delete(`network/interface/${parent?.['id']}/`)).status, 204);
  assert.ok((await nas.host.network.look()).links.some(({ name }) => name === 'vlan7'));
});

test('an aggregate brings its record and members, and takes them and its VLANs with it', async () => {
  await using nas = await appliance({ nics: 8 });
  const made = await nas.api.expect(201, 'POST', 'network/lagg/', {
    lagg_interfaces: ['em1', 'em2'],
    lagg_protocol: 'lacp',
  });
  assert.deepEqual(made, { id: 1, lagg_interface: 'lagg0', lagg_protocol: 'lacp' });
  assert.deepEqual(await nas.api.list('network/lagginterfacemembers/?lagg_interfacegroup__id=1'), [
    { id: 1, lagg_deviceoptions: 'up', lagg_interfacegroup: 1, lagg_ordernum: 0, lagg_physnic: 'em1' },
    { id: 2, lagg_deviceoptions: 'up', lagg_interfacegroup: 1, lagg_ordernum: 1, lagg_physnic: 'em2' },
  ]);
  assert.deepEqual(await nas.api.list('network/lagginterfacemembers/?lagg_interfacegroup__id=2'), []);
  assert.equal((await nas.api.put('network/lagg/1/', {})).status, 405);
  assert.deepEqual(
    await issues(
      nas.api.post('network/lagg/', { lagg_protocol: 'lacp', lagg_interfaces: ['em1', 'em3', 'em3', 'em9', 'lagg0'] }),
    ),
    {
      lagg_interfaces: [
        'em1 is already a member of a link aggregate.',
        'The interface em3 occurs twice.',
        'Pick one of the existing interfaces; em9 is not one of them.',
        'Pick one of the existing interfaces; lagg0 is not one of them.',
      ],
    },
  );
  assert.deepEqual(await issues(nas.api.post('network/interface/', nic(1))), {
    int_interface: ['em1 is a member of a link aggregate and cannot be configured.'],
  });
  await nas.api.expect(201, 'POST', 'network/vlan/', { vlan_vint: 'vlan5', vlan_pint: 'lagg0', vlan_tag: 5 });
  const links = new Map((await nas.host.network.look()).links.map((link) => [link.name, link]));
  assert.deepEqual(
    [links.get('lagg0')?.kind, links.get('em1')?.master, links.get('vlan5')?.kind],
    ['bond', 'lagg0', 'vlan'],
  );
  const [row] = (await nas.api.list('network/interface/')).filter((one) => one['int_interface'] === 'lagg0');
  assert.match(
    JSON.stringify(await issues(nas.api.put(`network/interface/${row?.['id']}/`, { int_options: 'mtu 9000' }))),
    /lagg_deviceoptions/,
  );
  assert.equal((await nas.api.delete(`network/interface/${row?.['id']}/`)).status, 204);
  for (const path of ['lagg', 'lagginterfacemembers', 'vlan', 'interface'])
    assert.deepEqual(await nas.api.list(`network/${path}/`), [], path);
  assert.ok((await nas.host.network.look()).links.every(({ master, kind }) => master === undefined && kind === ''));
});

test('gateways are reachable, name servers are in order, and the machine has its new name everywhere', async () => {
  await using nas = await appliance();
  const put = (body: object) => nas.api.put('network/globalconfiguration/', body);
  assert.deepEqual(
    await issues(put({ gc_ipv4gateway: '192.0.2.254', gc_nameserver1: '127.0.0.53', gc_nameserver3: '192.0.2.3' })),
    {
      gc_nameserver1: ['Expected the address of a name server, got 127.0.0.53.'],
      gc_nameserver3: ['gc_nameserver3 requires gc_nameserver1 and gc_nameserver2.'],
      gc_ipv4gateway: ['192.0.2.254 is not reachable: no configured interface has an address in its network.'],
    },
  );
  await nas.api.expect(201, 'POST', 'network/interface/', nic(0, fixed('192.0.2.1')));
  const record = await nas.api.expect(200, 'PUT', 'network/globalconfiguration/', {
    gc_hostname: 'store.example.com',
    gc_domain: 'example.com',
    gc_ipv4gateway: '192.0.2.254',
    gc_nameserver1: '192.0.2.3',
    gc_httpproxy: '192.0.2.9:3128',
    gc_hosts: '192.0.2.7 printer',
  });
  assert.equal(record['gc_hostname_virtual'], null);
  assert.equal((await nas.api.expect(200, 'GET', 'services/cifs/'))['cifs_srv_netbiosname'], 'store');
  assert.equal((await nas.host.network.look()).hostname, 'store.example.com');
  assert.match(
    (await nas.host.files.read('/etc/hosts')) ?? '',
    /^127\.0\.1\.1 store\.example\.com store$.*^192\.0\.2\.7 printer$/ms,
  );
  assert.match((await nas.host.files.read('/etc/systemd/resolved.conf.d/holdfast.conf')) ?? '', /^DNS=192\.0\.2\.3$/m);
  assert.match(
    (await nas.host.files.read('/etc/systemd/network/05-holdfast-em0.network')) ?? '',
    /\[Route\]\nGateway=192\.0\.2\.254\n/,
  );
});

test('an aggregate of the protocol none is up and carries nothing', async () => {
  await using nas = await appliance({ nics: 8 });
  const made = await nas.api.expect(201, 'POST', 'network/lagg/', {
    lagg_interfaces: ['em1', 'em2'],
    lagg_protocol: 'none',
  });
  assert.deepEqual(made, { id: 1, lagg_interface: 'lagg0', lagg_protocol: 'none' });
  const links = new Map((await nas.host.network.look()).links.map((link) => [link.name, link]));
  assert.deepEqual(
    [links.get('lagg0')?.kind, links.get('em1')?.master, links.get('em2')?.master],
    ['bond', undefined, undefined],
  );
  // They are its members all the same.
  assert.deepEqual(await issues(nas.api.post('network/interface/', nic(1))), {
    int_interface: ['em1 is a member of a link aggregate and cannot be configured.'],
  });
});

test('a static route goes through the interface that reaches its gateway, and is reported while there is none', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'network/staticroute/', {
    sr_destination: '10.1.2.3/16',
    sr_gateway: '192.0.2.253',
  });
  const reported = async () =>
    (await nas.api.list('/api/holdfast/v1/drift')).flatMap((one) =>
      one['subsystem'] === 'network' ? one['problems'] : [],
    );
  assert.deepEqual(await reported(), [
    'The static route to 10.1.0.0/16 is not set: no configured interface has an address in the network of 192.0.2.253.',
  ]);
  await nas.api.expect(201, 'POST', 'network/interface/', nic(0, fixed('192.0.2.1')));
  assert.deepEqual(await reported(), []);
  assert.match(
    (await nas.host.files.read('/etc/systemd/network/05-holdfast-em0.network')) ?? '',
    /\[Route\]\nDestination=10\.1\.0\.0\/16\nGateway=192\.0\.2\.253\n/,
  );
  assert.deepEqual(
    await issues(nas.api.post('network/staticroute/', { sr_destination: '10.2.0.0/16', sr_gateway: '192.0.2.1' })),
    {
      sr_gateway: ['Expected the address of another machine, got 192.0.2.1, which belongs to em0.'],
    },
  );
  assert.deepEqual(
    await issues(nas.api.post('network/staticroute/', { sr_destination: '2001:db8::/32', sr_gateway: '192.0.2.253' })),
    {
      sr_destination: ['Expected a destination and a gateway of the same family, got IPv6 and IPv4.'],
    },
  );
});
