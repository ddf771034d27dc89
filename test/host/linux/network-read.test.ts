import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readDomain,
  readLinks,
  readMedium,
  readNameServers,
  readOtherHosts,
  readRoutes,
} from '../../../src/host/linux/network-read.ts';

test('links are read from iproute2’s output', () => {
  const text = JSON.stringify([
    { ifname: 'lo', flags: ['LOOPBACK', 'UP'], mtu: 65536, addr_info: [] },
    {
      ifname: 'eth0',
      flags: ['BROADCAST', 'SLAVE', 'UP'],
      mtu: 1500,
      master: 'lagg0',
      addr_info: [
        { family: 'inet', local: '192.0.2.1', prefixlen: 24, scope: 'global' },
        { family: 'inet6', local: '2001:DB8::1', prefixlen: 64, scope: 'global' },
        { family: 'inet6', local: 'fe80::1', prefixlen: 64, scope: 'link' },
      ],
    },
    {
      ...{ ifname: 'lagg0', flags: [], mtu: 9000, linkinfo: { info_kind: 'bond' }, addr_info: [] },
      address: '02:00:00:00:00:0A',
    },
    {},
  ]);
  assert.deepEqual(readLinks(text), [
    {
      name: 'eth0',
      kind: '',
      up: true,
      carrier: false,
      mtu: 1500,
      master: 'lagg0',
      addresses: ['192.0.2.1/24', '2001:db8::1/64'],
    },
    {
      ...{ name: 'lagg0', kind: 'bond', up: false, carrier: undefined, mtu: 9000, master: undefined, addresses: [] },
      mac: '02:00:00:00:00:0a',
    },
  ]);
});

const card = (advertised: string, rest: string) => `Settings for eth0:
	Supported ports: [ TP ]
	Supported link modes:   10baseT/Half 10baseT/Full
	                        100baseT/Half 100baseT/Full
	                        1000baseT/Full
	Advertised link modes:  ${advertised}
	Advertised pause frame use: No
	${rest}
`;

test('the medium of a card is read from ethtool’s output', () => {
  assert.equal(
    readMedium(
      card(
        '10baseT/Half 10baseT/Full\n\t                        100baseT/Half 100baseT/Full\n\t                        1000baseT/Full',
        'Auto-negotiation: on',
      ),
    ),
    'auto',
  );
  assert.deepEqual(readMedium(card('1000baseT/Full', 'Auto-negotiation: on')), { speed: 1000, duplex: 'full' });
  assert.deepEqual(readMedium(card('Not reported', 'Speed: 100Mb/s\n\tDuplex: Half\n\tAuto-negotiation: off')), {
    speed: 100,
    duplex: 'half',
  });
  // That of a virtual machine.
  const fixed = 'Supports auto-negotiation: No\n\tSpeed: 10000Mb/s\n\tDuplex: Full\n\tAuto-negotiation: off';
  assert.equal(readMedium(card('Not reported', fixed)), undefined);
  assert.equal(readMedium('Settings for vec0:\n\tLink detected: yes\n'), undefined);
});

test('routes are read from iproute2’s output', () => {
  assert.deepEqual(
    readRoutes(
      '[{"dst":"default","gateway":"192.0.2.254"},{"dst":"10.1.1.1","gateway":"192.0.2.1"},{"dst":"192.0.2.0/24"}]',
      4,
    ),
    [
      { destination: '0.0.0.0/0', gateway: '192.0.2.254' },
      { destination: '10.1.1.1/32', gateway: '192.0.2.1' },
    ],
  );
  assert.deepEqual(readRoutes('[{"dst":"2001:db8::/32","gateway":"2001:DB8::1"}]', 6), [
    { destination: '2001:db8::/32', gateway: '2001:db8::1' },
  ]);
  assert.deepEqual(readRoutes('', 6), []);
});

test('the machine’s own hosts and name servers are left out', () => {
  assert.equal(
    readOtherHosts(
      '# x\n127.0.0.1 localhost\n127.0.1.1 nas\n::1 localhost\nff02::1 ip6-allnodes\n192.0.2.7  printer # here\nnonsense\n',
    ),
    '192.0.2.7  printer # here',
  );
  assert.equal(readDomain('127.0.0.1 localhost\n127.0.1.1 nas.example.com nas # nas.not.this\n', 'nas'), 'example.com');
  assert.equal(readDomain('127.0.1.1 nas\n', 'nas'), '');
  assert.deepEqual(
    readNameServers('nameserver 127.0.0.53\nnameserver 192.0.2.3\n# nameserver 192.0.2.4\nnameserver 2001:db8::3\n'),
    ['192.0.2.3', '2001:db8::3'],
  );
});
