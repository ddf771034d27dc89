import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextFree } from '../../../src/areas/jails/addresses.ts';
import type { JailSettings } from '../../../src/areas/jails/configuration.ts';
import { readFlags } from '../../../src/areas/jails/flags.ts';

test('valid flags become limits, and an invalid flag is named in the problem', () => {
  assert.deepEqual(readFlags('memory=512M, cpu=150% tasks=20,allow.raw_sockets=false'), {
    limits: { memory: 512 * 1024 ** 2, cpu: 150, tasks: 20, rawSockets: false },
  });
  assert.deepEqual(readFlags('tasks=1,tasks=2'), { limits: { tasks: 2, rawSockets: true } });
  for (const bad of [
    'memory',
    'memory=1K',
    'memory=lots',
    'cpu=0%',
    'cpu=50',
    'tasks=-1',
    'allow.mount=1',
    'constructor=1',
  ]) {
    const reading = readFlags(`tasks=5,${bad}`);
    assert.ok('wrong' in reading && reading.wrong.startsWith(`"${bad}" is not a valid jail flag`), bad);
  }
});

const none: JailSettings = {
  id: 1,
  jc_path: '/mnt/tank',
  jc_collectionurl: '',
  jc_ipv4_network: null,
  jc_ipv4_network_start: null,
  jc_ipv4_network_end: null,
  jc_ipv6_network: null,
  jc_ipv6_network_start: null,
  jc_ipv6_network_end: null,
  jc_ipv4_dhcp: false,
  jc_ipv6_autoconf: false,
};

test('nextFree returns the lowest free address of the range', () => {
  assert.equal(nextFree(none, 4, []), null);
  assert.deepEqual(nextFree({ ...none, jc_ipv4_network: '192.0.2.77/24' }, 4, ['192.0.2.1']), {
    address: '192.0.2.2',
    bits: 24,
  });
  assert.deepEqual(nextFree({ ...none, jc_ipv6_network: '2001:db8::/64' }, 6, ['2001:db8::1', '192.0.2.1']), {
    address: '2001:db8::2',
    bits: 64,
  });
  const small = { ...none, jc_ipv4_network: '192.0.2.0/30' };
  assert.deepEqual(nextFree(small, 4, ['192.0.2.1']), { address: '192.0.2.2', bits: 30 });
  assert.equal(
    nextFree(small, 4, ['192.0.2.1', '192.0.2.2']),
    'none',
    'the network and broadcast addresses are not used',
  );
  const part = {
    ...none,
    jc_ipv4_network: '192.0.2.0/24',
    jc_ipv4_network_start: '192.0.2.10/24',
    jc_ipv4_network_end: '192.0.2.11/24',
  };
  assert.deepEqual(nextFree(part, 4, ['192.0.2.10', '192.0.2.200']), { address: '192.0.2.11', bits: 24 });
});
