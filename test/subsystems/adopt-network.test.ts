/** Hand-made interfaces, VLANs, aggregates and bridges of each program that configures them, as records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { networkSettings } from '../../src/areas/network/globalconfiguration.ts';
import { networkInterface } from '../../src/areas/network/interface.ts';
import { lagg } from '../../src/areas/network/lagg.ts';
import { laggMember } from '../../src/areas/network/lagginterfacemembers.ts';
import { staticRoute } from '../../src/areas/network/staticroute.ts';
import { vlan } from '../../src/areas/network/vlan.ts';
import type { ProposedRecord, Reading } from '../../src/engine/declare/proposal.ts';
import type { Draft } from '../../src/engine/declare/resource.ts';
import type { Facts } from '../../src/engine/facts/facts.ts';
import { networkSubsystem } from '../../src/subsystems/network/subsystem.ts';
import { configured, contents, type Made, readBy } from './support/adoption.ts';
import { freshConfiguration, machine } from './support/configuration.ts';

const flag = fc.boolean();

test('networkd configures the same for the interface that is read from its file', () => {
  const record = fc
    .record({
      int_ipv4address: fc.constantFrom('', '198.51.100.7'),
      int_ipv6address: fc.constantFrom('', '2001:db8:7::7'),
      int_aliases: fc.subarray(['203.0.113.9/32', '2001:db8:8::9/63']),
      int_dhcp: flag,
      int_ipv6auto: flag,
      int_options: fc.constantFrom('', 'mtu 9000', 'mtu 1400 ether 02:00:00:00:00:01'),
    })
    .map((values) => ({
      ...values,
      int_name: 'mgmt0',
      int_interface: 'mgmt0',
      ...(values.int_dhcp && { int_ipv4address: '' }),
    }))
    .map((values) => ({
      ...values,
      int_v4netmaskbit: values.int_ipv4address === '' ? '' : '24',
      int_v6netmaskbit: values.int_ipv6address === '' ? '' : '64',
    }));
  fc.assert(
    fc.property(record, fc.boolean(), (values, hasRoute) => {
      const made: Made[] = [
        { resource: networkInterface, values },
        ...(hasRoute && values.int_ipv4address !== ''
          ? [
              { resource: staticRoute, values: { sr_destination: '10.9.0.0/16', sr_gateway: '198.51.100.1' } },
              { resource: networkSettings, values: { gc_ipv4gateway: '198.51.100.254' } },
            ]
          : []),
      ];
      const path = '/etc/systemd/network/05-holdfast-mgmt0.network';
      const before = contents(networkSubsystem, configured(made)).get(path) ?? '';
      const { records, notCarried } = readBy(networkSubsystem, { '/etc/systemd/network/10-lan.network': before });
      assert.deepEqual(notCarried, []);
      const resources = [networkInterface, staticRoute, networkSettings];
      const again = records.map(({ resource, values: read }) => ({
        resource: resources.find((one) => one.path === resource) ?? networkInterface,
        values: read,
      }));
      // The order of addresses of both families is another.
      const sorted = (text = '') => text.split('\n').toSorted();
      assert.deepEqual(sorted(contents(networkSubsystem, configured(again)).get(path)), sorted(before));
    }),
    { numRuns: 200 },
  );
});

test('stanzas of ifupdown become interfaces, routes, name servers and VLANs', () => {
  const link = machine.network.links[0];
  assert.ok(link !== undefined);
  const facts = {
    ...machine,
    network: { ...machine.network, links: ['eth0', 'eth1', 'eth1.20', 'lo'].map((name) => ({ ...link, name })) },
  };
  const { records, notCarried } = readBy(
    networkSubsystem,
    {
      '/etc/network/interfaces': `source /etc/network/interfaces.d/*
auto lo
iface lo inet loopback
auto eth0
iface eth0 inet static
  address 198.51.100.7
  netmask 255.255.255.0
  gateway 198.51.100.1
  dns-nameservers 198.51.100.53 198.51.100.54
  mtu 9000
  up ip route add 10.9.0.0/16 via 198.51.100.2
  post-up /usr/local/bin/tell
iface eth0 inet6 auto
`,
      '/etc/network/interfaces.d/vlan':
        'auto eth1.20\niface eth1.20 inet static\n  address 203.0.113.7/24\niface eth1 inet manual\n',
      '/etc/resolv.conf': 'search office.example\nnameserver 198.51.100.53\n',
    },
    { ...facts, services: new Map([['systemd-resolved', { installed: true, running: true, enabled: true }]]) },
  );
  assert.deepEqual(
    records.map(({ resource, values }) => [resource, values]),
    [
      [
        'network/interface',
        {
          ...{ int_name: 'eth0', int_interface: 'eth0', int_ipv4address: '198.51.100.7', int_v4netmaskbit: '24' },
          ...{ int_ipv6auto: true, int_options: 'mtu 9000' },
        },
      ],
      ['network/vlan', { vlan_vint: 'vlan20', vlan_pint: 'eth1', vlan_tag: 20 }],
      [
        'network/interface',
        {
          ...{ int_name: 'vlan20', int_interface: 'vlan20', int_ipv4address: '203.0.113.7', int_v4netmaskbit: '24' },
        },
      ],
      ['network/interface', { int_name: 'eth1', int_interface: 'eth1' }],
      ['network/staticroute', { sr_destination: '10.9.0.0/16', sr_gateway: '198.51.100.2' }],
      [
        'network/globalconfiguration',
        {
          ...{ gc_ipv4gateway: '198.51.100.1', gc_nameserver1: '198.51.100.53', gc_nameserver2: '198.51.100.54' },
          gc_domains: 'office.example',
        },
      ],
    ],
  );
  assert.deepEqual(notCarried.map(({ file, line }) => `${file.slice('/etc/network/'.length)}:${line}`).toSorted(), [
    'interfaces.d/vlan:2',
    'interfaces.d/vlan:2',
    'interfaces.d/vlan:4',
    'interfaces:12',
    'interfaces:5',
  ]);
});

/** The machine with these interfaces of hardware, and with devices by their kinds. */
function withLinks(nics: readonly string[], devices: Readonly<Record<string, string>> = {}): Facts {
  const [first] = machine.network.links;
  assert.ok(first !== undefined);
  const link = (name: string, kind: string, index: number) => {
    return { ...first, name, kind, mac: `02:00:00:00:00:${String(index).padStart(2, '0')}`, addresses: [] };
  };
  const links = [...nics.map((name) => [name, ''] as const), ...Object.entries(devices)];
  return {
    ...machine,
    network: { ...machine.network, links: links.map(([name, kind], index) => link(name, kind, index)) },
    services: new Map([['systemd-resolved', { installed: true, running: true, enabled: true }]]),
  };
}

const networkd = '/etc/systemd/network/';
const valuesIn = ({ records }: Reading) => records.map(({ resource, values }) => [resource, values]);
const lostIn = ({ notCarried }: Reading) =>
  notCarried.map(({ file, line, reason }) => `${file.replace(/^.*\//, '')}:${line} ${reason}`);

/** What applying the file does with the records, where the first one of a device makes the others. */
function applied(records: readonly ProposedRecord[], facts: Facts): Draft {
  const draft = freshConfiguration(facts);
  for (const { resource, values } of records) {
    const { lagg_interface: _, lagg_interfacegroup: __, ...sent } = values;
    if (resource === lagg.path) draft.create(lagg, sent);
    else if (resource === vlan.path) draft.create(vlan, sent);
    else if (resource === staticRoute.path) draft.create(staticRoute, sent);
    else if (resource === networkSettings.path) draft.update(networkSettings, 1, sent);
    else if (resource === laggMember.path) {
      const known = draft.all(laggMember).find(({ lagg_physnic }) => lagg_physnic === sent['lagg_physnic']);
      draft.update(laggMember, known?.id ?? 0, sent);
    } else {
      const known = draft.all(networkInterface).find(({ int_interface }) => int_interface === sent['int_interface']);
      const { int_interface: ___, ...changes } = sent;
      if (known === undefined) draft.create(networkInterface, sent);
      else draft.update(networkInterface, known.id, changes);
    }
  }
  assert.deepEqual(draft.issues.toIssues(), {});
  return draft;
}

test('VLANs and aggregates of networkd are the same after they were read from its files', () => {
  const facts = withLinks(['em0', 'em1', 'em2']);
  const shape = fc.record({
    protocol: fc.constantFrom('failover', 'lacp', 'loadbalance', 'roundrobin'),
    members: fc.subarray(['em0', 'em1'], { minLength: 1 }),
    mtu: fc.constantFrom('up', 'mtu 9000'),
    tags: fc.uniqueArray(fc.integer({ min: 1, max: 4094 }), { maxLength: 4 }),
    priority: fc.option(fc.integer({ min: 0, max: 7 })),
    isOnAggregate: flag,
  });
  fc.assert(
    fc.property(shape, ({ protocol, members, mtu, tags, priority, isOnAggregate }) => {
      const draft = freshConfiguration(facts);
      draft.create(lagg, { lagg_protocol: protocol, lagg_interfaces: members });
      for (const { id } of draft.all(laggMember)) draft.update(laggMember, id, { lagg_deviceoptions: mtu });
      for (const [index, tag] of tags.entries()) {
        const made = draft.create(vlan, {
          ...{ vlan_vint: `vlan${tag}`, vlan_pint: isOnAggregate ? 'lagg0' : 'em2', vlan_tag: tag, vlan_pcp: priority },
        });
        draft.update(networkInterface, made.vlan_row ?? 0, {
          ...{ int_ipv4address: `198.51.${100 + index}.7`, int_v4netmaskbit: '24' },
        });
      }
      assert.deepEqual(draft.issues.toIssues(), {});
      const before = [...contents(networkSubsystem, draft)].filter(([path]) => path.startsWith(networkd));
      const byHand = before.map(([path, content]) => [path.replace('05-holdfast-', '10-'), content] as const);
      const reading = readBy(networkSubsystem, Object.fromEntries(byHand), facts);
      const after = [...contents(networkSubsystem, applied(reading.records, facts))];
      const sorted = (files: readonly (readonly [string, string])[]) =>
        files.filter(([path]) => path.startsWith(networkd)).toSorted();
      assert.deepEqual(sorted(after), sorted(before));
      // Each device that is there is in the way of the one that Holdfast makes.
      assert.deepEqual(
        lostIn(reading).filter((one) => !one.includes('in its way')),
        [],
      );
      assert.equal(reading.notCarried.length, 1 + tags.length);
    }),
    { numRuns: 100 },
  );
});

test('a device is carried under the name of Holdfast, with the commands that make room for it', () => {
  const facts = withLinks(['em0', 'em1', 'em2'], { bond0: 'bond', office: 'vlan', lagg0: 'bond' });
  const reading = readBy(
    networkSubsystem,
    {
      [`${networkd}10-bond0.netdev`]:
        '[NetDev]\nName=bond0\nKind=bond\nMTUBytes=9000\n[Bond]\nMode=802.3ad\nLACPTransmitRate=fast\nMIIMonitorSec=1s\n',
      [`${networkd}10-office.netdev`]: '[NetDev]\nName=office\nKind=vlan\n[VLAN]\nId=20\n',
      [`${networkd}20-bond0.network`]: '[Match]\nName=bond0\n[Network]\nVLAN=office\nIPv6AcceptRA=no\n',
      [`${networkd}20-members.network`]: '[Match]\nName=em0 em1\n[Network]\nBond=bond0\n',
      [`${networkd}20-office.network`]:
        '[Match]\nName=office\n[Network]\nAddress=198.51.100.7/24\nGateway=198.51.100.1\nIPv6AcceptRA=no\n',
    },
    facts,
  );
  assert.deepEqual(valuesIn(reading), [
    ['network/lagg', { lagg_interface: 'lagg1', lagg_protocol: 'lacp', lagg_interfaces: ['em0', 'em1'] }],
    ...['em0', 'em1'].map((lagg_physnic, lagg_ordernum) => [
      'network/lagginterfacemembers',
      { lagg_interfacegroup: 'lagg1', lagg_ordernum, lagg_physnic, lagg_deviceoptions: 'mtu 9000' },
    ]),
    ['network/interface', { int_name: 'lagg1', int_interface: 'lagg1' }],
    ['network/vlan', { vlan_vint: 'vlan20', vlan_pint: 'lagg1', vlan_tag: 20 }],
    [
      'network/interface',
      {
        ...{ int_name: 'vlan20', int_interface: 'vlan20', int_ipv4address: '198.51.100.7', int_v4netmaskbit: '24' },
      },
    ],
    ['network/globalconfiguration', { gc_ipv4gateway: '198.51.100.1' }],
  ]);
  assert.deepEqual(lostIn(reading), [
    '10-bond0.netdev:7 Holdfast has no field for it.',
    '20-bond0.network:1 Holdfast makes the device itself, as lagg1, and the one that is there is in its way.',
    '20-office.network:1 Holdfast makes the device itself, as vlan20, and the one that is there is in its way.',
  ]);
  const toDo = reading.notCarried.map((one) => one.toDo).join('\n');
  assert.match(
    toDo,
    /run: rm \/etc\/systemd\/network\/10-bond0\.netdev && ip link delete bond0\. Use lagg1 in scripts/,
  );
  assert.match(toDo, /ip link delete office/);
});

test('a bridge and whatever is attached to it stays, and so does what Holdfast cannot make', () => {
  const facts = withLinks(['em0', 'em1', 'em2', 'em3'], {
    br0: 'bridge',
    'em0.7': 'vlan',
    bond9: 'bond',
    wg0: 'wireguard',
  });
  const reading = readBy(
    networkSubsystem,
    {
      [`${networkd}10-br0.netdev`]: '[NetDev]\nName=br0\nKind=bridge\n[Bridge]\nSTP=yes\n',
      [`${networkd}10-em0.7.netdev`]: '[NetDev]\nName=em0.7\nKind=vlan\n[VLAN]\nId=7\n',
      [`${networkd}10-em0.8.netdev`]: '[NetDev]\nName=em0.8\nKind=vlan\n[VLAN]\nId=8\n',
      [`${networkd}10-bond9.netdev`]: '[NetDev]\nName=bond9\nKind=bond\n[Bond]\nMode=balance-alb\n',
      [`${networkd}10-wg0.netdev`]: '[NetDev]\nName=wg0\nKind=wireguard\n[WireGuard]\nPrivateKey=never shown\n',
      [`${networkd}20-br0.network`]: '[Match]\nName=br0\n[Network]\nAddress=198.51.100.7/24\n',
      [`${networkd}20-em0.7.network`]: '[Match]\nName=em0.7\n[Network]\nBridge=br0\n',
      [`${networkd}20-em0.network`]: '[Match]\nName=em0\n[Network]\nVLAN=em0.7\nVLAN=em0.8\nAddress=203.0.113.7/24\n',
      [`${networkd}20-em1.network`]: '[Match]\nName=em1\n[Network]\nBridge=br0\n',
      [`${networkd}20-em2.network`]: '[Match]\nName=em2\n[Network]\nBond=bond9\n',
      [`${networkd}20-em3.network`]: '[Match]\nName=em3\n[Network]\nBridge=unknown\n',
    },
    facts,
  );
  assert.deepEqual(valuesIn(reading), []);
  assert.deepEqual(lostIn(reading).toSorted(), [
    '10-bond9.netdev:1 Holdfast has no aggregate that works as balance-alb does.',
    '10-em0.8.netdev:1 It is on em0, which is not carried.',
    '10-wg0.netdev:0 Holdfast makes VLANs and aggregates, and no devices of the kind wireguard.',
    '20-br0.network:1 Holdfast makes no bridges.',
    '20-em0.7.network:1 It is part of br0.',
    '20-em0.network:1 Its file attaches em0.7, which is not carried.',
    '20-em1.network:1 The interface is part of br0.',
    '20-em2.network:1 The interface is part of bond9.',
    '20-em3.network:1 The interface is part of unknown.',
  ]);
  assert.doesNotMatch(JSON.stringify(reading), /never shown/);
});

test('what netplan writes for networkd is read, by names and hardware addresses', () => {
  const run = '/run/systemd/network/';
  const reading = readBy(
    networkSubsystem,
    {
      '/etc/netplan/50-cloud-init.yaml': 'network: {version: 2}\n',
      [`${run}10-netplan-lan.network`]:
        '[Match]\nPermanentMACAddress=02:00:00:00:00:01\nName=em1\n\n[Network]\nLinkLocalAddressing=ipv6\nAddress=198.51.100.7/24\nDNS=198.51.100.53\nIPv6AcceptRA=no\n',
      [`${run}10-netplan-vlan5.netdev`]: '[NetDev]\nName=vlan5\nKind=vlan\n\n[VLAN]\nId=5\n',
      [`${run}10-netplan-vlan5.network`]:
        '[Match]\nName=vlan5\n[Network]\nDHCP=ipv4\nIPv6AcceptRA=no\n[DHCP]\nRouteMetric=100\n',
      [`${run}10-netplan-em0.network`]: '[Match]\nName=em0\n[Network]\nVLAN=vlan5\nIPv6AcceptRA=no\n',
    },
    withLinks(['em0', 'em1'], { vlan5: 'vlan' }),
  );
  assert.deepEqual(
    reading.records.map(({ values }) => values['int_interface'] ?? values['vlan_vint'] ?? values['gc_nameserver1']),
    ['em0', 'em1', 'vlan5', 'vlan5', '198.51.100.53'],
  );
  assert.match(lostIn(reading).join('\n'), /50-cloud-init\.yaml:0 What netplan wrote from it for networkd/);
  assert.match(JSON.stringify(reading.notCarried), /remove vlan5 from the files in \/etc\/netplan, rm \/run\/systemd/);
});

test('stanzas of bonds, VLANs and bridges are read in each way that ifupdown knows', () => {
  const reading = readBy(
    networkSubsystem,
    {
      '/etc/network/interfaces': `iface em0 inet manual
  bond-master bond0
iface em1 inet manual
  bond-master bond0
iface bond0 inet static
  address 198.51.100.7/24
  bond-mode 1
  bond_primary em1
  bond-slaves none
  bond-miimon 100
  bond-lacp-rate fast
iface bond0.20 inet static
  address 203.0.113.7/24
iface vlan30 inet manual
  vlan-raw-device em2
iface br0 inet dhcp
  bridge_ports em3
  bridge_stp off
`,
    },
    withLinks(['em0', 'em1', 'em2', 'em3'], { bond0: 'bond', 'bond0.20': 'vlan', vlan30: 'vlan', br0: 'bridge' }),
  );
  assert.deepEqual(
    valuesIn(reading).filter(([resource]) => resource !== 'network/interface'),
    [
      ['network/lagg', { lagg_interface: 'lagg0', lagg_protocol: 'failover', lagg_interfaces: ['em1', 'em0'] }],
      ['network/vlan', { vlan_vint: 'vlan20', vlan_pint: 'lagg0', vlan_tag: 20 }],
      ['network/vlan', { vlan_vint: 'vlan30', vlan_pint: 'em2', vlan_tag: 30 }],
    ],
  );
  assert.deepEqual(
    lostIn(reading).filter((one) => !/in its way|as long as/.test(one)),
    ['interfaces:11 Holdfast has no field for it.', 'interfaces:16 Holdfast makes no bridges.'],
  );
});

const keyfile = (sections: Readonly<Record<string, Readonly<Record<string, string>>>>) =>
  Object.entries(sections)
    .map(
      ([name, values]) =>
        `[${name}]\n${Object.entries(values)
          .map(([key, value]) => `${key}=${value}\n`)
          .join('')}`,
    )
    .join('\n');
const connections = '/etc/NetworkManager/system-connections/';

test('connections of NetworkManager have the addresses, routes and name servers that their keyfiles say', () => {
  const address = fc.ipV4().filter((ip) => !/^(?:0|127|2[2-5]\d)\./.test(ip));
  const shape = fc.record({
    addresses: fc.uniqueArray(address, { maxLength: 3 }),
    gateway: fc.option(address, { nil: undefined }),
    servers: fc.uniqueArray(address, { maxLength: 3 }),
    mtu: fc.constantFrom(undefined, '1400', '9000'),
    isByLease: flag,
  });
  fc.assert(
    fc.property(shape, ({ addresses, gateway, servers, mtu, isByLease }) => {
      const reading = readBy(
        networkSubsystem,
        {
          [`${connections}lan.nmconnection`]: keyfile({
            connection: { id: 'Wired connection 1', uuid: 'a1', type: 'ethernet', 'interface-name': 'em0' },
            ethernet: { ...(mtu !== undefined && { mtu }) },
            ipv4: {
              method: isByLease ? 'auto' : 'manual',
              ...Object.fromEntries(
                addresses.map((ip, index) => [
                  `address${index + 1}`,
                  index === 0 && gateway !== undefined ? `${ip}/24,${gateway}` : `${ip}/24`,
                ]),
              ),
              ...(servers.length > 0 && { dns: `${servers.join(';')};` }),
            },
            ipv6: { method: 'disabled' },
          }),
        },
        withLinks(['em0']),
      );
      const [{ values } = { values: {} }, settings] = reading.records;
      const first = isByLease ? undefined : addresses[0];
      const more = addresses.filter((ip) => ip !== first).map((ip) => `${ip}/24`);
      assert.deepEqual(values, {
        ...{ int_name: 'em0', int_interface: 'em0' },
        ...(first !== undefined && { int_ipv4address: first, int_v4netmaskbit: '24' }),
        ...(isByLease && { int_dhcp: true }),
        ...(mtu !== undefined && { int_options: `mtu ${mtu}` }),
        ...(more.length > 0 && { int_aliases: more }),
      });
      const hasGateway = gateway !== undefined && addresses.length > 0;
      assert.deepEqual(settings?.values ?? {}, {
        ...(hasGateway && { gc_ipv4gateway: gateway }),
        ...Object.fromEntries(servers.map((ip, index) => [`gc_nameserver${index + 1}`, ip])),
      });
      assert.deepEqual(lostIn(reading), [
        'lan.nmconnection:1 NetworkManager configures em0 too as long as this is there.',
      ]);
    }),
    { numRuns: 200 },
  );
});

test('bonds and VLANs of NetworkManager are found by UUIDs, and no secret of a connection is shown', () => {
  const reading = readBy(
    networkSubsystem,
    {
      [`${connections}bond.nmconnection`]: keyfile({
        connection: { id: 'bond', uuid: 'b1', type: 'bond', 'interface-name': 'bond0' },
        bond: { mode: 'active-backup', miimon: '100', primary: 'em1' },
        ipv4: { method: 'disabled' },
        ipv6: { method: 'ignore' },
      }),
      ...Object.fromEntries(
        ['em0', 'em1'].map((name) => [
          `${connections}${name}.nmconnection`,
          keyfile({
            connection: {
              id: name,
              uuid: `u-${name}`,
              type: '802-3-ethernet',
              'interface-name': name,
              master: 'b1',
              'slave-type': 'bond',
            },
            '802-1x': { password: 'never shown' },
          }),
        ]),
      ),
      [`${connections}office.nmconnection`]: keyfile({
        connection: { id: "the office's", type: 'vlan', 'interface-name': 'office' },
        vlan: { id: '20', parent: 'b1', flags: '1' },
        ipv4: { method: 'manual', address1: '198.51.100.7/24', route1: '10.9.0.0/16,198.51.100.2,5' },
        ipv6: { method: 'disabled' },
      }),
      [`${connections}guests.nmconnection`]: keyfile({
        connection: { id: 'guests', type: 'wifi' },
        'wifi-security': { psk: 'never shown' },
      }),
      [`${connections}later.nmconnection`]: keyfile({
        connection: { id: 'later', type: 'ethernet', 'interface-name': 'em2', autoconnect: 'false' },
      }),
    },
    withLinks(['em0', 'em1', 'em2'], { bond0: 'bond', office: 'vlan' }),
  );
  assert.deepEqual(
    valuesIn(reading).filter(([resource]) => resource !== 'network/interface'),
    [
      ['network/lagg', { lagg_interface: 'lagg0', lagg_protocol: 'failover', lagg_interfaces: ['em1', 'em0'] }],
      ['network/vlan', { vlan_vint: 'vlan20', vlan_pint: 'lagg0', vlan_tag: 20 }],
      ['network/staticroute', { sr_destination: '10.9.0.0/16', sr_gateway: '198.51.100.2' }],
    ],
  );
  const said = JSON.stringify(reading.notCarried);
  assert.doesNotMatch(JSON.stringify(reading), /never shown/);
  assert.match(said, /802-1x\.password/);
  assert.match(said, /nmcli connection delete b1\b/);
  assert.match(said, /nmcli connection delete 'the office'\\\\''s'/);
  assert.match(said, /no interfaces of the type wifi/);
  assert.match(said, /The connection is not made at the start/);
});
