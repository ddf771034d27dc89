/** An aggregate with a VLAN that networkd makes by hand-made files is taken over while a client is connected through it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Machine } from '../support/lab/machine.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';

let nas: Nas;
/** Another machine, with the same VLAN on the network of the first member. */
let peer: Machine;

const own = '/api/holdfast/v1';
const byHand = `
cd /etc/systemd/network
printf '[NetDev]\\nName=bond0\\nKind=bond\\nMTUBytes=1400\\n[Bond]\\nMode=active-backup\\nMIIMonitorSec=100ms\\n' >10-bond0.netdev
printf '[NetDev]\\nName=bond0.20\\nKind=vlan\\n[VLAN]\\nId=20\\n' >10-bond0.20.netdev
printf '[Match]\\nName=bond0\\n[Network]\\nVLAN=bond0.20\\nIPv6AcceptRA=no\\n' >20-bond0.network
printf '[Match]\\nName=bond0.20\\n[Network]\\nAddress=198.51.100.7/24\\nIPv6AcceptRA=no\\n' >20-bond0.20.network
printf '[Match]\\nName=vec1\\n[Network]\\nBond=bond0\\nPrimarySlave=yes\\n' >20-vec1.network
printf '[Match]\\nName=vec2\\n[Network]\\nBond=bond0\\n' >20-vec2.network
systemctl restart systemd-networkd
until ip -4 address show dev bond0.20 2>/dev/null | grep -q 198.51.100.7; do sleep 0.2; done
`;

before(async () => {
  nas = await startNas({ disks: 1, networks: [0, 1, 2], bare: [1, 2], before: byHand });
  peer = await Machine.start({ disks: 0, networks: [0, 1], bare: [1] });
  await peer.run(`ip link set vec1 up; ip link add vec1.20 link vec1 type vlan id 20
    ip address add 198.51.100.8/24 dev vec1.20; ip link set vec1.20 up`);
  await eventually(60, () => peer.run('ping -c 1 -W 2 198.51.100.7'));
});

after(async () => {
  await peer?.[Symbol.asyncDispose]();
  await nas?.[Symbol.asyncDispose]();
});

test('the file has the aggregate and the VLAN, and its commands make room for them', async () => {
  // A connection that is opened before and used after.
  await nas.machine.run(`systemd-run --quiet python3 -c '
import socket
connection, _ = socket.create_server(("", 7777)).accept()
connection.sendall(connection.recv(9))'
    until ss -ltn | grep -q :7777; do sleep 0.1; done`);
  await peer.run(`rm -f /tmp/open /tmp/go
    (exec 3<>/dev/tcp/198.51.100.7/7777; touch /tmp/open; until [ -e /tmp/go ]; do sleep 0.2; done
      echo still here >&3; head -c 5 <&3 | tr -d ' ') >/tmp/said 2>&1 &
    until [ -e /tmp/open ]; do sleep 0.1; done`);
  const answer = await nas.api.expect(200, 'GET', `${own}/adopt`);
  const text = String(answer['file']);
  assert.match(text, /^ {2}lagg0:/m, text);
  assert.match(text, /^ {2}vlan20:/m);
  const commands = [...text.matchAll(/ run: (rm [^\n]*?ip link delete \S+)\. Use /g)].map(([, command]) => command);
  assert.equal(commands.length, 2, text);
  // The VLAN ends with its aggregate.
  for (const command of commands.toReversed()) await nas.machine.run(String(command));
  const sent = { files: [{ name: 'adopted.yaml', text }] };
  await nas.api.expect(200, 'POST', `${own}/file/apply`, sent);
  assert.deepEqual((await nas.api.expect(200, 'POST', `${own}/file/diff`, sent))['changes'], []);
});

test('a client on the VLAN reaches the machine by its old address, and its connection is still there', async () => {
  await eventually(60, () => peer.run('ping -c 1 -W 2 198.51.100.7'));
  assert.match(await peer.run('touch /tmp/go; until [ -s /tmp/said ]; do sleep 0.1; done; cat /tmp/said'), /^still$/m);
  const links = await nas.machine.run('ip -brief link; cat /proc/net/bonding/lagg0');
  assert.match(links, /^vlan20@lagg0 /m);
  assert.match(links, /Primary Slave: vec1/);
  assert.doesNotMatch(links, /bond0/);
  assert.match(await nas.machine.run('cat /sys/class/net/lagg0/mtu'), /^1400$/m);
});
