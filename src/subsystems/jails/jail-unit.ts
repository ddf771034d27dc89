import { jailBridge } from '../../areas/jails/addresses.ts';
import { readFlags } from '../../areas/jails/flags.ts';
import type { Jail } from '../../areas/jails/jails.ts';
import type { JailMount } from '../../host/ports/jails.ts';
import { parseIp } from '../../lib/ip.ts';
import { unitWord } from '../../lib/systemd.ts';
import { lines } from '../../lib/text.ts';

interface Surroundings {
  readonly root: string;
  readonly mounts: readonly JailMount[];
  readonly arch: 'x64' | 'x86';
  /** Services that start with the jail. */
  readonly wants: readonly string[];
}

/** Seconds that a jail has to shut down before systemd kills it. */
const stopSeconds = 30;

/** The bridge for jails with their own network (`jail_vnet`). It exists while at least one of them runs. */
export const bridgeUnit: string = lines(
  '# Written by Holdfast.',
  '[Unit]',
  'Description=Bridge of the jails',
  'StopWhenUnneeded=yes',
  '',
  '[Service]',
  'Type=oneshot',
  'RemainAfterExit=yes',
  commands(
    'ExecStart',
    ['-ip', 'link', 'add', jailBridge, 'type', 'bridge'],
    ['ip', 'link', 'set', jailBridge, 'up'],
    // The machine forwards the packets of jails and answers ARP requests for them.
    [
      'sysctl',
      '--quiet',
      '--write',
      'net.ipv4.ip_forward=1',
      `net.ipv4.conf.${jailBridge}.proxy_arp=1`,
      `net.ipv4.neigh.${jailBridge}.proxy_delay=0`,
    ],
  ),
  commands('ExecStop', ['ip', 'link', 'delete', jailBridge]),
);

/**
 * A jail as a systemd unit: systemd enforces its limits and stops all of its processes. The host sets up the network
 * before the jail starts, so that the jail's root file system needs no network configuration of its own.
 */
export function jailUnit(jail: Jail, { root, mounts, arch, wants }: Surroundings): string {
  const reading = readFlags(jail.jail_flags);
  const limits = 'limits' in reading ? reading.limits : { rawSockets: true };
  const network = jail.jail_vnet ? ownNetwork(jail) : sharedNetwork(jail);
  const words = [
    '/usr/bin/systemd-nspawn',
    '--quiet',
    '--keep-unit',
    '--settings=no',
    '--boot',
    '--link-journal=no',
    '--resolv-conf=replace-uplink',
    '--timezone=off',
    unitWord(`--machine=${jail.jail_host}`),
    unitWord(`--hostname=${jail.jail_host}`),
    unitWord(`--directory=${root}`),
    ...(arch === 'x86' ? ['--personality=x86'] : []),
    ...(jail.jail_vnet
      ? [`--network-namespace-path=/run/netns/${namespaceOf(jail)}`, '--capability=CAP_NET_ADMIN']
      : []),
    ...(limits.rawSockets ? [] : ['--drop-capability=CAP_NET_RAW']),
    ...mounts.map(({ source, destination, readonly }) =>
      unitWord(`--bind${readonly ? '-ro' : ''}=${bindPath(source)}:${bindPath(destination)}`),
    ),
  ];
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    `Description=Jail ${jail.jail_host}`,
    // Holdfast imports pools and loads the keys of encrypted volumes.
    'After=network.target zfs-mount.service holdfast.service',
    jail.jail_vnet ? ['Requires=holdfast-jails.service', 'After=holdfast-jails.service'] : [],
    wants.length === 0 ? [] : `Wants=${wants.join(' ')}`,
    // systemd-nspawn follows links in a source. Another jail or a user of a share may have planted one since the last
    // start, to be shown more of the machine.
    [...new Set(mounts.flatMap(({ source }) => partsOf(source)))].map(
      (path) => `AssertPathIsSymbolicLink=!${path.replaceAll('%', '%%')}`,
    ),
    '',
    '[Service]',
    'Type=notify',
    commands('ExecStartPre', ...network.before),
    `ExecStart=${words.join(' ')}`,
    // Minimal systems ignore the signal that systemd-nspawn sends for a shutdown.
    `ExecStop=-/usr/lib/holdfast/end-jail ${unitWord(jail.jail_host)}`,
    commands('ExecStopPost', ...network.after),
    'KillMode=mixed',
    'TimeoutStartSec=60',
    `TimeoutStopSec=${stopSeconds}`,
    // systemd-nspawn exits with 133 when the jail reboots itself.
    'SuccessExitStatus=133',
    'RestartForceExitStatus=133',
    'Delegate=yes',
    'DevicePolicy=closed',
    'DeviceAllow=/dev/net/tun rwm',
    'DeviceAllow=char-pts rw',
    limits.memory === undefined ? [] : `MemoryMax=${limits.memory}`,
    limits.cpu === undefined ? [] : `CPUQuota=${limits.cpu}%`,
    limits.tasks === undefined ? [] : `TasksMax=${limits.tasks}`,
  );
}

/** The paths of the folders below the volume that a path leads through, and the path itself. */
function partsOf(path: string): readonly string[] {
  const names = path.split('/');
  return names.slice(3).map((_, index) => names.slice(0, index + 4).join('/'));
}

/** Escapes a path for an argument with colons as separators. */
function bindPath(path: string): string {
  return path.replaceAll(/[\\:]/g, '\\$&');
}

type Command = readonly string[];

interface JailNetwork {
  readonly before: readonly Command[];
  /** Each may fail, because the object that it removes may not exist. */
  readonly after: readonly Command[];
}

const namespaceOf = ({ id }: Jail) => `jail${id}`;

/** One line for each command. With a dash before it, systemd ignores its failure. */
function commands(when: string, ...all: readonly Command[]): readonly string[] {
  return all.map(([program = '', ...rest]) => {
    const name = program.replace('-', '');
    return `${when}=${program.startsWith('-') ? '-' : ''}/usr/sbin/${name} ${rest.map((word) => (/^[\w./:=-]+$/.test(word) ? word : unitWord(word))).join(' ')}`;
  });
}

/**
 * A veth pair: one end in the jail, the other on the bridge. The jail's addresses belong to the network of an interface
 * of the host without being assigned to it, so the host answers ARP and neighbour requests for them there (proxy) and
 * forwards the packets.
 */
function ownNetwork(jail: Jail): JailNetwork {
  const namespace = namespaceOf(jail);
  const inside = ['ip', '-n', namespace];
  const nic = jail.jail_iface;
  const own = addressesOf(jail);
  const bridge = bridgeAddressesOf(jail);
  const router6 = jail.jail_defaultrouter_ipv6 ?? jail.jail_bridge_ipv6;
  const has = (family: 4 | 6) => own.some((address) => address.family === family);
  // No route for the prefix: other hosts of the network do not answer on the bridge, so everything goes to the router.
  const addressFlags = router6 === null ? [] : ['noprefixroute'];
  const before: readonly Command[] = [
    // A namespace can be left over after a crash of the host.
    ['-ip', 'netns', 'delete', namespace],
    ['ip', 'netns', 'add', namespace],
    [
      'ip',
      'link',
      'add',
      namespace,
      'type',
      'veth',
      'peer',
      'name',
      'eth0',
      'address',
      jail.jail_mac,
      'netns',
      namespace,
    ],
    ['ip', 'link', 'set', namespace, 'master', jailBridge, 'up'],
    ...bridge.map(({ family, address, bits }) => [
      'ip',
      'address',
      'replace',
      `${address}/${bits}`,
      'dev',
      jailBridge,
      ...(family === 6 ? ['nodad'] : []),
    ]),
    [...inside, 'link', 'set', 'lo', 'up'],
    [...inside, 'link', 'set', 'eth0', 'up'],
    ...own.map(({ family, address, bits }) => [
      ...inside,
      'address',
      'replace',
      `${address}/${bits}`,
      'dev',
      'eth0',
      ...(family === 6 ? ['nodad', ...addressFlags] : []),
    ]),
    ...(has(4)
      ? [
          [
            ...inside,
            'route',
            'replace',
            'default',
            ...via(jail.jail_defaultrouter_ipv4 ?? jail.jail_bridge_ipv4),
            'dev',
            'eth0',
          ],
        ]
      : []),
    ...(has(6) ? ipv6Routes(inside, nic, router6, jail.jail_bridge_ipv6) : []),
    ...own.map(({ address, family }) => [
      'ip',
      'route',
      'replace',
      `${address}/${family === 4 ? 32 : 128}`,
      'dev',
      jailBridge,
    ]),
    ...(nic === '' ? [] : own.map(({ address }) => ['ip', 'neighbour', 'replace', 'proxy', address, 'dev', nic])),
    ...(nic !== '' && has(4) ? [['sysctl', '--quiet', '--write', `net.ipv4.neigh.${nic}.proxy_delay=0`]] : []),
    ...(jail.jail_nat ? translation(namespace, own) : []),
  ];
  const after: readonly Command[] = [
    ...(jail.jail_nat ? [['-nft', 'delete', 'table', 'inet', tableOf(namespace)]] : []),
    ...(nic === '' ? [] : own.map(({ address }) => ['-ip', 'neighbour', 'delete', 'proxy', address, 'dev', nic])),
    ...own.map(({ address, family }) => [
      '-ip',
      'route',
      'delete',
      `${address}/${family === 4 ? 32 : 128}`,
      'dev',
      jailBridge,
    ]),
    ['-ip', 'netns', 'delete', namespace],
  ];
  return { before, after };
}

function via(router: string | null): readonly string[] {
  return router === null ? [] : ['via', router, 'onlink'];
}

/**
 * IPv6 has no proxy for a whole network: the host answers neighbour requests for the router on the bridge, and for the
 * jail's addresses on the interface.
 */
function ipv6Routes(inside: Command, nic: string, router: string | null, bridge: string | null): readonly Command[] {
  return [
    ['sysctl', '--quiet', '--write', 'net.ipv6.conf.all.forwarding=1', `net.ipv6.conf.${jailBridge}.proxy_ndp=1`],
    // With forwarding on, the kernel ignores router advertisements unless accept_ra is 2.
    ...(nic === ''
      ? []
      : [['sysctl', '--quiet', '--write', `net.ipv6.conf.${nic}.proxy_ndp=1`, `net.ipv6.conf.${nic}.accept_ra=2`]]),
    ...(router === null || router === bridge
      ? []
      : [['ip', 'neighbour', 'replace', 'proxy', router, 'dev', jailBridge]]),
    ...(router === null ? [] : [[...inside, 'route', 'replace', 'default', ...via(router), 'dev', 'eth0']]),
  ];
}

/** Each jail has its own nftables table, which is deleted with the jail. */
function translation(namespace: string, own: readonly JailAddress[]): readonly Command[] {
  const table = tableOf(namespace);
  return [
    ['-nft', 'delete', 'table', 'inet', table],
    ['nft', 'add', 'table', 'inet', table],
    ['nft', 'add', 'chain', 'inet', table, 'leaving', '{ type nat hook postrouting priority srcnat; }'],
    ...own.map(({ family, address }) => [
      'nft',
      'add',
      'rule',
      'inet',
      table,
      'leaving',
      family === 4 ? 'ip' : 'ip6',
      'saddr',
      address,
      'oifname',
      '!=',
      jailBridge,
      'masquerade',
    ]),
  ];
}

const tableOf = (namespace: string) => `holdfast_${namespace}`;

/** The host's network: the jail's addresses are assigned to an interface while the jail runs. */
function sharedNetwork(jail: Jail): JailNetwork {
  const own = addressesOf(jail).map(({ address, bits }) => [`${address}/${bits}`, 'dev', jail.jail_iface]);
  return {
    before: own.map((words) => ['ip', 'address', 'replace', ...words]),
    after: own.map((words) => ['-ip', 'address', 'delete', ...words]),
  };
}

interface JailAddress {
  readonly family: 4 | 6;
  readonly address: string;
  readonly bits: string;
}

function addressesOf(jail: Jail): readonly JailAddress[] {
  return listed([
    [jail.jail_ipv4, jail.jail_ipv4_netmask],
    [jail.jail_alias_ipv4, '32'],
    [jail.jail_ipv6, jail.jail_ipv6_prefix],
    [jail.jail_alias_ipv6, '128'],
  ]);
}

function bridgeAddressesOf(jail: Jail): readonly JailAddress[] {
  return listed([
    [jail.jail_bridge_ipv4, jail.jail_bridge_ipv4_netmask],
    [jail.jail_alias_bridge_ipv4, '32'],
    [jail.jail_bridge_ipv6, jail.jail_bridge_ipv6_prefix],
    [jail.jail_alias_bridge_ipv6, '128'],
  ]);
}

function listed(pairs: readonly (readonly [string | null, string])[]): readonly JailAddress[] {
  return pairs.flatMap(([address, bits]) => {
    const family = parseIp(address ?? '')?.family;
    return address === null || family === undefined ? [] : [{ family, address, bits }];
  });
}
