import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinuxLease } from '../../../src/host/linux/lease.ts';
import { readCluster } from '../../../src/host/linux/lease-read.ts';
import type { Runner } from '../../../src/host/linux/runner.ts';
import { HostError } from '../../../src/host/ports/index.ts';
import { recording } from './support.ts';

const monitor = 'crm_mon --one-shot --output-as=xml';
const property = 'crm_attribute --type crm_config --name holdfast-holder';

/** A cluster whose members are as in a recording of Pacemaker 2.1.5, and which keeps the property. */
function cluster({ members, self = 'alpha', holder = '' }: { members: string; self?: string; holder?: string }) {
  const changes: string[] = [];
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
      const answer = answers[argv.join(' ')] ?? assert.fail(`unexpected: ${argv.join(' ')}`);
      return { status: 0, stdout: answer(), stderr: '' };
    },
    follow: () => () => {},
  };
  return { lease: new LinuxLease({ runner }), changes };
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
