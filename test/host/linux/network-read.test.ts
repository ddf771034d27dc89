import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readConnections,
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

test('connections with an address are read from the kernel’s tables, of sockets for one family and for both', () => {
  const tables = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0A0200C0:01BD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21 1 0 100 0 0 10 0',
    '   1: 0A0200C0:0801 4D0200C0:02BD 01 00000000:00000000 00:00000000 00000000     0        0 22 1 0 20 4 30 10 -1',
    '  12: 0B0200C0:01BD 4D0200C0:C350 01 00000000:00000000 00:00000000 00000000     0        0 23 1 0 20 4 30 10 -1',
    '  13: 0A0200C0:01BD 4D0200C0:C351 08 00000000:00000000 00:00000000 00000000     0        0 24 1 0 20 4 30 10 -1',
    '   0: 0000000000000000FFFF00000A0200C0:01BD 0000000000000000FFFF0000096433C6:C350 01 00000000:00000000 00:0',
    '   1: B80D0120000000000000000010000000:0801 B80D0120000000000000000077000000:02BD 01 00000000:00000000 00:0',
  ].join('\n');
  assert.deepEqual(readConnections(tables, '192.0.2.10'), [
    { port: 2049, client: '192.0.2.77', clientPort: 701 },
    { port: 445, client: '198.51.100.9', clientPort: 50000 },
  ]);
  assert.deepEqual(readConnections(tables, '2001:db8::10'), [{ port: 2049, client: '2001:db8::77', clientPort: 701 }]);
  assert.deepEqual(readConnections(tables, 'nas.example.org'), []);
});
