import { showNetwork } from '../../lib/ip.ts';
import { lines } from '../../lib/text.ts';
import type { LinkPlan, Protocol } from './links.ts';

/** The prefix of Holdfast's files. It sorts before the files of installers and cloud images, so that Holdfast's win. */
export const filePrefix = '/etc/systemd/network/05-holdfast-';

export const networkPath = (name: string) => `${filePrefix}${name}.network`;
export const netdevPath = (name: string) => `${filePrefix}${name}.netdev`;

/** The .network file of a link. Values need no escaping: their fields allow letters, digits and a few signs only. */
export function networkFile({ name, options, addresses, dhcp, ipv6auto, vlans, member, routes }: LinkPlan): string {
  // A fixed address is configured even without a carrier.
  const fixed = !dhcp && !ipv6auto && member === undefined;
  return lines(
    '# Written by Holdfast.',
    '[Match]',
    `Name=${name}`,
    '',
    '[Link]',
    options.mac === undefined ? undefined : `MACAddress=${options.mac}`,
    options.mtu === undefined ? undefined : `MTUBytes=${options.mtu}`,
    options.arp === undefined ? undefined : `ARP=${yesNo(options.arp)}`,
    options.promisc === undefined ? undefined : `Promiscuous=${yesNo(options.promisc)}`,
    options.up === false ? 'ActivationPolicy=always-down' : undefined,
    addresses.length > 0 || dhcp || ipv6auto ? undefined : 'RequiredForOnline=no',
    '',
    '[Network]',
    `DHCP=${dhcp ? 'ipv4' : 'no'}`,
    `IPv6AcceptRA=${yesNo(ipv6auto)}`,
    `LinkLocalAddressing=${member === undefined ? 'ipv6' : 'no'}`,
    fixed ? 'ConfigureWithoutCarrier=yes' : undefined,
    member?.carries ? `Bond=${member.of}` : undefined,
    member?.preferred ? 'PrimarySlave=yes' : undefined,
    vlans.map((vlan) => `VLAN=${vlan}`),
    dhcp ? ['', '[DHCPv4]', 'UseHostname=no', 'SendRelease=no'] : [],
    addresses.flatMap((address) => ['', '[Address]', `Address=${showNetwork(address)}`]),
    routes.flatMap(({ destination, gateway }) => [
      '',
      '[Route]',
      destination === undefined ? undefined : `Destination=${showNetwork(destination)}`,
      `Gateway=${gateway}`,
    ]),
  );
}

/** The .netdev file of a virtual device; undefined for a physical interface. */
export function netdevFile({ name, device }: LinkPlan): string | undefined {
  if (device.kind === 'plugged') return undefined;
  const head = ['# Written by Holdfast.', '[NetDev]', `Name=${name}`, `Kind=${device.kind}`, ''];
  if (device.kind === 'bond') return lines(head, '[Bond]', modes[device.protocol], 'MIIMonitorSec=100ms');
  const { priority } = device;
  return lines(
    head,
    '[VLAN]',
    `Id=${device.tag}`,
    priority === null
      ? undefined
      : `EgressQOSMaps=${[0, 1, 2, 3, 4, 5, 6, 7].map((from) => `${from}-${priority}`).join(' ')}`,
  );
}

/** The bonding mode of each protocol. Flows are hashed by hardware and IP addresses, as lagg does. */
const modes: Readonly<Record<Protocol, readonly string[]>> = {
  failover: ['Mode=active-backup', 'PrimaryReselectPolicy=always'],
  fec: ['Mode=balance-xor', 'TransmitHashPolicy=layer2+3'],
  lacp: ['Mode=802.3ad', 'TransmitHashPolicy=layer2+3'],
  loadbalance: ['Mode=balance-xor', 'TransmitHashPolicy=layer2+3'],
  roundrobin: ['Mode=balance-rr'],
  // Up without members, so it carries no traffic.
  none: ['Mode=active-backup'],
};

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
