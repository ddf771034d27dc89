import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jailSettings } from '../../../src/areas/jails/configuration.ts';
import { type Jail, jail } from '../../../src/areas/jails/jails.ts';
import { jailMountPoint } from '../../../src/areas/jails/mountpoints.ts';
import { jailTemplate } from '../../../src/areas/jails/templates.ts';
import { networkSettings } from '../../../src/areas/network/globalconfiguration.ts';
import { plugin } from '../../../src/areas/plugins/plugins.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import { lines } from '../../../src/lib/text.ts';
import { bridgeUnit } from '../../../src/subsystems/jails/jail-unit.ts';
import { jailsSubsystem } from '../../../src/subsystems/jails/subsystem.ts';
import { fileOf, machine } from '../support/configuration.ts';

const folder = '/etc/systemd/system';

function configured(): LayeredDraft {
  const draft = new LayeredDraft(
    new Tables([jailSettings, networkSettings, jailTemplate, jail, jailMountPoint, plugin]),
    machine,
    new Map(),
  );
  draft.plant(jailSettings, { jc_path: '/mnt/tank' });
  draft.plant(networkSettings, {});
  for (const template of jailTemplate.seed(machine)) draft.plant(jailTemplate, template);
  return draft;
}

const web: Partial<Jail> = { jail_host: 'web', jail_type: 'standard', jail_mac: '02:00:00:00:00:01' };

test('a jail can have an address in the network of an interface', () => {
  const draft = configured();
  draft.plant(jail, {
    ...web,
    jail_ipv4: '192.0.2.10',
    jail_ipv4_netmask: '24',
    jail_alias_ipv4: '192.0.2.11',
    jail_iface: 'em0',
    jail_flags: 'memory=512M, cpu=50%,tasks=200,allow.raw_sockets=0',
  });
  draft.plant(jailMountPoint, {
    jail: 'web',
    source: '/mnt/tank/me$dia: 100%',
    destination: '/mnt/me dia',
    readonly: true,
  });
  draft.plant(jailMountPoint, { jail: 'web', source: '/mnt/tank/off', destination: '/mnt/off', mounted: false });
  const desired = jailsSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, `${folder}/holdfast-jail-web.service`),
    lines(
      '# Written by Holdfast.',
      '[Unit]',
      'Description=Jail web',
      'After=network.target zfs-mount.service holdfast.service',
      'Requires=holdfast-jails.service',
      'After=holdfast-jails.service',
      'AssertPathIsSymbolicLink=!/mnt/tank/me$dia: 100%%',
      '',
      '[Service]',
      'Type=notify',
      'ExecStartPre=-/usr/sbin/ip netns delete jail1',
      'ExecStartPre=/usr/sbin/ip netns add jail1',
      'ExecStartPre=/usr/sbin/ip link add jail1 type veth peer name eth0 address 02:00:00:00:00:01 netns jail1',
      'ExecStartPre=/usr/sbin/ip link set jail1 master jails0 up',
      'ExecStartPre=/usr/sbin/ip -n jail1 link set lo up',
      'ExecStartPre=/usr/sbin/ip -n jail1 link set eth0 up',
      'ExecStartPre=/usr/sbin/ip -n jail1 address replace 192.0.2.10/24 dev eth0',
      'ExecStartPre=/usr/sbin/ip -n jail1 address replace 192.0.2.11/32 dev eth0',
      'ExecStartPre=/usr/sbin/ip -n jail1 route replace default dev eth0',
      'ExecStartPre=/usr/sbin/ip route replace 192.0.2.10/32 dev jails0',
      'ExecStartPre=/usr/sbin/ip route replace 192.0.2.11/32 dev jails0',
      'ExecStartPre=/usr/sbin/ip neighbour replace proxy 192.0.2.10 dev em0',
      'ExecStartPre=/usr/sbin/ip neighbour replace proxy 192.0.2.11 dev em0',
      'ExecStartPre=/usr/sbin/sysctl --quiet --write net.ipv4.neigh.em0.proxy_delay=0',
      'ExecStart=/usr/bin/systemd-nspawn --quiet --keep-unit --settings=no --boot --link-journal=no --resolv-conf=replace-uplink --timezone=off "--machine=web" "--hostname=web" "--directory=/mnt/tank/web" --network-namespace-path=/run/netns/jail1 --capability=CAP_NET_ADMIN --drop-capability=CAP_NET_RAW "--bind-ro=/mnt/tank/me$$dia\\\\: 100%%:/mnt/me dia"',
      'ExecStop=-/usr/lib/holdfast/end-jail "web"',
      'ExecStopPost=-/usr/sbin/ip neighbour delete proxy 192.0.2.10 dev em0',
      'ExecStopPost=-/usr/sbin/ip neighbour delete proxy 192.0.2.11 dev em0',
      'ExecStopPost=-/usr/sbin/ip route delete 192.0.2.10/32 dev jails0',
      'ExecStopPost=-/usr/sbin/ip route delete 192.0.2.11/32 dev jails0',
      'ExecStopPost=-/usr/sbin/ip netns delete jail1',
      'KillMode=mixed',
      'TimeoutStartSec=60',
      'TimeoutStopSec=30',
      'SuccessExitStatus=133',
      'RestartForceExitStatus=133',
      'Delegate=yes',
      'DevicePolicy=closed',
      'DeviceAllow=/dev/net/tun rwm',
      'DeviceAllow=char-pts rw',
      'MemoryMax=536870912',
      'CPUQuota=50%',
      'TasksMax=200',
    ),
  );
  assert.equal(fileOf(desired, `${folder}/holdfast-jails.service`), bridgeUnit);
  assert.equal(
    fileOf(desired, `${folder}/multi-user.target.d/holdfast-jails.conf`),
    lines('# Written by Holdfast.', '[Unit]', 'Wants=holdfast-jail-web.service'),
  );
});

/** The lines of a jail's unit that begin so, without their beginning. */
function linesWith(jailed: Partial<Jail>, beginning: string): readonly string[] {
  const draft = configured();
  draft.plant(jail, { ...web, ...jailed });
  const subsystem = fileOf(jailsSubsystem.render(draft, machine), `${folder}/holdfast-jail-web.service`) ?? '';
  return subsystem.split('\n').flatMap((line) => (line.startsWith(beginning) ? [line.slice(beginning.length)] : []));
}

test('NAT is an nftables table of the jail that is deleted with it', () => {
  const nat = { jail_ipv4: '10.9.0.2', jail_ipv4_netmask: '24', jail_nat: true };
  assert.deepEqual(linesWith(nat, 'ExecStartPre=/usr/sbin/nft '), [
    'add table inet holdfast_jail1',
    'add chain inet holdfast_jail1 leaving "{ type nat hook postrouting priority srcnat; }"',
    'add rule inet holdfast_jail1 leaving ip saddr 10.9.0.2 oifname "!=" jails0 masquerade',
  ]);
  assert.deepEqual(linesWith(nat, 'ExecStopPost=-/usr/sbin/nft '), ['delete table inet holdfast_jail1']);
});

test('a jail can have bridge addresses, routers and IPv6', () => {
  const both = {
    jail_ipv4: '10.9.0.2',
    jail_ipv4_netmask: '24',
    jail_bridge_ipv4: '10.9.0.1',
    jail_bridge_ipv4_netmask: '24',
    jail_alias_bridge_ipv4: '10.9.1.1',
    jail_ipv6: '2001:db8::10',
    jail_ipv6_prefix: '64',
    jail_defaultrouter_ipv6: '2001:db8::1',
    jail_iface: 'em0',
  };
  const commands = linesWith(both, 'ExecStartPre=/usr/sbin/');
  for (const expected of [
    'ip address replace 10.9.0.1/24 dev jails0',
    'ip address replace 10.9.1.1/32 dev jails0',
    'ip -n jail1 route replace default via 10.9.0.1 onlink dev eth0',
    'ip -n jail1 address replace 2001:db8::10/64 dev eth0 nodad noprefixroute',
    'ip neighbour replace proxy 2001:db8::1 dev jails0',
    'ip -n jail1 route replace default via 2001:db8::1 onlink dev eth0',
    'ip route replace 2001:db8::10/128 dev jails0',
    'ip neighbour replace proxy 2001:db8::10 dev em0',
    'sysctl --quiet --write net.ipv6.conf.em0.proxy_ndp=1 net.ipv6.conf.em0.accept_ra=2',
  ])
    assert.ok(commands.includes(expected), `${expected} is not among\n${commands.join('\n')}`);
});

test('without jail_vnet the addresses of a jail are on an interface while it runs', () => {
  const shared = { jail_vnet: false, jail_ipv4: '192.0.2.10', jail_ipv4_netmask: '24', jail_iface: 'em0' };
  assert.deepEqual(linesWith(shared, 'ExecStartPre='), ['/usr/sbin/ip address replace 192.0.2.10/24 dev em0']);
  assert.deepEqual(linesWith(shared, 'ExecStopPost='), ['-/usr/sbin/ip address delete 192.0.2.10/24 dev em0']);
  assert.doesNotMatch(linesWith(shared, 'ExecStart=').join(), /network-namespace/);
  assert.deepEqual(linesWith(shared, 'Requires='), []);
});

test('a mount on an unmounted volume is omitted and reported', () => {
  const draft = configured();
  draft.plant(jail, { ...web, jail_autostart: false });
  draft.plant(jailMountPoint, { jail: 'web', source: '/mnt/locked/media', destination: '/mnt/media' });
  const desired = jailsSubsystem.render(draft, machine);
  assert.doesNotMatch(fileOf(desired, `${folder}/holdfast-jail-web.service`) ?? '', /--bind/);
  assert.equal(fileOf(desired, `${folder}/multi-user.target.d/holdfast-jails.conf`), undefined);
});
