import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { LinuxLease } from '../../../src/host/linux/lease.ts';
import {
  readAbout,
  readCluster,
  readFenceDevices,
  readFenceHistory,
  readNodeAttributes,
  readVoteHost,
  readVoters,
} from '../../../src/host/linux/lease-read.ts';
import type { Runner } from '../../../src/host/linux/runner.ts';
import { HostError } from '../../../src/host/ports/index.ts';
import { recording } from './support.ts';

const monitor = 'crm_mon --one-shot --output-as=xml';
const property = 'crm_attribute --type crm_config --name holdfast-holder';

/** A cluster whose members are as in a recording of Pacemaker 2.1.5, and which keeps the property. */
function cluster({ members, self = 'alpha', holder = '' }: { members: string; self?: string; holder?: string }) {
  const changes: string[] = [];
  /** What is only ordered. */
  const others: string[] = [];
  let refusal: string | undefined;
  let kept = holder;
  const answers: Readonly<Record<string, () => string>> = {
    'crm_node --name': () => `${self}\n`,
    [monitor]: () => recording(`crm-mon-${members}.xml`),
    [`${property} --query --quiet --default=`]: () => `${kept}\n`,
    [`${property} --update ${self}`]: () => {
      changes.push('take');
      kept = self;
      return '';
    },
    [`${property} --delete`]: () => {
      changes.push('release');
      kept = '';
      return '';
    },
  };
  const runner: Runner = {
    async run(argv) {
      if (['crm_resource', 'stonith_admin'].includes(argv[0] ?? '') || argv.includes('nodes')) {
        others.push(argv.join(' '));
        return { status: refusal === undefined ? 0 : 1, stdout: '', stderr: refusal ?? '' };
      }
      const answer = answers[argv.join(' ')] ?? assert.fail(`unexpected: ${argv.join(' ')}`);
      return { status: 0, stdout: answer(), stderr: '' };
    },
    follow: () => () => {},
  };
  const refuse = (text: string) => {
    refusal = text;
  };
  return { lease: new LinuxLease({ runner }), changes, others, refuse };
}

const states = (name: string) => readCluster(recording(`crm-mon-${name}.xml`))?.nodes.map(({ state }) => state);

test('a node is online, off after it was fenced or shut down, and otherwise unknown', () => {
  assert.deepEqual(states('online'), ['online', 'online']);
  assert.deepEqual(states('lost'), ['online', 'unknown']);
  assert.deepEqual(states('fenced'), ['online', 'offline']);
  assert.deepEqual(states('joining'), ['online', 'unknown']);
  assert.equal(readCluster(recording('crm-mon-lost.xml'))?.hasQuorum, true);
  assert.equal(readCluster(recording('crm-mon-no-quorum.xml'))?.hasQuorum, false);
});

test('names are read without their entities, and what is no report of a cluster is not taken for one', () => {
  const report = (name: string) =>
    `<summary><current_dc present="true" with_quorum="true"/></summary><nodes><node name="${name}" online="true" unclean="false"/></nodes>`;
  assert.equal(readCluster(report('a&amp;b'))?.nodes[0]?.name, 'a&b');
  assert.equal(
    readCluster('<pacemaker-result><status code="102" message="Not connected"/></pacemaker-result>'),
    undefined,
  );
  assert.equal(readCluster(report('a').replace('present="true" ', ''))?.hasQuorum, false);
});

test('the lease is taken when the other node is seen without it, or was fenced with it', async () => {
  for (const [members, holder] of [
    ['online', ''],
    ['fenced', ''],
    ['fenced', 'beta'],
  ] as const) {
    const { lease, changes } = cluster({ members, holder });
    await lease.take();
    assert.equal((await lease.look())?.holder, 'alpha');
    await lease.take();
    assert.deepEqual(changes, ['take'], members);
  }
});

test('it is not taken from a node that has it, is lost, or joins, nor without a quorum', async () => {
  for (const [members, holder, why] of [
    ['online', 'beta', /beta holds the pool/],
    ['lost', 'beta', /beta is not seen and was not fenced/],
    ['lost', '', /beta is not seen and was not fenced/],
    ['joining', '', /beta is not seen and was not fenced/],
    ['no-quorum', '', /no majority/],
    ['no-quorum', 'alpha', /no majority/],
  ] as const) {
    const { lease, changes } = cluster({ members, holder });
    await assert.rejects(lease.take(), why);
    assert.deepEqual(changes, []);
  }
});

test('only the holder releases it', async () => {
  const other = cluster({ members: 'online', holder: 'beta' });
  await other.lease.release();
  assert.deepEqual(other.changes, []);
  const own = cluster({ members: 'online', holder: 'alpha' });
  await own.lease.release();
  assert.deepEqual(own.changes, ['release']);
});

test('a machine without Pacemaker, or whose cluster does not run, is in no pair', async () => {
  const missing = new LinuxLease({
    runner: { run: () => Promise.reject(new HostError('cannot run crm_node: not installed')), follow: () => () => {} },
  });
  assert.equal(await missing.look(), undefined);
  const stopped = new LinuxLease({
    runner: { run: async () => ({ status: 102, stdout: '', stderr: 'Connection refused' }), follow: () => () => {} },
  });
  assert.equal(await stopped.look(), undefined);
  await assert.rejects(stopped.take(), /not part of a pair, or its cluster does not run/);
});

test('the devices are those of the configuration, with the nodes that each of them ends', () => {
  assert.deepEqual(
    [...readFenceDevices(recording('cib-resources.xml'))],
    [
      ['holdfast-fence-1', ['alpha']],
      ['holdfast-fence-2', ['beta']],
      // It lists its nodes by itself.
      ['watchdog', undefined],
    ],
  );
});

test('a node was last ended when a device last did, and the last attempt counts', () => {
  const history = readFenceHistory(recording('stonith-history.xml'));
  assert.deepEqual(history.get('alpha'), { lastEnded: Date.parse('2026-11-25T19:44:47.434Z'), hasFailed: false });
  assert.deepEqual(history.get('beta'), { lastEnded: Date.parse('2026-11-25T19:40:00Z'), hasFailed: true });
});

test('what a machine has said of itself is read from its attributes', () => {
  const attributes = readNodeAttributes(recording('cib-nodes.xml'));
  assert.deepEqual([...attributes.keys()], ['alpha', 'beta']);
  assert.deepEqual(readAbout(attributes.get('alpha')?.get('holdfast-about') ?? ''), {
    version: '0.1.0',
    hostId: '0a00000a',
    missingDisks: [],
  });
  for (const text of ['', '[]', '{"version": 1}']) assert.equal(readAbout(text), undefined);
});

test('a move is one program, and one that the cluster refuses fails with the reason', async () => {
  const { lease, others, refuse } = cluster({ members: 'online', holder: 'alpha' });
  await lease.move('beta');
  assert.deepEqual(others, ['crm_resource --move --resource holdfast --node beta --lifetime PT10M']);
  refuse('Resource holdfast not found');
  await assert.rejects(lease.move('gamma'), /the cluster has no machine gamma/);
  await assert.rejects(lease.move('beta'), /Resource holdfast not found/);
});

test('another machine is ended by the cluster, and the time is kept there; its own machine is not', async () => {
  const { lease, others } = cluster({ members: 'online', holder: 'alpha' });
  await assert.rejects(lease.fence('alpha'), /no other machine alpha/);
  await lease.fence('beta');
  assert.equal(others[0], 'stonith_admin --reboot beta --timeout 120');
  assert.match(String(others[1]), /^crm_attribute --type nodes --node beta --name holdfast-ended --update \d{13}$/);
});

test('the lease of a pair that is being formed is taken whatever is known of the other machine', async () => {
  const { lease, changes } = cluster({ members: 'lost', holder: '' });
  await lease.take({ founding: true });
  assert.deepEqual(changes, ['take']);
});

test('a machine has the third vote while its daemon casts it', () => {
  assert.equal(readVoteHost('quorum.device.net.host (str) = 192.0.2.13\n'), '192.0.2.13');
  assert.equal(readVoteHost("Can't get key quorum.device.net.host. Error CS_ERR_NOT_EXIST\n"), undefined);
  const voters = (name: string) => readVoters(recording(`quorumtool-${name}.txt`));
  assert.deepEqual(voters('both'), ['alpha', 'beta']);
  assert.deepEqual(voters('one'), ['alpha']);
  assert.deepEqual(voters('stopped'), []);
  assert.deepEqual(voters('none'), []);
});

test('a machine that is not seen is reported once, whatever else Corosync reports meanwhile', async () => {
  let print = (_line: string) => {};
  const lease = new LinuxLease({
    runner: {
      run: () => Promise.reject(new HostError('not asked')),
      follow: (_, { line }) => {
        print = line;
        return () => {};
      },
    },
  });
  const reports: boolean[] = [];
  let reported = Promise.withResolvers<void>();
  const stop = lease.watchOthers((isMissing) => {
    reports.push(isMissing);
    reported.resolve();
  });
  print('Nodes:            1');
  await reported.promise;
  // A report of the same would come before this one.
  reported = Promise.withResolvers();
  print('Nodes:            1');
  await wait(400);
  print('Nodes:            2');
  await reported.promise;
  stop();
  assert.deepEqual(reports, [true, false]);
});
