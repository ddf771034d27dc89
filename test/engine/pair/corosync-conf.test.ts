import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corosyncConf, isOwnConf, isPackagedConf } from '../../../src/engine/pair/corosync-conf.ts';
import { lines } from '../../../src/lib/text.ts';

const pair = {
  pool: 'tank',
  guid: '1234567890123456789',
  nodes: { beta: 'https://nas2.example.org', alpha: 'https://192.0.2.11' },
  links: { beta: ['192.0.2.12', '10.9.0.2'], alpha: ['192.0.2.11', '10.9.0.1'] },
};

test('both machines get the same file, with every address by which they see each other', () => {
  assert.equal(
    corosyncConf(pair, { processors: 8 }),
    lines(
      '# Written by Holdfast.',
      'totem {',
      '  version: 2',
      '  cluster_name: holdfast-1234567890123456789',
      '  transport: knet',
      '  crypto_cipher: aes256',
      '  crypto_hash: sha256',
      '  token: 3000',
      '  consensus: 1000',
      '}',
      'nodelist {',
      '  node {',
      '    nodeid: 1',
      '    name: alpha',
      '    ring0_addr: 192.0.2.11',
      '    ring1_addr: 10.9.0.1',
      '  }',
      '  node {',
      '    nodeid: 2',
      '    name: beta',
      '    ring0_addr: 192.0.2.12',
      '    ring1_addr: 10.9.0.2',
      '  }',
      '}',
      'quorum {',
      '  provider: corosync_votequorum',
      '  two_node: 1',
      '  wait_for_all: 1',
      '}',
      'system {',
      '  sched_rr: yes',
      '}',
      'logging {',
      '  to_logfile: no',
      '  to_syslog: yes',
      '}',
    ),
  );
});

test('an only processor is not given to Corosync alone', () => {
  assert.match(corosyncConf(pair, { processors: 1 }), /sched_rr: no/);
});

test('what the package installs is no cluster of an administrator, and what Holdfast wrote is none either', () => {
  const packaged =
    'totem {\n\tversion: 2\n\tcluster_name: debian\n}\nnodelist {\n\tnode {\n\t\tring0_addr: 127.0.0.1\n\t}\n}\n';
  assert.deepEqual([isPackagedConf(packaged), isOwnConf(packaged)], [true, false]);
  assert.equal(isPackagedConf(packaged.replace('127.0.0.1', '192.0.2.11')), false);
  const own = corosyncConf(pair, { processors: 2 });
  assert.deepEqual([isPackagedConf(own), isOwnConf(own)], [false, true]);
});
