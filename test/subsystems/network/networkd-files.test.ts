import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkSettings } from '../../../src/areas/network/globalconfiguration.ts';
import { networkInterface } from '../../../src/areas/network/interface.ts';
import { lagg } from '../../../src/areas/network/lagg.ts';
import { laggMember } from '../../../src/areas/network/lagginterfacemembers.ts';
import { staticRoute } from '../../../src/areas/network/staticroute.ts';
import { vlan } from '../../../src/areas/network/vlan.ts';
import { cifsSettings } from '../../../src/areas/services/cifs.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import { networkSubsystem } from '../../../src/subsystems/network/subsystem.ts';
import { fileOf, machine, messagesOf } from '../support/configuration.ts';

const facts = {
  ...machine,
  network: {
    ...machine.network,
    links: ['em0', 'em1', 'em2'].map((name) => ({
      name,
      kind: '',
      up: true,
      carrier: true,
      mtu: 1500,
      master: undefined,
      addresses: [],
    })),
  },
};

function fresh(): LayeredDraft {
  const draft = new LayeredDraft(
    new Tables([networkSettings, networkInterface, vlan, lagg, laggMember, staticRoute, cifsSettings]),
    facts,
    new Map(),
  );
  draft.plant(networkSettings, networkSettings.seed(facts));
  draft.plant(cifsSettings, cifsSettings.seed(facts));
  return draft;
}

const at = (name: string) => `/etc/systemd/network/05-holdfast-${name}`;
const rendered = (draft: LayeredDraft, name: string) => fileOf(networkSubsystem.render(draft, facts), at(name));

test('a fixed interface has its addresses, its routes and its options', () => {
  const draft = fresh();
  draft.create(networkInterface, {
    int_name: 'front',
    int_interface: 'em0',
    int_ipv4address: '192.0.2.1',
    int_v4netmaskbit: '24',
    int_aliases: ['192.0.2.2/32', '2001:DB8:0:0::1/64'],
    int_options: 'mtu 9000 promisc -arp ether 02:00:00:00:00:AB',
  });
  draft.update(networkSettings, 1, { gc_ipv4gateway: '192.0.2.254', gc_ipv6gateway: 'fe80::1%em0' });
  draft.create(staticRoute, { sr_destination: '10.1.2.3/8', sr_gateway: '192.0.2.253' });
  draft.issues.throwIfAny();
  assert.equal(
    rendered(draft, 'em0.network'),
    `# Written by Holdfast.
[Match]
Name=em0

[Link]
MACAddress=02:00:00:00:00:ab
MTUBytes=9000
ARP=no
Promiscuous=yes

[Network]
DHCP=no
IPv6AcceptRA=no
LinkLocalAddressing=ipv6
ConfigureWithoutCarrier=yes

[Address]
Address=192.0.2.1/24

[Address]
Address=192.0.2.2/32

[Address]
Address=2001:db8::1/64

[Route]
Gateway=192.0.2.254

[Route]
Gateway=fe80::1

[Route]
Destination=10.0.0.0/8
Gateway=192.0.2.253
`,
  );
});

test('an interface with DHCP is not configured without a carrier', () => {
  const draft = fresh();
  draft.create(networkInterface, {
    int_name: 'front',
    int_interface: 'em0',
    int_dhcp: true,
    int_ipv6auto: true,
    int_options: 'down',
  });
  draft.create(staticRoute, { sr_destination: '10.0.0.0/8', sr_gateway: '198.51.100.1' });
  assert.equal(
    rendered(draft, 'em0.network'),
    `# Written by Holdfast.
[Match]
Name=em0

[Link]
ActivationPolicy=always-down

[Network]
DHCP=ipv4
IPv6AcceptRA=yes
LinkLocalAddressing=ipv6

[DHCPv4]
UseHostname=no
SendRelease=no

[Route]
Destination=10.0.0.0/8
Gateway=198.51.100.1
`,
  );
});

test('a VLAN on an aggregate has two devices, a parent that lists it, and members that name the aggregate', () => {
  const draft = fresh();
  draft.create(lagg, { lagg_protocol: 'failover', lagg_interfaces: ['em1', 'em2'] });
  draft.update(laggMember, 2, { lagg_deviceoptions: 'up mtu 9000' });
  draft.create(vlan, { vlan_vint: 'vlan7', vlan_pint: 'lagg0', vlan_tag: 7, vlan_pcp: 5 }, {});
  assert.equal(
    rendered(draft, 'lagg0.netdev'),
    '# Written by Holdfast.\n[NetDev]\nName=lagg0\nKind=bond\n\n[Bond]\nMode=active-backup\nPrimaryReselectPolicy=always\nMIIMonitorSec=100ms\n',
  );
  assert.equal(
    rendered(draft, 'vlan7.netdev'),
    '# Written by Holdfast.\n[NetDev]\nName=vlan7\nKind=vlan\n\n[VLAN]\nId=7\nEgressQOSMaps=0-5 1-5 2-5 3-5 4-5 5-5 6-5 7-5\n',
  );
  assert.match(rendered(draft, 'lagg0.network') ?? '', /^MTUBytes=9000$.*^VLAN=vlan7$/ms);
  assert.equal(
    rendered(draft, 'em1.network'),
    `# Written by Holdfast.
[Match]
Name=em1

[Link]
RequiredForOnline=no

[Network]
DHCP=no
IPv6AcceptRA=no
LinkLocalAddressing=no
Bond=lagg0
PrimarySlave=yes
`,
  );
  assert.doesNotMatch(rendered(draft, 'em2.network') ?? '', /PrimarySlave/);
});

test('a route that no interface reaches and a missing interface are omitted and reported', () => {
  const draft = fresh();
  draft.create(staticRoute, { sr_destination: '10.0.0.0/8', sr_gateway: '192.0.2.253' });
  draft.create(networkInterface, { int_name: 'gone' }, { int_interface: 'em7' });
  const { links } = networkSubsystem.render(draft, facts);
  assert.deepEqual(messagesOf(networkSubsystem, draft, facts), [
    'The static route to 10.0.0.0/8 is not set: no configured interface has an address in the network of 192.0.2.253.',
    'This machine has no interface em7.',
  ]);
  assert.deepEqual(links, []);
});

test('of two routes to one network the first is used, and the other is reported', () => {
  const draft = fresh();
  draft.create(networkInterface, {
    int_name: 'front',
    int_interface: 'em0',
    int_ipv4address: '192.0.2.1',
    int_v4netmaskbit: '24',
  });
  draft.update(networkSettings, 1, { gc_ipv4gateway: '192.0.2.254' });
  draft.create(staticRoute, { sr_destination: '0.0.0.0/0', sr_gateway: '192.0.2.253' });
  draft.create(staticRoute, { sr_destination: '10.0.0.0/8', sr_gateway: '192.0.2.252' });
  draft.create(staticRoute, { sr_destination: '10.9.9.9/8', sr_gateway: '192.0.2.251' });
  const { links } = networkSubsystem.render(draft, facts);
  assert.deepEqual(messagesOf(networkSubsystem, draft, facts), [
    'The static route to 0.0.0.0/0 is not set: another route to the same network exists, so the gateway 192.0.2.253 is not used.',
    'The static route to 10.0.0.0/8 is not set: another route to the same network exists, so the gateway 192.0.2.251 is not used.',
  ]);
  assert.deepEqual(links?.[0]?.routes, [
    { destination: '0.0.0.0/0', gateway: '192.0.2.254' },
    { destination: '10.0.0.0/8', gateway: '192.0.2.252' },
  ]);
});

test('netwait pings the gateways if no addresses are set', () => {
  const draft = fresh();
  draft.create(networkInterface, {
    int_name: 'front',
    int_interface: 'em0',
    int_ipv4address: '192.0.2.1',
    int_v4netmaskbit: '24',
  });
  const file = '/etc/systemd/system/holdfast-netwait.service';
  draft.update(networkSettings, 1, { gc_netwait_enabled: true });
  assert.equal(fileOf(networkSubsystem.render(draft, facts), file), undefined);
  draft.update(networkSettings, 1, { gc_ipv4gateway: '192.0.2.254' });
  assert.match(
    fileOf(networkSubsystem.render(draft, facts), file) ?? '',
    /^ExecStart=\/bin\/sh -c ".*" "netwait" "192\.0\.2\.254"$/m,
  );
  draft.update(networkSettings, 1, { gc_netwait_ip: '192.0.2.9 2001:db8::9' });
  assert.match(fileOf(networkSubsystem.render(draft, facts), file) ?? '', /"netwait" "192\.0\.2\.9" "2001:db8::9"$/m);
});
