import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Api } from '../support/api.ts';
import { Machine } from '../support/lab/machine.ts';
import { apiOf, eventually, journal, type Nas, rootPassword, startNas, untilReady } from '../support/lab/nas.ts';
import { addressOn, run } from '../support/lab/network.ts';

/**
 * The test reaches the machine on network 0, whose interface has no record and stays unchanged. On the other networks
 * the machine has no address at first: it serves on 1, and 2 and 3 lead to a peer with VLANs and a bond. The test is
 * host 2 of each.
 */
let nas: Nas;
let peer: Machine;
let leases: ChildProcess;

/** The API as a client on network 1 reaches it. */
const front = (address: string) => new Api(`http://${address}:8080`, { user: 'root', password: rootPassword });
const fixed = addressOn(1, 50);

before(async () => {
  nas = await startNas({ disks: 1, networks: [0, 1, 2, 3], bare: [1, 2, 3], lasting: true });
  await nas.machine.run('sync');
  peer = await Machine.start({ disks: 0, networks: [0, 2, 3], bare: [2, 3] });
  leases = spawn('dnsmasq', [
    '--keep-in-foreground',
    '--interface=net1',
    '--bind-interfaces',
    '--port=0',
    '--leasefile-ro',
    `--dhcp-range=${addressOn(1, 100)},${addressOn(1, 120)},1h`,
    `--dhcp-option=option:router,${addressOn(1, 2)}`,
    `--dhcp-option=option:dns-server,${addressOn(1, 2)}`,
  ]);
});

after(async () => {
  leases?.kill();
  await peer?.[Symbol.asyncDispose]();
  await nas?.[Symbol.asyncDispose]();
});

const ping = (from: Machine, address: string) => from.run(`ping -c 1 -W 2 ${address} >/dev/null`);

async function interfaceOf(name: string): Promise<Readonly<Record<string, unknown>>> {
  return (
    (await nas.api.list('network/interface/')).find((one) => one['int_interface'] === name) ??
    assert.fail(`no record of ${name}`)
  );
}

test('an interface gets its address from a DHCP server outside, with router and name server', async () => {
  await nas.api.expect(201, 'POST', 'network/interface/', { int_dhcp: 'true', int_name: 'ext', int_interface: 'vec1' });
  const address = await eventually(30, async () => {
    const [leased = ''] = [(await interfaceOf('vec1'))['ipv4_addresses']].flat().map(String);
    assert.match(leased, /^10\.0\.3\.1[012]\d\/24$/);
    return leased.replace(/\/.*/, '');
  });
  assert.equal((await front(address).get('network/vlan/')).status, 200);
  assert.match(await nas.machine.run('ip route'), /default via 10\.0\.3\.2 dev vec1 proto dhcp/);
  assert.match(await nas.machine.run('resolvectl dns vec1'), /10\.0\.3\.2/);
  assert.equal((await interfaceOf('vec1'))['int_media_status'], 'Active');
});

test('a fixed address replaces the lease, and the interface without a record is unchanged', async () => {
  const before = await nas.machine.run('ip address show dev vec0');
  const { id } = await interfaceOf('vec1');
  await nas.api.expect(200, 'PUT', `network/interface/${id}/`, {
    int_dhcp: false,
    int_ipv4address: fixed,
    int_v4netmaskbit: '24',
    int_aliases: ['2001:db8:3::50/64'],
    int_options: 'up mtu 1400',
  });
  assert.deepEqual((await interfaceOf('vec1'))['ipv4_addresses'], [`${fixed}/24`]);
  assert.deepEqual((await interfaceOf('vec1'))['ipv6_addresses'], ['2001:db8:3::50/64']);
  assert.match(await nas.machine.run('ip link show dev vec1'), /mtu 1400 /);
  assert.equal((await front(fixed).get('network/vlan/')).status, 200);
  assert.equal(await nas.machine.run('ip address show dev vec0'), before);
});

test('a medium that the card does not support is refused with the card’s message, and nothing changes', async () => {
  const { id, int_options } = await interfaceOf('vec1');
  // For a second after an IPv6 address was set, the kernel checks whether another machine has it.
  const before = await eventually(20, async () => {
    const shown = await nas.machine.run('ip address show dev vec1');
    assert.doesNotMatch(shown, /tentative/);
    return shown;
  });
  const refused = await nas.api.put(`network/interface/${id}/`, {
    int_options: 'media 100baseTX',
    int_aliases: ['2001:db8:3::50/64'],
  });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /cannot set the medium of vec1: .*not supported/i);
  assert.equal((await interfaceOf('vec1'))['int_options'], int_options);
  assert.equal(await nas.machine.run('ip address show dev vec1'), before);
});

/** A connection that sends and receives echoes, like that of a client. */
async function echoing(address: string): Promise<{ readonly socket: Socket; ask(): Promise<void> }> {
  await nas.machine.run(
    'systemd-run --quiet --unit=echo --collect systemd-socket-activate --inetd -a -l 0.0.0.0:7007 cat || true',
  );
  const socket = await eventually(
    20,
    () =>
      new Promise<Socket>((resolve, reject) => {
        const made = connect(7007, address);
        made.once('connect', () => resolve(made));
        made.once('error', reject);
      }),
  );
  return {
    socket,
    ask: () =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error('the connection is dead')), 10_000);
        socket.once('error', reject);
        socket.once('data', () => {
          clearTimeout(late);
          resolve();
        });
        socket.write('x');
      }),
  };
}

test('a connection goes on while aliases, routes and VLANs of its interface change', async () => {
  const { socket, ask } = await echoing(fixed);
  await nas.machine.run('ip monitor address >/run/addresses 2>&1 & echo $! >/run/monitor');
  const { id } = await interfaceOf('vec1');
  await ask();
  await nas.api.expect(200, 'PUT', `network/interface/${id}/`, {
    int_aliases: [`${addressOn(1, 51)}/32`, '2001:db8:3::50/64'],
  });
  await ask();
  const route = await nas.api.expect(201, 'POST', 'network/staticroute/', {
    sr_destination: '10.77.0.0/16',
    sr_gateway: addressOn(1, 2),
  });
  await nas.api.expect(201, 'POST', 'network/staticroute/', {
    sr_destination: '2001:db8:77::/48',
    sr_gateway: '2001:db8:3::2',
  });
  await ask();
  const vlan = await nas.api.expect(201, 'POST', 'network/vlan/', {
    vlan_vint: 'vlan3',
    vlan_pint: 'vec1',
    vlan_tag: 3,
  });
  await ask();
  assert.match(await nas.machine.run('ip route'), /10\.77\.0\.0\/16 via 10\.0\.3\.2 dev vec1/);
  assert.match(await nas.machine.run('ip -6 route'), /2001:db8:77::\/48 via 2001:db8:3::2 dev vec1/);
  assert.equal((await nas.api.delete(`network/vlan/${vlan['id']}/`)).status, 204);
  await nas.api.expect(200, 'PUT', `network/staticroute/${route['id']}/`, { sr_destination: '10.78.0.0/16' });
  assert.doesNotMatch(await nas.machine.run('ip route'), /10\.77\./);
  await ask();
  socket.destroy();
  assert.doesNotMatch(
    await nas.machine.run('kill $(cat /run/monitor); cat /run/addresses'),
    new RegExp(`Deleted .*${fixed.replaceAll('.', '\\.')}/`),
  );
});

test('a VLAN answers a peer on the tagged network, and not without the tag', async () => {
  await peer.run(`
    ip link set vec1 up; ip link add link vec1 name tagged type vlan id 7; ip link set tagged up
    ip address add 10.7.0.2/24 dev tagged`);
  await nas.api.expect(201, 'POST', 'network/vlan/', {
    vlan_vint: 'vlan7',
    vlan_pint: 'vec2',
    vlan_tag: 7,
    vlan_pcp: 3,
  });
  const { id } = await interfaceOf('vlan7');
  await nas.api.expect(200, 'PUT', `network/interface/${id}/`, { int_ipv4address: '10.7.0.1', int_v4netmaskbit: '24' });
  await eventually(20, () => ping(peer, '10.7.0.1'));
  await ping(nas.machine, '10.7.0.2');
  assert.match(await nas.machine.run('cat /proc/net/vlan/vlan7'), /EGRESS priority mappings: .*0:3/);
  const [vlan] = await nas.api.list('network/vlan/');
  await nas.api.expect(200, 'PUT', `network/vlan/${vlan?.['id']}/`, { vlan_tag: 8 });
  assert.equal((await peer.tryRun('ping -c 1 -W 2 10.7.0.1')).status, 1);
  await nas.api.expect(200, 'PUT', `network/vlan/${vlan?.['id']}/`, { vlan_tag: 7 });
  await eventually(20, () => ping(peer, '10.7.0.1'));
  assert.equal((await nas.api.delete(`network/interface/${id}/`)).status, 204);
  assert.deepEqual(await nas.api.list('network/vlan/'), []);
  assert.equal((await nas.machine.tryRun('ip link show vlan7')).status, 1);
  assert.equal((await nas.api.delete(`network/interface/${(await interfaceOf('vec2'))['id']}/`)).status, 204);
});

const modes = {
  failover: 'fault-tolerance (active-backup)',
  lacp: 'IEEE 802.3ad Dynamic link aggregation',
  loadbalance: 'load balancing (xor)',
  roundrobin: 'load balancing (round-robin)',
  fec: 'load balancing (xor)',
};

for (const [protocol, mode] of Object.entries(modes)) {
  test(`the aggregate ${protocol} is the bonding mode ${mode}`, async () => {
    const { id } = await nas.api.expect(201, 'POST', 'network/lagg/', {
      lagg_protocol: protocol,
      lagg_interfaces: ['vec2', 'vec3'],
    });
    await eventually(20, async () => {
      const bond = await nas.machine.run('cat /proc/net/bonding/lagg0');
      assert.ok(bond.includes(`Bonding Mode: ${mode}`), bond);
      assert.deepEqual([...bond.matchAll(/Slave Interface: (\w+)/g)].map(([, name]) => name).sort(), ['vec2', 'vec3']);
      if (protocol === 'failover') assert.match(bond, /Primary Slave: vec2 .*Currently Active Slave: vec2/s);
    });
    assert.equal((await nas.api.delete(`network/lagg/${id}/`)).status, 204);
    assert.equal((await nas.machine.tryRun('ip link show lagg0')).status, 1);
  });
}

test('the aggregate none is up and has nothing attached', async () => {
  const { id } = await nas.api.expect(201, 'POST', 'network/lagg/', {
    lagg_protocol: 'none',
    lagg_interfaces: ['vec2', 'vec3'],
  });
  await eventually(20, async () => assert.match(await nas.machine.run('ip -o link show lagg0'), /<[^>]*\bUP\b/));
  assert.equal((await nas.machine.run('cat /sys/class/net/lagg0/bonding/slaves')).trim(), '');
  assert.equal((await nas.api.delete(`network/lagg/${id}/`)).status, 204);
});

test('members of an aggregate come and go while it works', async () => {
  const { id } = await nas.api.expect(201, 'POST', 'network/lagg/', {
    lagg_protocol: 'failover',
    lagg_interfaces: ['vec2'],
  });
  assert.deepEqual(
    (await nas.api.list('network/lagg/')).map((one) => one['lagg_interface']),
    ['lagg0'],
  );
  const member = await nas.api.expect(201, 'POST', 'network/lagginterfacemembers/', {
    lagg_interfacegroup: id,
    lagg_ordernum: -1,
    lagg_physnic: 'vec3',
  });
  const slaves = () => nas.machine.run('cat /sys/class/net/lagg0/bonding/slaves');
  await eventually(20, async () => assert.equal((await slaves()).trim(), 'vec2 vec3'));
  await eventually(20, async () =>
    assert.match(await nas.machine.run('cat /proc/net/bonding/lagg0'), /Primary Slave: vec3 /),
  );
  assert.equal((await nas.api.delete(`network/lagginterfacemembers/${member['id']}/`)).status, 204);
  await eventually(20, async () => assert.equal((await slaves()).trim(), 'vec2'));
  assert.equal((await nas.api.delete(`network/lagg/${id}/`)).status, 204);
});

test('with LACP a partner negotiates the aggregate, and answers when the first member goes', async () => {
  // The interfaces of the test machine have no speed, without which Linux does not speak LACP. Pairs of virtual ones have.
  await nas.machine.run(`
    ip netns add partner
    for n in 0 1; do ip link add wire$n type veth peer name far$n; ip link set far$n netns partner; ip link set wire$n up; done
    in_partner() { ip netns exec partner "$@"; }
    in_partner ip link add bond0 type bond mode 802.3ad miimon 100 lacp_rate fast
    for n in 0 1; do in_partner ip link set far$n master bond0; done
    in_partner ip link set bond0 up; in_partner ip address add 10.10.0.2/24 dev bond0`);
  // The daemon hears of new interfaces a moment later.
  const { id } = await eventually(30, () =>
    nas.api.expect(201, 'POST', 'network/lagg/', { lagg_protocol: 'lacp', lagg_interfaces: ['wire0', 'wire1'] }),
  );
  await nas.api.expect(200, 'PUT', `network/interface/${(await interfaceOf('lagg0'))['id']}/`, {
    int_ipv4address: '10.10.0.1',
    int_v4netmaskbit: '24',
  });
  const partner = (await nas.machine.run('ip netns exec partner cat /sys/class/net/bond0/address')).trim();
  await eventually(60, async () => {
    const bond = await nas.machine.run('cat /proc/net/bonding/lagg0');
    assert.match(bond, new RegExp(`Number of ports: 2[\\s\\S]*Partner Mac Address: ${partner}`));
  });
  const answers = () => nas.machine.run('ip netns exec partner ping -c 1 -W 2 10.10.0.1 >/dev/null');
  await eventually(30, answers);
  await nas.machine.run('ip netns exec partner ip link set far0 down');
  await eventually(30, async () => {
    assert.match(await nas.machine.run('cat /proc/net/bonding/lagg0'), /Number of ports: 1/);
    await answers();
  });
  assert.equal((await nas.api.delete(`network/lagg/${id}/`)).status, 204);
  await nas.machine.run('ip netns delete partner');
});

test('a peer with a bond answers through an aggregate, tagged and not, and when the first member goes', async () => {
  await peer.run(`
    ip link delete tagged; ip link set vec1 down; ip link set vec2 down
    ip link add bond0 type bond mode active-backup miimon 100; ip link set vec1 master bond0; ip link set vec2 master bond0
    ip link set bond0 up; ip address add 10.8.0.2/24 dev bond0
    ip link add link bond0 name bond0.9 type vlan id 9; ip link set bond0.9 up; ip address add 10.9.0.2/24 dev bond0.9`);
  await nas.api.expect(201, 'POST', 'network/lagg/', { lagg_protocol: 'failover', lagg_interfaces: ['vec2', 'vec3'] });
  const address = async (name: string, int_ipv4address: string) =>
    nas.api.expect(200, 'PUT', `network/interface/${(await interfaceOf(name))['id']}/`, {
      int_ipv4address,
      int_v4netmaskbit: '24',
    });
  await address('lagg0', '10.8.0.1');
  await nas.api.expect(201, 'POST', 'network/vlan/', { vlan_vint: 'vlan9', vlan_pint: 'lagg0', vlan_tag: 9 });
  await address('vlan9', '10.9.0.1');
  await eventually(30, () => ping(peer, '10.8.0.1'));
  await eventually(30, () => ping(peer, '10.9.0.1'));
  await nas.machine.run('ip link set vec2 down');
  await peer.run('ip link set vec1 down');
  await eventually(30, () => ping(peer, '10.9.0.1'));
  const members = await nas.api.list('network/lagginterfacemembers/');
  const second = members.find((one) => one['lagg_physnic'] === 'vec3');
  await nas.api.expect(200, 'PUT', `network/lagginterfacemembers/${second?.['id']}/`, {
    lagg_deviceoptions: 'up mtu 1300',
  });
  assert.match(await nas.machine.run('ip link show dev lagg0'), /mtu 1300 /);
});

test('the machine’s own name, the hosts file and the name servers are configured', async () => {
  const server = spawn('dnsmasq', [
    '--keep-in-foreground',
    '--interface=net1',
    '--bind-interfaces',
    '--no-resolv',
    '--no-hosts',
    '--address=/printer.example.com/192.0.2.77',
  ]);
  try {
    await nas.api.expect(200, 'PUT', 'network/globalconfiguration/', {
      gc_hostname: 'store',
      gc_domain: 'example.com',
      gc_nameserver1: addressOn(1, 2),
      gc_hosts: '192.0.2.9 elsewhere',
      gc_httpproxy: `${addressOn(1, 2)}:3128`,
      gc_netwait_enabled: true,
      gc_netwait_ip: addressOn(1, 2),
    });
    assert.equal(
      await nas.machine.run('hostname; cat /etc/hostname; hostname --fqdn; getent hosts elsewhere'),
      'store\nstore\nstore.example.com\n192.0.2.9       elsewhere\n',
    );
    await eventually(20, async () => assert.match(await nas.machine.run('getent hosts printer'), /^192\.0\.2\.77/));
    assert.match(
      await nas.machine.run('systemd-run --quiet --pipe --wait printenv http_proxy; bash -lc "printenv https_proxy"'),
      /^http:\/\/10\.0\.3\.2:3128\/\nhttp:\/\/10\.0\.3\.2:3128\/\n$/,
    );
    assert.match(
      await nas.machine.run(
        'systemd-analyze verify /etc/systemd/system/holdfast-netwait.service 2>&1; systemctl start holdfast-netwait && systemctl show -p Result holdfast-netwait',
      ),
      /Result=success/,
    );
  } finally {
    server.kill();
  }
});

/** Sends a request from another address of the test, as from a network behind a router. */
function from(source: string, method: string, path: string, body?: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `http://${fixed}:8080/${path}`,
      {
        localAddress: source,
        method,
        agent: false,
        auth: `root:${rootPassword}`,
        headers: { 'content-type': 'application/json' },
        timeout: 3000,
      },
      (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
    );
    asked.on('timeout', () => asked.destroy(new Error('no answer')));
    asked.on('error', reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const far = '10.78.0.2';

test('a client that cuts its own route reaches the machine again after the time-out', async () => {
  await run('ip', 'address', 'add', `${far}/32`, 'dev', 'net1');
  // The other network would also carry the answers: its other end is also the test.
  await nas.machine.run('ip route delete default dev vec0');
  assert.equal(await from(far, 'GET', 'api/v1.0/network/vlan/'), 200);
  const [route] = (await nas.api.list('network/staticroute/')).filter(
    (one) => one['sr_destination'] === '10.78.0.0/16',
  );
  await from(far, 'DELETE', `api/v1.0/network/staticroute/${route?.['id']}/?confirm_within=6`).catch(() => {});
  assert.doesNotMatch(await nas.machine.run('ip route'), /10\.78\./);
  await assert.rejects(from(far, 'GET', 'api/v1.0/network/vlan/'));
  // A request from elsewhere does not confirm the change: it proves nothing about the route that was cut.
  assert.equal((await nas.api.list('network/staticroute/')).length, 1);
  await eventually(30, async () => assert.equal(await from(far, 'GET', 'api/v1.0/network/vlan/'), 200));
  await eventually(10, async () => assert.equal((await nas.api.list('network/staticroute/')).length, 2));
  const [newest] = await nas.api.list('/api/holdfast/v1/revisions?limit=1');
  assert.match(String(newest?.['title']), /^revert, not confirmed: remove the static route/);
});

test('a moved address is kept if the client comes by the new one, and otherwise reverted', async () => {
  const moved = addressOn(1, 60);
  const { id } = await interfaceOf('vec1');
  const move = (at: string, to: string, seconds: number) =>
    Promise.race([
      front(at).put(`network/interface/${id}/?confirm_within=${seconds}`, {
        int_ipv4address: to,
        int_v4netmaskbit: '24',
      }),
      wait(4000),
    ]).catch(() => {});
  await move(fixed, '10.66.0.60', 5);
  await eventually(30, async () =>
    assert.equal((await Promise.race([front(fixed).get('network/vlan/'), wait(2000)]))?.status, 200),
  );
  await move(fixed, moved, 8);
  await eventually(10, async () =>
    assert.equal((await Promise.race([front(moved).get('network/vlan/'), wait(2000)]))?.status, 200),
  );
  await wait(9000);
  assert.equal((await front(moved).get('network/vlan/')).status, 200);
  await move(moved, fixed, 30);
  await eventually(10, async () =>
    assert.equal((await Promise.race([front(fixed).get('network/vlan/'), wait(2000)]))?.status, 200),
  );
});

/** Leaves the address moved and unconfirmed. */
async function moveAway(): Promise<void> {
  // A daemon that starts answers reads before changes.
  await untilReady(nas.api);
  const { id } = await interfaceOf('vec1');
  await Promise.race([
    front(fixed).put(`network/interface/${id}/?confirm_within=600`, {
      int_ipv4address: '10.66.0.60',
      int_v4netmaskbit: '24',
    }),
    wait(4000),
  ]).catch(() => {});
  await eventually(30, async () =>
    assert.match(await nas.machine.run('ip -br address show vec1'), /10\.66\.0\.60\/24/),
  );
}

async function isBack(): Promise<void> {
  await eventually(60, async () =>
    assert.equal((await Promise.race([front(fixed).get('network/vlan/'), wait(2000)]))?.status, 200),
  );
  assert.equal((await interfaceOf('vec1'))['int_ipv4address'], fixed);
  const titles = (await nas.api.list('/api/holdfast/v1/revisions?limit=5')).map(({ title }) => String(title));
  // The certificate of the interface follows the addresses, and comes before or after this look.
  assert.match(titles.find((title) => title !== 'make a certificate for HTTPS') ?? '', /^revert at start/);
}

test('a crash of the daemon in between reverts the change', async () => {
  await moveAway();
  await nas.machine.run('systemctl kill -s KILL holdfast');
  await isBack();
});

test('a power cut in between reverts the change, and the network is as configured again', {
  timeout: 300_000,
}, async () => {
  await moveAway();
  await nas.machine.cutPower();
  await nas.machine.boot();
  await untilReady(nas.api);
  await eventually(90, async () => assert.equal((await nas.api.get('network/vlan/')).status, 200));
  await isBack();
  assert.match(
    await nas.machine.run('ip -br link show lagg0; ip -br address show vlan9; hostname'),
    /lagg0 .*\nvlan9@lagg0 .*10\.9\.0\.1\/24.*\nstore\n/,
  );
  // The first member is up again; the peer's bond does not notice by itself.
  await peer.run('ip link set vec1 up; sleep 1; echo vec1 >/sys/class/net/bond0/bonding/active_slave');
  await eventually(30, () => ping(peer, '10.9.0.1'));
});

test('nothing differs from the configuration', async () => {
  const reports = await apiOf(nas.machine).list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
  await nas.machine.run(`ip address delete ${fixed}/24 dev vec1`);
  const drift = (await nas.api.list('/api/holdfast/v1/drift')).find((report) => report['subsystem'] === 'network');
  assert.deepEqual(drift?.['drift'], ['configure vec1']);
  await nas.machine.run('systemctl restart holdfast');
  await eventually(30, async () => assert.equal((await nas.api.get('network/vlan/')).status, 200));
  assert.match(
    await nas.machine.run('ip address show dev vec1; ip route'),
    new RegExp(`${fixed}/24.*10\\.78\\.0\\.0/16 via 10\\.0\\.3\\.2`, 's'),
  );
});
