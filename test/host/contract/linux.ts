import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openLinuxHost } from '../../../src/host/linux/index.ts';
import { HelperRunner } from '../../../src/host/linux/runner.ts';
import type { Host } from '../../../src/host/ports/index.ts';
import { newMark, type ZfsEvent } from '../../../src/host/ports/zfs.ts';
import { type DomainUnderTest, finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { describeAccounts } from './accounts.ts';
import { describeBootEnvironments } from './boot-environments.ts';
import { describeCommands } from './commands.ts';
import { describeDisks } from './disks.ts';
import { describeDomain } from './domain.ts';
import { describeFiles } from './files.ts';
import { describeJails } from './jails.ts';
import { describeLease } from './lease.ts';
import { describeMachine } from './machine.ts';
import { describeNetwork } from './network.ts';
import { describePackages } from './packages.ts';
import { describePlugins } from './plugins.ts';
import { describeReplication } from './replication.ts';
import { describeServices } from './services.ts';
import { describeStatistics } from './statistics.ts';
import { freeDisks, freshName, poolOn, refused } from './support.ts';
import { describeTargets } from './targets.ts';
import { describeWeb } from './web.ts';
import { describeZfs } from './zfs.ts';

// These tests create pools and users on the machine they run on; test/lab/contract-*.test.ts run them in test
// machines.
const part = process.env['HOLDFAST_CONTRACT'];
if (part === undefined)
  throw new Error('The contract of the Linux host runs in the test machine: bin/test test/lab/contract-*.test.ts');
// One host for all tests: its only state is a helper process, which takes half a second to start there.
const linux = await openLinuxHost();
after(() => linux.close());
// The same machine with the other engine; by then the kernel serves no targets.
const other = await openLinuxHost({ targetEngine: 'tgt' });
after(() => other.close());
const withTgt: HostUnderTest = {
  title: 'Linux, with tgt,',
  start: async (t) => {
    await other.services.start('tgt');
    finallyOf(t, () => other.services.stop('tgt'));
    return other;
  },
};
const withLinux: HostUnderTest = {
  title: 'Linux',
  start: async () => linux,
  async endProgram(service, how) {
    const signal = how === 'failed' ? 'KILL' : 'TERM';
    const runner = new HelperRunner();
    await runner.run(['systemctl', 'kill', `--signal=${signal}`, `${service}.service`]);
    await runner.close();
  },
};
const hosts: readonly HostUnderTest[] = [withLinux];
/** Each part runs in a separate machine. */
const parts: Readonly<Record<string, () => void>> = {
  storage() {
    describeAccounts(hosts);
    describeCommands(hosts);
    describeDisks(hosts);
    describeFiles(hosts);
    describeStatistics(hosts);
    describeZfs(hosts);
    describeReal(linux);
  },
  services() {
    describeMachine(hosts);
    describeNetwork(hosts);
    describePackages(hosts);
    describePlugins(hosts);
    describeServices(hosts);
    describeTargets([...hosts, withTgt]);
    describeWeb(hosts);
  },
  /** On a machine that runs from ZFS, beside another one that is a domain controller. */
  system() {
    describeBootEnvironments(hosts);
    describeDomain([{ ...withLinux, domain: domainIn(process.env['HOLDFAST_CONTRACT_DOMAIN']) }]);
    describeJails(hosts);
    describeLease(hosts);
    describeReplication(hosts);
  },
};
const describePart = parts[part];
if (describePart === undefined)
  throw new Error(`Expected one of ${Object.keys(parts).join(', ')} as HOLDFAST_CONTRACT, got ${part}.`);
describePart();

function domainIn(text = '{}'): DomainUnderTest {
  const domain: DomainUnderTest = JSON.parse(text);
  return domain;
}

/** Behaviour of a real machine only: changes by other programs, old content of disks, programs that do not start. */
function describeReal(host: Host): void {
  describe('the Linux host in a real machine', () => {
    const runner = new HelperRunner();
    after(() => runner.close());
    const byOtherHands = (...argv: readonly string[]) => runner.run(argv);

    test('changes by other programs are reported with their subject and time', async (t) => {
      const pool = await poolOn(host, t);
      const events: ZfsEvent[] = [];
      const stop = host.zfs.watch((some) => events.push(...some));
      finallyOf(t, stop);
      const reported = async (dataset: string, since: number) => {
        const isIt = ({ subject, at }: ZfsEvent) =>
          subject !== 'everything' && 'dataset' in subject && subject.dataset === dataset && at >= since;
        for (let waited = 0; !events.some(isIt) && waited < 20_000; waited += 50) await wait(50);
        assert.ok(events.some(isIt), `${dataset}: ${JSON.stringify(events)}`);
      };
      const since = Date.now() - 1000;
      await byOtherHands('zfs', 'create', `${pool}/theirs`);
      await reported(`${pool}/theirs`, since);
      const later = Date.now();
      await byOtherHands('zfs', 'snapshot', `${pool}/theirs@one`);
      await reported(`${pool}/theirs`, later);
      stop();
      await byOtherHands('zfs', 'destroy', '-r', `${pool}/theirs`);
      const after = events.length;
      await wait(1000);
      assert.equal(events.length, after, 'nothing is reported after the end');
    });

    test('a disk with an old file system is accepted, one with an exported pool is refused', async (t) => {
      const [disk = ''] = await freeDisks(host, 1);
      await byOtherHands('mkfs.ext4', '-q', '-F', `/dev/${disk}`);
      const pool = await poolOn(host, t, [{ kind: 'stripe', disks: [disk] }]);
      const guid = (await host.zfs.pools()).find((one) => one.name === pool)?.guid ?? '';
      await host.zfs.exportPool(pool);
      finallyOf(t, async () => {
        await host.zfs.importPool(guid);
        await host.zfs.destroyPool(pool);
      });
      assert.equal(
        (await host.disks.list()).find((one) => one.name === disk)?.usedBy,
        `it is part of the exported pool ${pool}`,
      );
      const name = freshName('hold');
      await refused(
        host.zfs.createPool({ name, mountpoint: `/mnt/${name}`, groups: [{ kind: 'stripe', disks: [disk] }] }),
        new RegExp(`exported pool '?${pool}`),
      );
    });

    test('groups of different kinds cannot be combined, with or without force', async (t) => {
      const disks = await freeDisks(host, 4);
      await byOtherHands('mkfs.ext4', '-q', '-F', `/dev/${disks[0]}`);
      const name = freshName('hold');
      const groups = [
        { kind: 'raidz', disks: disks.slice(0, 3) },
        { kind: 'stripe', disks: disks.slice(3) },
      ] as const;
      await refused(host.zfs.createPool({ name, mountpoint: `/mnt/${name}`, groups }), /mismatched replication level/);
      assert.ok(!(await host.zfs.pools()).some((pool) => pool.name === name));
      await poolOn(host, t, [{ kind: 'stripe', disks: disks.slice(0, 1) }]);
    });

    test('a change of several properties that fails halfway changes none of them', async (t) => {
      const pool = await poolOn(host, t);
      await host.zfs.createDataset(`${pool}/a`, { properties: { recordsize: '64K' }, comment: 'old' });
      const look = async () => (await host.zfs.datasets()).find((one) => one.name === `${pool}/a`);
      const { properties, inherited, comment } = (await look()) ?? assert.fail('no dataset');
      await refused(
        host.zfs.changeDataset(`${pool}/a`, {
          properties: { atime: 'off', recordsize: 'inherit', reservation: '1000G' },
          comment: 'new',
        }),
        /space/,
      );
      await refused(
        host.zfs.changeDataset(`${pool}/a`, { properties: { recordsize: '32K', atime: 'off', quota: 'inherit' } }),
        /cannot be inherited/,
      );
      const now = await look();
      assert.deepEqual(
        { properties: now?.properties, inherited: now?.inherited, comment: now?.comment },
        { properties, inherited, comment },
      );
    });

    test("a dataset without a mark is a step's own if it was created before the pool was loaded again", async (t) => {
      const pool = await poolOn(host, t);
      const earlier = newMark();
      // What the machine leaves that loses power between the two transactions of a creation.
      await byOtherHands('zfs', 'create', `${pool}/a`);
      await byOtherHands('zfs', 'snapshot', `${pool}/a@theirs`);
      // ZFS notes the time of a creation in whole seconds.
      await wait(1100);
      const later = newMark();
      assert.equal(await host.zfs.isMade(`${pool}/a`, earlier), false, 'the pool was not loaded again');
      const { guid } = (await host.zfs.pools([pool]))[0] ?? assert.fail('no pool');
      await host.zfs.exportPool(pool);
      await host.zfs.importPool(guid);
      await byOtherHands('zfs', 'create', `${pool}/b`);
      assert.equal(await host.zfs.isMade(`${pool}/a`, earlier), true);
      assert.equal(await host.zfs.isMade(`${pool}/a`, later), false, 'it was there before the step');
      assert.equal(await host.zfs.isMade(`${pool}/b`, earlier), false, 'another one has created it since');
      assert.equal(await host.zfs.isMade(`${pool}/a@theirs`, earlier), false, 'a snapshot is created with its mark');
    });

    test('a comment may have any character', async (t) => {
      const pool = await poolOn(host, t);
      const comments = ['😀 ü €', 'two\nlines', '-x', 'a=b'];
      for (const [index, comment] of comments.entries()) await host.zfs.createDataset(`${pool}/${index}`, { comment });
      const datasets = (await host.zfs.datasets()).filter((one) => one.name.startsWith(`${pool}/`));
      assert.deepEqual(
        datasets.map((one) => one.comment),
        comments,
      );
    });

    test('a program that fails to start is reported with its own output, and is not enabled at boot', async (t) => {
      const path = '/etc/proftpd/proftpd.conf';
      const old = (await host.files.read(path)) ?? '';
      await host.services.stop('proftpd');
      await host.files.write(path, `${old}\nNonsense on\n`);
      finallyOf(t, () => host.files.write(path, old));
      await refused(
        host.services.start('proftpd'),
        /^proftpd did not start: .*unknown configuration directive 'Nonsense'/s,
      );
      assert.deepEqual((await host.services.states(['proftpd'])).get('proftpd'), {
        running: false,
        enabled: false,
        installed: true,
        phase: 'failed',
      });
    });

    test('a program is restarted on every change', async (t) => {
      finallyOf(t, () => host.services.stop('proftpd'));
      await host.services.start('proftpd');
      for (let times = 0; times < 7; times += 1) await host.services.restart('proftpd');
      assert.equal((await host.services.states(['proftpd'])).get('proftpd')?.running, true);
    });

    test('a user with a running program can be removed', async (t) => {
      const { accounts, commands } = host;
      const name = freshName('hfu');
      await accounts.createGroup({ name, gid: 54321 });
      finallyOf(t, () => accounts.removeGroup(name));
      await accounts.createUser({
        name,
        uid: 54321,
        gid: 54321,
        fullName: '',
        home: '/nonexistent',
        shell: '/bin/sh',
        passwordHash: '*',
        groups: [],
      });
      const abort = new AbortController();
      const running = commands.run({ user: name, line: 'id -un; sleep 60', signal: abort.signal, keep: 100 });
      await wait(1000);
      await accounts.removeUser(name);
      assert.ok(
        (await accounts.owned()).groups.some((group) => group.name === name),
        'the group of that name is still there',
      );
      abort.abort();
      assert.deepEqual(await running, { status: 143, stdout: `${name}\n`, stderr: '' });
    });
  });
}
