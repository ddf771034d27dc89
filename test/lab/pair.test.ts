/**
 * Two machines on one shelf of disks, with Corosync, Pacemaker and a fence device, are one appliance to its clients.
 * The pool goes from alpha to beta by a switch, back when beta loses its cable, and, with the vote of a third machine, to
 * beta again when alpha loses its power. Then beta starts alone, and keeps the pool when alpha is back and cannot see it.
 * Machines start beside what is tested meanwhile.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { blocksOf, follow, Shell } from '../support/guide.ts';
import {
  type Cluster,
  cable,
  holders,
  type Name,
  serveEverything,
  sharedAddress,
  sharedApi,
  startCluster,
} from '../support/lab/cluster.ts';
import { ClusterClient } from '../support/lab/cluster-client.ts';
import { underWrites } from '../support/lab/cluster-load.ts';
import { initiatorAt } from '../support/lab/initiator.ts';
import { Machine } from '../support/lab/machine.ts';
import { eventually, journal, rootPassword } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

const own = '/api/holdfast/v1';
const film = 'a film of the holidays\n';
const size = 32 * 1024 ** 2;
let cluster: Cluster;
/** A machine of the pair that was ended starts again. */
let returning: Promise<void> = Promise.resolve();
/** The client that has a file open, and its machine. */
let clientStarts: Promise<ClusterClient> | undefined;
let clientMachine: Promise<Machine> | undefined;
/** The third machine, which has a vote and nothing else. */
let judgeStarts: Promise<Machine> | undefined;
let judge: Machine | undefined;

before(async () => {
  cluster = await startCluster('whole');
});
after(async () => {
  for (const machine of [clientMachine, judgeStarts])
    await (await machine?.catch(() => undefined))?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const at = (name: Name) => cluster.nas[name].machine;
const { capacity, inquired } = initiatorAt(() => sharedAddress);

const shown = () => sharedApi().expect(200, 'GET', `${own}/cluster`);
const kinds = async () =>
  (await sharedApi().list(`${own}/problems`)).flatMap(({ about, kind }) =>
    about === 'holdfast/cluster' ? String(kind) : [],
  );

/** A connection that began before the address moved repeats its first packet after 1, 3 and 7 seconds. */
async function isServedBy(name: Name): Promise<void> {
  const { self } = await sharedApi(2).expect(200, 'GET', `${own}/cluster`);
  assert.equal(self, name);
}

/** What the machine with the pool sees now. Otherwise it looks every 20 seconds, and when somebody joins. */
const looked = () => sharedApi().expect(200, 'POST', `${own}/cluster/maintenance`, { enabled: false });

async function isOnline(name: Name): Promise<void> {
  const { nodes } = await shown();
  assert.ok(Array.isArray(nodes));
  assert.equal(nodes.filter(isObject).find((one) => one['name'] === name)?.['state'], 'online');
}

/** The services that a machine had when it lost the pool start with it, and it ends them. */
const servesNothing = (name: Name) =>
  eventually(60, async () => {
    const { output } = await at(name).tryRun('systemctl is-active smbd nmbd nfs-server holdfast-pair');
    assert.equal(output.trim(), 'inactive\ninactive\ninactive\ninactive');
  });

/** Lets a machine start. A failure is reported where it is waited for. */
function meanwhile<T>(start: Promise<T>): Promise<T> {
  start.catch(() => {});
  return start;
}

/** Whether the third machine gives its vote to both. */
async function givesVotes(seen: boolean): Promise<void> {
  const { vote, has_quorum: hasQuorum } = await looked();
  const given = seen ? ['alpha', 'beta'] : [];
  assert.deepEqual([vote, hasQuorum], [{ host: judge?.address, seen, given_to: given }, true]);
  assert.equal((await kinds()).includes('vote'), !seen);
}

/** What the clients of the address see of the data, by each protocol. */
async function asClients() {
  const [smb, nfs, disk, bytes] = await Promise.all([
    runClient(['smbclient', `//${sharedAddress}/media`, '-U', 'anna%her secret', '-c', 'get film -']),
    runClient(['nfs-cat', `nfs://${sharedAddress}/mnt/tank/media/film?version=3&uid=0&gid=0`]),
    inquired('vm', 0, 0x83),
    capacity('vm', 0),
  ]);
  return {
    smb: smb.stdout.includes(film.trim()),
    nfs: nfs.stdout === film,
    capacity: bytes,
    identity: /naa[^\n]*/i.exec(disk)?.[0] ?? disk,
  };
}
type Seen = Awaited<ReturnType<typeof asClients>>;
let atFirst: Seen;

/** Clients that lose their connection begin another one. */
const clientsGoOn = () => eventually(60, async () => assert.deepEqual(await asClients(), atFirst));

/** Runs the callback under writes until the other machine serves, and reports the seconds. */
async function moved(t: { diagnostic(text: string): void }, to: Name, deed: () => Promise<unknown>): Promise<void> {
  await underWrites(async (writer) => {
    assert.notEqual((await shown())['self'], to, 'the pool is not there already');
    const began = performance.now();
    await deed();
    await eventually(
      100,
      () => isServedBy(to),
      () => explanationFrom(to),
    );
    const seconds = (performance.now() - began) / 1000;
    await writer.writes();
    const { last_switch: last } = await shown();
    t.diagnostic(`${to} serves after ${seconds.toFixed(1)} s: ${JSON.stringify(isObject(last) ? last['steps'] : [])}`);
  });
  await clientsGoOn();
}

/** What the cluster and the daemon of a machine that does not serve say about it. */
async function explanationFrom(name: Name): Promise<string> {
  const cluster = await at(name).run('crm_mon --one-shot --failcounts --fence-history 2>&1; true').catch(String);
  return `${cluster}\n${await journal(at(name)).catch(String)}`;
}

test('two machines become a pair as the guide says, whose cluster, resources and address Holdfast sets up', async () => {
  await cluster.nas.alpha.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await cluster.nas.alpha.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await using shell = new Shell({ cwd: await mkdtemp(join(tmpdir(), 'guide-')) });
  const guide = 'two-machines-on-one-shelf';
  const page = await readFile(new URL(`../../docs/guides/${guide}.md`, import.meta.url), 'utf8');
  await follow(blocksOf(page), {
    shell,
    values: {
      ...{ FIRST: 'alpha', FIRST_URL: cluster.nas.alpha.api.url, SECOND: 'beta', SECOND_URL: cluster.nas.beta.api.url },
      ...{ ADDRESS: sharedAddress, LENGTH: '24', PASSWORD: rootPassword },
      ...{ FENCE: 'fence_lab', FIRST_FENCE: 'ip=first', SECOND_FENCE: 'ip=second' },
    },
    first: (script) => asRoot('alpha', script),
    async second(script) {
      const answer = async () => cluster.nas.alpha.api.send('POST', '/api/holdfast/v1/cluster/tokens', {});
      let issued = await answer().catch(() => undefined);
      for (let tries = 0; issued?.status !== 201 && tries < 60; tries += 1) {
        await pause(1000);
        issued = await answer().catch(() => undefined);
      }
      const token = isObject(issued?.json) ? String(issued.json['token']) : assert.fail('no token was issued');
      return asRoot('beta', script, token);
    },
  });
  assert.deepEqual(cluster.powerSwitch.ended.splice(0), ['beta']);
  // It starts while the first machine gets its shares.
  returning = meanwhile(at('beta').boot());
  const { gc_hostname_virtual: name } = await sharedApi().expect(200, 'GET', 'network/globalconfiguration/');
  assert.equal(name, 'storage');
});

/** The commands read this line from their standard input. */
const asRoot = (name: Name, script: string, line = '') =>
  at(name).tryRun(`bash -euo pipefail /dev/fd/3 3<<'END_OF_BLOCK' <<<'${line}' 2>&1\n${script}\nEND_OF_BLOCK`);

test('it serves a share, an export and a disk at the address of the pair', async () => {
  await serveEverything();
  await at('alpha').run(`printf '${film.trim()}\\n' >/mnt/tank/media/film; chmod 644 /mnt/tank/media/film`);
  await eventually(60, async () => {
    atFirst = await asClients();
    const { identity, ...rest } = atFirst;
    assert.deepEqual(rest, { smb: true, nfs: true, capacity: size });
    assert.match(identity, /naa/i);
  });
});

test('a switch moves the pool under writes, with the secrets of Samba, and ends no machine', async (t) => {
  await returning;
  const ids = await Promise.all((['alpha', 'beta'] as const).map((one) => at(one).run('hostid')));
  assert.notEqual(ids[0], ids[1]);
  await eventually(120, () => isOnline('beta'));
  await eventually(60, async () => assert.deepEqual(await kinds(), []));
  const secrets = await at('alpha').run('net getlocalsid');
  await moved(t, 'beta', async () => {
    await sharedApi(60).expect(202, 'POST', `${own}/cluster/switch`, { to: 'beta' });
    clientMachine = meanwhile(ClusterClient.startMachine());
  });
  clientStarts = meanwhile(ClusterClient.start(clientMachine));
  assert.deepEqual(cluster.powerSwitch.ended, []);
  assert.deepEqual(await holders(cluster), ['beta']);
  assert.equal((await at('beta').run('net getlocalsid')).replace(/^.*: /, ''), secrets.replace(/^.*: /, ''));
  assert.match(await at('alpha').run('holdfast ha status'), /not on this machine/);
  // The preference of the move does not hold the pool there for ever.
  assert.match(await at('beta').run('crm_mon --one-shot'), /holdfast-appliance.*Started beta/);
});

test('when the machine with the pool loses its cable, exactly one machine survives, and an open file stays open', async (t) => {
  const { powerSwitch } = cluster;
  powerSwitch.ended.length = 0;
  await eventually(60, async () => assert.ok(!(await kinds()).includes('alone')));
  const client = await (clientStarts ?? assert.fail('the client was not started'));
  const since = Date.now();
  await moved(t, 'alpha', async () => {
    await cable('beta', 'down');
    judgeStarts = meanwhile(Machine.start({ name: 'judge', memory: 256 }));
  });
  assert.deepEqual([...new Set(powerSwitch.ended)], ['beta']);
  // For a later statement: the cluster looks at the device every 30 seconds.
  powerSwitch.isDead = true;
  await cable('beta', 'up');
  returning = meanwhile(at('beta').boot());
  assert.deepEqual(await holders(cluster, ['alpha']), ['alpha']);
  // Both connections of the client are on the list that wake-clients reads.
  const list = await at('alpha').run('cat /run/holdfast/clients');
  const { address } = await (clientMachine ?? assert.fail('its machine was not started'));
  for (const port of [2049, 3260]) assert.match(list, new RegExp(`^${sharedAddress}:${port} ${address}:\\d+$`, 'm'));
  // The file that it has open by NFS, and its lock, are still its own, and so is its disk.
  await client.writesAgain(60);
  for (const protocol of ['nfs', 'iscsi'] as const)
    t.diagnostic(`${protocol} waited ${(await client.pauseSince(protocol, since)).toFixed(1)} s`);
  await client.nothingIsLost(at('alpha'));
  await client[Symbol.asyncDispose]();
});

test('a third machine gives both a vote, and a problem says so when it does not', async () => {
  judge = await (judgeStarts ?? assert.fail('the third machine was not started'));
  await judge.run('systemctl start corosync-qnetd');
  await returning;
  await eventually(120, () => isOnline('beta'));
  await servesNothing('beta');
  for (const name of ['alpha', 'beta'] as const) await at(name).run(`holdfast ha vote ${judge.address}`);
  await eventually(60, () => givesVotes(true));
  await judge.run('systemctl stop corosync-qnetd');
  await eventually(60, () => givesVotes(false));
  await judge.run('systemctl start corosync-qnetd');
  await eventually(60, () => givesVotes(true));
});

test('with it and a dead fence device a problem says so, nothing is taken over, and is once it works', async (t) => {
  const { powerSwitch } = cluster;
  await eventually(120, async () => {
    await looked();
    assert.ok((await kinds()).includes('fence-failed'));
  });
  await moved(t, 'beta', async () => {
    await at('alpha').cutPower();
    await eventually(60, async () =>
      assert.match(await at('beta').run('crm_mon --one-shot'), /alpha: UNCLEAN \(offline\)/),
    );
    const { status, output } = await at('beta').tryRun('holdfast ha take');
    assert.equal(status, 2, output);
    assert.match(output, /alpha is not seen and was not fenced, so it may still use the pool/);
    assert.deepEqual(await holders(cluster, ['beta']), []);
    powerSwitch.isDead = false;
    // As an administrator does who has repaired it, instead of waiting for the next look.
    await at('beta').run('crm_resource --refresh >/dev/null 2>&1');
  });
  assert.ok(powerSwitch.ended.includes('alpha'));
  // ZFS has watched its disks before it was ended, and does not again.
  assert.match((await at('beta').run('zpool history tank')).trim(), /import after an early watch of the disks$/);
  // Known when the machine has looked at the cluster for the first time.
  await eventually(60, async () => assert.equal((await shown())['has_quorum'], true));
  assert.deepEqual(await holders(cluster, ['beta']), ['beta']);
});

test('after both lost their power, one that starts alone with the third vote ends the other one and serves', async (t) => {
  const { powerSwitch } = cluster;
  powerSwitch.ended.length = 0;
  // How long Pacemaker waits for other machines at its start: 20 seconds otherwise. It writes that to the disk later.
  await at('beta').run(`
    crm_attribute --type crm_config --name dc-deadtime --update 5s
    until grep -q dc-deadtime /var/lib/pacemaker/cib/cib.xml; do sleep 0.1; done; sync`);
  await at('beta').cutPower();
  const began = performance.now();
  await at('beta').boot();
  await eventually(120, () => isServedBy('beta'));
  t.diagnostic(`beta serves ${((performance.now() - began) / 1000).toFixed(1)} s after it was switched on`);
  assert.deepEqual([...new Set(powerSwitch.ended)], ['alpha']);
  returning = meanwhile(at('alpha').boot());
  assert.deepEqual(await holders(cluster, ['beta']), ['beta']);
  await clientsGoOn();
});

test('of two machines that see the third one and not each other, the one with the pool stays', async (t) => {
  const { powerSwitch } = cluster;
  await returning;
  await eventually(120, () => isOnline('alpha'));
  await eventually(60, () => givesVotes(true));
  powerSwitch.ended.length = 0;
  await underWrites(async (writer) => {
    const began = performance.now();
    await at('alpha').run(
      `nft 'add table ip apart; add chain ip apart in { type filter hook input priority 0; };
        add chain ip apart out { type filter hook output priority 0; };
        add rule ip apart in ip saddr ${at('beta').address} drop; add rule ip apart out ip daddr ${at('beta').address} drop'`,
    );
    await eventually(90, async () => assert.deepEqual(powerSwitch.ended, ['alpha']));
    t.diagnostic(`alpha was ended after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    await writer.writes();
  });
  assert.deepEqual(await holders(cluster, ['beta']), ['beta']);
});
