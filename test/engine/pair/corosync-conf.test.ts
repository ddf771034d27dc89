import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corosyncConf, isOwnConf, isPackagedConf, voteIn } from '../../../src/engine/pair/corosync-conf.ts';
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

test('a third vote takes the place of two_node and wait_for_all, beside which Corosync refuses it', () => {
  const without = corosyncConf(pair, { processors: 8 });
  const conf = corosyncConf(pair, { processors: 8, vote: '192.0.2.13' });
  assert.equal(
    conf,
    without.replace(
      '  two_node: 1\n  wait_for_all: 1\n',
      lines(
        '  device {',
        '    model: net',
        '    votes: 1',
        '    net {',
        '      host: 192.0.2.13',
        '      algorithm: ffsplit',
        '      tls: off',
        '    }',
        '    heuristics {',
        '      mode: sync',
        '      exec_pool: /usr/sbin/zpool list -H -o name tank',
        '    }',
        '  }',
      ),
    ),
  );
  for (const vote of ['192.0.2.13', '2001:db8::13', 'judge.example.org'])
    assert.equal(voteIn(corosyncConf(pair, { processors: 1, vote })), vote);
  assert.equal(voteIn(without), undefined);
  assert.equal(voteIn(conf.replace('# Written by Holdfast.', '# By hand.')), undefined);
});

test('nothing that could end a line or a section gets into the file', () => {
  for (const vote of [
    ...[
      '',
      ' ',
      '192.0.2.13\n}',
      'judge\u0000',
      'judge }',
      'judge{',
      'judge#',
      'a b',
      '-judge',
      'judge.',
      '999.0.2.13',
    ],
    ...['fe80::13', '169.254.0.13', 'fe80::13%eth0', '192.0.2.13/24', '192.0.2.13:5403', `${'a'.repeat(254)}`, 'jüdge'],
  ])
    assert.throws(() => corosyncConf(pair, { processors: 1, vote }), TypeError, vote);
});
