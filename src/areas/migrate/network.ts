/** The network. Names of interfaces mean nothing on another machine, so each is asked for. */
import type { Row } from './database.ts';
import { becomes, type Mapping, nothing, part, type Stay, sames, stay, stays, type Target } from './mapping.ts';

const ask = (old: string, { nics }: Target): Stay =>
  stay(
    `The interface ${old} has no counterpart yet.`,
    `Migrate again with --interface ${old}=NAME. Here there is ${nics.join(', ') || 'none'}.`,
  );

const settings: Mapping = {
  table: 'network_globalconfiguration',
  to: 'network/globalconfiguration',
  isSettings: true,
  columns: {
    ...sames('gc_hostname', 'gc_domain', 'gc_domains', 'gc_nameserver1', 'gc_nameserver2', 'gc_nameserver3'),
    ...sames('gc_httpproxy', 'gc_netwait_enabled', 'gc_netwait_ip', 'gc_hosts'),
    gc_ipv4gateway: becomes('gc_ipv4gateway', gateway),
    gc_ipv6gateway: becomes('gc_ipv6gateway', gateway),
    gc_hostname_b: stays('It is the name of a second node.', 'Nothing.'),
    gc_hostname_virtual: stays('It is the name of two nodes together.', 'Nothing.'),
    gc_service_announcement: nothing('which services announce themselves follows from the services'),
  },
};

/** A gateway without the address that it belongs to would be refused, or cut the machine off. */
function gateway(row: Row, { interfaces }: Target, column: string): unknown {
  const address = row.text(column);
  if (address === '') return undefined;
  return interfaces.size > 0
    ? address
    : stay(
        `The gateway ${address} belongs to interfaces that are not carried.`,
        'Give --interface OLD=NEW, or set it by hand.',
      );
}

const isLogical = (name: string) => /^(?:lagg|vlan|bridge)\d/.test(name);
const bits = (address: string, mask: string) => `${address}/${mask}`;

const networkInterface: Mapping = {
  table: 'network_interfaces',
  to: 'network/interface',
  stays: (row, target) => {
    const name = row.text('int_interface');
    if (isLogical(name) && !target.interfaces.has(name))
      return stay(
        `${name} is an aggregate, a VLAN or a bridge, which are not made by themselves.`,
        'Make it by hand: holdfast create lagg --help, holdfast create vlan --help.',
      );
    if (row.text('int_name').startsWith('member of '))
      return stay(`${name} is a member of an aggregate.`, 'Make the aggregate by hand.');
    return target.interfaces.has(name) ? undefined : ask(name, target);
  },
  columns: {
    int_interface: becomes('int_interface', (row, { interfaces }, column) => interfaces.get(row.text(column))),
    int_name: becomes('int_name', (row) => row.text('int_name') || row.text('int_interface')),
    ...sames('int_dhcp', 'int_ipv4address', 'int_v4netmaskbit', 'int_ipv6auto', 'int_ipv6address', 'int_v6netmaskbit'),
    int_options: becomes('int_options', (row) => optionsOf(row)),
    int_mtu: part,
    int_ipv4address_b: stays('It is an address of a second node.', 'Nothing.'),
    int_vip: stays('It is an address of two nodes together.', 'Nothing.'),
    int_vhid: stays('It belongs to two nodes.', 'Nothing.'),
    int_pass: stays('It belongs to two nodes.', 'Nothing.'),
    int_critical: stays('It belongs to two nodes.', 'Nothing.', '0'),
    int_group: stays('It belongs to two nodes.', 'Nothing.'),
    int_carp: stays('It belongs to two nodes.', 'Nothing.'),
    int_disable_offload_capabilities: stays('It is not a setting here.', 'Use ethtool, if it matters.', '0'),
    int_link_address: part,
  },
  values: (row, { old }) => ({
    int_options: optionsOf(row),
    int_aliases: old
      .rows('network_alias')
      .filter((one) => one.text('alias_interface_id') === row.id)
      .flatMap((one) => [
        ...(one.text('alias_v4address') === ''
          ? []
          : [bits(one.text('alias_v4address'), one.text('alias_v4netmaskbit'))]),
        ...(one.text('alias_v6address') === ''
          ? []
          : [bits(one.text('alias_v6address'), one.text('alias_v6netmaskbit'))]),
      ]),
  }),
  remarks: (row) => {
    const left = row
      .text('int_options')
      .split(/\s+/)
      .filter((word) => foreignOption.test(word));
    return left.length === 0
      ? []
      : [
          {
            column: 'int_options',
            reason: `The options ${left.join(' ')} are of drivers of FreeBSD.`,
            remedy: 'Use ethtool, if they matter.',
          },
        ];
  },
};

const foreignOption = /^-?(?:rxcsum|txcsum|tso|lro|vlanhwtag|vlanmtu|vlanhwtso|polling|wol)\w*$/i;

function optionsOf(row: Row): string | undefined {
  const words = row
    .text('int_options')
    .split(/\s+/)
    .filter((word) => word !== '' && !foreignOption.test(word));
  const mtu = row.number('int_mtu');
  const all = mtu === undefined || words.includes('mtu') ? words : ['mtu', String(mtu), ...words];
  return all.length === 0 ? undefined : all.join(' ');
}

const isCarried = (row: Row, column: string, { keyOf }: Target) =>
  keyOf('network_interfaces', row.text(column)) !== undefined;

const alias: Mapping = {
  table: 'network_alias',
  stays: (row, target) =>
    isCarried(row, 'alias_interface_id', target)
      ? undefined
      : stay(
          `The address ${row.text('alias_v4address') || row.text('alias_v6address')} belongs to an interface that is not carried.`,
          'Give --interface OLD=NEW for it.',
        ),
  columns: {
    ...{ alias_interface_id: part, alias_v4address: part, alias_v4netmaskbit: part },
    ...{ alias_v6address: part, alias_v6netmaskbit: part },
    alias_vip: stays('It is an address of two nodes together.', 'Nothing.'),
    alias_v4address_b: stays('It is an address of a second node.', 'Nothing.'),
    alias_v6address_b: stays('It is an address of a second node.', 'Nothing.'),
  },
};

const route: Mapping = {
  table: 'network_staticroute',
  to: 'network/staticroute',
  stays: (row, target) =>
    target.interfaces.size > 0
      ? undefined
      : stay(
          `The route to ${row.text('sr_destination')} goes through interfaces that are not carried.`,
          'Give --interface OLD=NEW for them.',
        ),
  columns: sames('sr_destination', 'sr_gateway', 'sr_description'),
};

const byHand = (table: string, sentence: (row: Row) => string, command: string): Mapping => ({
  table,
  columns: {},
  stays: (row) => stay(sentence(row), `Make it by hand: ${command}.`),
});

export const network: readonly Mapping[] = [
  ...[networkInterface, settings, alias, route],
  byHand(
    'network_vlan',
    (row) => `The VLAN ${row.text('vlan_tag')} on ${row.text('vlan_pint')} needs an interface of this machine.`,
    'holdfast create vlan --help',
  ),
  byHand(
    'network_lagginterface',
    (row) => `The aggregate with ${row.text('lagg_protocol')} needs interfaces of this machine.`,
    'holdfast create lagg --help',
  ),
  byHand(
    'network_lagginterfacemembers',
    (row) => `The interface ${row.text('lagg_physnic')} was a member of an aggregate.`,
    'holdfast create lagg --help',
  ),
  byHand(
    'network_bridge',
    (row) => `A bridge of ${row.text('members')} does not exist here.`,
    'with the tools of the machine',
  ),
];
