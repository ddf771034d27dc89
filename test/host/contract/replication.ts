import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { newKeyFiles } from '../../../src/areas/services/openssh.ts';
import type { Host } from '../../../src/host/ports/index.ts';
import type { Remote, Transfer } from '../../../src/host/ports/replication.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freeDisks, freshName, poolOn, refused } from './support.ts';

interface Pair {
  readonly host: Host;
  readonly remote: Remote;
  /** A dataset here. */
  readonly source: string;
  /** A dataset that is not there yet. */
  readonly target: string;
  send(what: Transfer['what'], more?: Partial<Transfer>): Promise<void>;
  snapshotsThere(): Promise<readonly string[]>;
}

const hostKeyFile = '/etc/ssh/ssh_host_ed25519_key.pub';

/** The machine as its own other machine: by SSH with a key, from one pool to another. */
async function pairOn(host: Host, t: TestContext): Promise<Pair> {
  const { files, replication, services, zfs } = host;
  const identity = `/root/${freshName('key')}`;
  const knownHosts = `/root/${freshName('hosts')}`;
  const authorized = '/root/.ssh/authorized_keys';
  const { key, pub } = newKeyFiles('ed25519', 'contract');
  await files.write(identity, key, { mode: 0o600 });
  await files.write(authorized, pub, { mode: 0o600 });
  await services.start('ssh');
  const hostKey = await files.read(hostKeyFile);
  const alias = freshName('alias');
  // The virtual machine has no SSH server, and its others have the key of the first connection.
  await files.write(knownHosts, `${alias} ${(hostKey ?? pub).split(' ').slice(0, 2).join(' ')}\n`);
  finallyOf(t, async () => {
    for (const path of [identity, knownHosts, authorized]) await files.remove(path);
  });
  const source = `${await poolOn(host, t)}/papers`;
  const target = `${await poolOn(host, t, [{ kind: 'stripe', disks: await freeDisks(host, 1) }])}/copy`;
  await zfs.createDataset(source, {});
  const remote: Remote = {
    hostname: '127.0.0.1',
    port: 22,
    user: 'root',
    sudo: false,
    ciphers: [],
    identity,
    knownHosts,
    alias,
  };
  const defaults = {
    remote,
    target,
    over: false,
    compressor: 'off',
    limit: 0,
    stall: 60_000,
    signal: new AbortController().signal,
    progress: () => {},
  } as const;
  return {
    host,
    remote,
    source,
    target,
    send: (what, more) => replication.send({ ...defaults, what, ...more }),
    snapshotsThere: async () =>
      (await replication.far(remote, target)).flatMap(({ snapshots }) => snapshots.map(({ name }) => name)),
  };
}

/** Takes snapshots of these names, and returns the full name of each. */
async function snapshotsOf({ host, source }: Pair, ...names: readonly string[]): Promise<readonly string[]> {
  for (const name of names) await host.zfs.createSnapshot(`${source}@${name}`, { recursive: false });
  return names.map((name) => `${source}@${name}`);
}

export function describeReplication(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`replication on the ${title} host`, () => {
      const pairFor = async (t: TestContext) => pairOn(await start(t), t);

      test('the datasets here are listed with their snapshots, the oldest first', async (t) => {
        const pair = await pairFor(t);
        const { host, source } = pair;
        await host.zfs.createDataset(`${source}/below`, {});
        await host.zfs.createSnapshot(`${source}@one`, { recursive: true });
        await snapshotsOf(pair, 'two');
        const listed = async (recursive: boolean) =>
          (await host.replication.near(source, { recursive })).map(({ name, snapshots }) => [
            name,
            snapshots.map((snapshot) => snapshot.name),
          ]);
        assert.deepEqual(await listed(false), [[source, ['one', 'two']]]);
        assert.deepEqual(await listed(true), [
          [source, ['one', 'two']],
          [`${source}/below`, ['one']],
        ]);
        await refused(host.replication.near(`${source}/none`, { recursive: false }), /does not exist/);
      });

      test('a snapshot is sent, then the next as the difference; both have the same guids there', async (t) => {
        const pair = await pairFor(t);
        const { host, remote, source, target } = pair;
        assert.deepEqual(await host.replication.far(remote, target), []);
        const [one = '', two = ''] = await snapshotsOf(pair, 'one', 'two');
        await pair.send({ snapshot: one, base: undefined });
        assert.deepEqual(await pair.snapshotsThere(), ['one']);
        await pair.send({ snapshot: two, base: one });
        const [there] = await host.replication.far(remote, target);
        const [here] = await host.replication.near(source, { recursive: false });
        assert.deepEqual(there?.snapshots, here?.snapshots);
        assert.equal(there?.resumeToken, undefined);
      });

      test('a whole dataset replaces none, unless it is empty and the call says so', async (t) => {
        const pair = await pairFor(t);
        const [one = '', two = ''] = await snapshotsOf(pair, 'one', 'two');
        await pair.send({ snapshot: one, base: undefined });
        await refused(pair.send({ snapshot: two, base: undefined }), /destination .* exists/);
        await refused(pair.send({ snapshot: two, base: undefined }, { over: true }), /destination has snapshots/);
        assert.deepEqual(await pair.snapshotsThere(), ['one']);
      });

      test('a difference needs its base there as the newest snapshot', async (t) => {
        const pair = await pairFor(t);
        const [one = '', two = '', three = ''] = await snapshotsOf(pair, 'one', 'two', 'three');
        await refused(pair.send({ snapshot: two, base: one }), /does not exist/);
        await pair.send({ snapshot: one, base: undefined });
        await refused(pair.send({ snapshot: three, base: two }), /does not\s+match incremental source/);
        assert.deepEqual(await pair.snapshotsThere(), ['one']);
      });

      test('what is not there is not sent, and nothing is when the call is aborted', async (t) => {
        const pair = await pairFor(t);
        await refused(pair.send({ snapshot: `${pair.source}@none`, base: undefined }), /does not exist/);
        const [one = ''] = await snapshotsOf(pair, 'one');
        await refused(pair.send({ snapshot: one, base: undefined }, { signal: AbortSignal.abort() }), /./);
        assert.deepEqual(await pair.snapshotsThere(), []);
      });

      test('a bookmark outlives its snapshot, and the next difference begins at it', async (t) => {
        const pair = await pairFor(t);
        const { host, source } = pair;
        const [one = ''] = await snapshotsOf(pair, 'one');
        await pair.send({ snapshot: one, base: undefined });
        await host.replication.mark(one, 'last');
        await host.replication.mark(one, 'last');
        await host.zfs.destroySnapshot(one, { deferred: false });
        const marks = async () => (await host.replication.near(source, { recursive: false }))[0]?.marks;
        assert.deepEqual(
          (await marks())?.map(({ name }) => name),
          ['last'],
        );
        const [two = ''] = await snapshotsOf(pair, 'two');
        await pair.send({ snapshot: two, base: `${source}#last` });
        assert.deepEqual(await pair.snapshotsThere(), ['one', 'two']);
        await refused(host.replication.mark(`${source}@none`, 'last'), /./);
      });

      test('snapshots there are destroyed by their full names; one that is gone is no failure', async (t) => {
        const pair = await pairFor(t);
        const { host, remote, target } = pair;
        const [one = '', two = ''] = await snapshotsOf(pair, 'one', 'two');
        await pair.send({ snapshot: one, base: undefined });
        await pair.send({ snapshot: two, base: one });
        await host.replication.destroy(remote, [`${target}@one`, `${target}@none`]);
        assert.deepEqual(await pair.snapshotsThere(), ['two']);
        for (const name of [target, `${target}@`, `${target}@two%`])
          await refused(host.replication.destroy(remote, [name]), /it is no snapshot/);
        assert.deepEqual(await pair.snapshotsThere(), ['two']);
      });

      test('a transfer that is complete cannot be abandoned or resumed', async (t) => {
        const pair = await pairFor(t);
        const [one = ''] = await snapshotsOf(pair, 'one');
        await pair.send({ snapshot: one, base: undefined });
        await pair.host.replication.release(pair.remote, [pair.target]);
        await refused(
          pair.host.replication.abandon(pair.remote, pair.target),
          /does not have any resumable receive state/,
        );
        await refused(pair.send({ token: '1-bad-token' }), /cannot resume send|token/);
      });

      test('a machine without this key, with another host key or without an address is refused', async (t) => {
        const { host, remote, target } = await pairFor(t);
        const { replication } = host;
        assert.deepEqual(await replication.far(remote, target), []);
        const { pub } = newKeyFiles('ed25519', 'another');
        const others = `${remote.knownHosts}-others`;
        await host.files.write(others, `${remote.alias} ${pub}`);
        finallyOf(t, () => host.files.remove(others));
        await refused(replication.far({ ...remote, knownHosts: others }, target), /Host key verification failed/);
        await refused(replication.far({ ...remote, identity: `${remote.identity}-none` }, target), /./);
        await refused(replication.far({ ...remote, hostname: 'nas.invalid' }, target), /nas\.invalid/);
        const request = { port: 80, https: false, token: 'x', publicKey: pub, user: 'root' };
        await refused(replication.pair({ ...request, hostname: 'nas.invalid' }), /nas\.invalid/);
      });
    });
  }
}
