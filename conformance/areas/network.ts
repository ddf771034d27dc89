import { askRecord } from '../expect.ts';
import { each, flag, integer, oneOf, oneOfOrUnset, text, texts } from '../kinds.ts';
import { type Area, collection, singleton } from '../resource.ts';

const globalConfiguration = singleton('network/globalconfiguration', {
  record: {
    ...each(
      text,
      'gc_hostname',
      'gc_domain',
      'gc_ipv4gateway',
      'gc_ipv6gateway',
      'gc_nameserver1',
      'gc_nameserver2',
      'gc_nameserver3',
    ),
    ...each(text, 'gc_netwait_ip', 'gc_hosts', 'gc_httpproxy'),
    gc_netwait_enabled: flag,
  },
  change: () => ({
    gc_hostname: 'conform',
    gc_domain: 'example.com',
    gc_nameserver1: '192.0.2.53',
    gc_hosts: '192.0.2.9 other',
  }),
});

const interfaces = collection('network/interface', {
  record: {
    ...each(text, 'int_name', 'int_interface', 'int_ipv4address', 'int_ipv6address', 'int_options'),
    int_v4netmaskbit: oneOfOrUnset(...Array.from({ length: 32 }, (_, bit) => String(bit + 1))),
    int_v6netmaskbit: oneOfOrUnset('0', '48', '60', '64', '80', '96'),
    ...each(flag, 'int_dhcp', 'int_ipv6auto'),
    ...each(texts, 'int_aliases', 'ipv4_addresses', 'ipv6_addresses'),
  },
  create: (world) => {
    const n = world.next() % 250;
    return {
      int_name: world.name('port'),
      int_interface: world.nic(),
      int_ipv4address: `10.${n}.0.1`,
      int_v4netmaskbit: '24',
      int_aliases: [`10.${n}.1.1/24`],
    };
  },
  // A list that is not sent is emptied, so it is sent.
  change: (world) => ({ int_name: world.name('renamed'), int_aliases: ['172.16.1.1/24'] }),
  follow: ['ipv4_addresses', 'ipv6_addresses'],
  choices: {
    along: {
      // Networks must not overlap, so each mask goes with a network that is large enough to be alone.
      int_v4netmaskbit: (bits) => ({
        int_ipv4address: Number(bits) < 9 ? '129.0.0.1' : '192.0.2.201',
        int_aliases: [],
      }),
      int_v6netmaskbit: () => ({ int_ipv6address: '2001:db8:77::1', int_aliases: [] }),
    },
  },
});

const vlans = collection('network/vlan', {
  record: { ...each(text, 'vlan_pint', 'vlan_vint', 'vlan_description'), vlan_tag: integer },
  create: (world) => {
    const n = world.next();
    return { vlan_vint: `vlan${n}`, vlan_pint: world.nic(), vlan_tag: n, vlan_description: 'a network of its own' };
  },
  change: () => ({ vlan_description: 'another', vlan_tag: 4001 }),
});

const laggs = collection('network/lagg', {
  record: {
    lagg_interface: text,
    lagg_protocol: oneOf('failover', 'fec', 'lacp', 'loadbalance', 'roundrobin', 'none'),
  },
  create: (world) => ({ lagg_interfaces: [world.nic(), world.nic()], lagg_protocol: 'lacp' }),
});

const members = collection('network/lagginterfacemembers', {
  record: { lagg_interfacegroup: integer, lagg_ordernum: integer, ...each(text, 'lagg_deviceoptions', 'lagg_physnic') },
  create: async (world) => {
    const lagg = await askRecord(
      world,
      201,
      'POST',
      'network/lagg/',
      {},
      { lagg_interfaces: [world.nic()], lagg_protocol: 'failover' },
    );
    return { lagg_interfacegroup: lagg['id'], lagg_ordernum: 5, lagg_deviceoptions: 'up', lagg_physnic: world.nic() };
  },
  change: () => ({ lagg_ordernum: 7 }),
});

const routes = collection('network/staticroute', {
  record: each(text, 'sr_destination', 'sr_gateway', 'sr_description'),
  create: (world) => ({
    sr_destination: `10.200.${world.next() % 250}.0/24`,
    sr_gateway: '192.0.2.1',
    sr_description: 'test route',
  }),
  change: () => ({ sr_description: 'another way' }),
});

export const networkArea: Area = {
  name: 'network',
  resources: [globalConfiguration, interfaces, vlans, laggs, members, routes],
};
