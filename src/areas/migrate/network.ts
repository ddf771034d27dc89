/** The network. Names of interfaces mean nothing on another machine, so each is asked for. */
import type { Row } from './database.ts';
import { aggregatesOf, aliasesOf, nameHere, vlanNameOf } from './interfaces.ts';
import {
  becomes,
  isStay,
  keyIn,
  type Mapping,
  nothing,
  part,
  type Stay,
  same,
  sames,
  stay,
  stays,
  type Target,
} from './mapping.ts';

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

/** The member of an aggregate that an interface is. From 11.3 on, members have rows of their own. */
function membershipOf(row: Row, target: Target) {
  const name = row.text('int_interface');
  if (target.interfaces.get(name) === undefined && !row.text('int_name').startsWith('member of ')) return undefined;
  for (const aggregate of aggregatesOf(target)) {
    const member = aggregate.members.find(({ old }) => old === name);
    if (member !== undefined) return { aggregate, member };
  }
  return undefined;
}

const hasAddress = (row: Row, { old }: Target) =>
  row.text('int_ipv4address') !== '' ||
  row.text('int_ipv6address') !== '' ||
  row.flag('int_dhcp') ||
  row.flag('int_ipv6auto') ||
  aliasesOf(row, old).length > 0;

const networkInterface: Mapping = {
  table: 'network_interfaces',
  to: 'network/interface',
  // Its options are those of the member.
  isRecord: (row, target) => {
    const found = membershipOf(row, target);
    return found === undefined || isStay(found.aggregate.name) || hasAddress(row, target)
      ? undefined
      : target.keyOf('network_lagginterfacemembers', found.member.row.id);
  },
  stays: (row, target) => {
    const name = row.text('int_interface');
    const found = membershipOf(row, target);
    if (found !== undefined && !isStay(found.aggregate.name))
      return stay(
        `${name} is a member of ${found.aggregate.oldName}, and has addresses of its own.`,
        'Give them to the aggregate, if they are in use.',
      );
    if (found !== undefined && isStay(found.aggregate.name) && row.text('int_name').startsWith('member of '))
      return found.aggregate.name;
    const here = nameHere(name, target);
    return isStay(here) ? here : undefined;
  },
  columns: {
    int_interface: becomes('int_interface', (row, target, column) => nameHere(row.text(column), target)),
    int_name: becomes('int_name', (row) => row.text('int_name') || row.text('int_interface')),
    ...sames('int_dhcp', 'int_ipv4address', 'int_v4netmaskbit', 'int_ipv6auto', 'int_ipv6address', 'int_v6netmaskbit'),
    int_options: part,
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
  values: (row, target) => ({
    // The size of packets of an aggregate is an option of its members.
    int_options: optionsIn(
      row.text('int_options'),
      aggregatesOf(target).some(({ oldName }) => oldName === row.text('int_interface'))
        ? undefined
        : row.number('int_mtu'),
    ),
    int_aliases: aliasesOf(row, target.old),
  }),
  remarks: (row) => foreignOptions(row.text('int_options'), 'int_options'),
};

const foreignOption = /^-?(?:rxcsum|txcsum|tso|lro|vlanhwtag|vlanmtu|vlanhwtso|polling|wol)\w*$/i;

function foreignOptions(options: string, column: string): readonly (Stay & { readonly column: string })[] {
  const left = options.split(/\s+/).filter((word) => foreignOption.test(word));
  return left.length === 0
    ? []
    : [
        {
          column,
          reason: `The options ${left.join(' ')} are of drivers of FreeBSD.`,
          remedy: 'Use ethtool, if they matter.',
        },
      ];
}

function optionsIn(options: string, mtu: number | undefined): string | undefined {
  const words = options.split(/\s+/).filter((word) => word !== '' && !foreignOption.test(word));
  const all = mtu === undefined || words.includes('mtu') ? words : ['mtu', String(mtu), ...words];
  return all.length === 0 ? undefined : all.join(' ');
}

const aggregate: Mapping = {
  table: 'network_lagginterface',
  to: 'network/lagg',
  key: (row, target) => {
    const name = aggregatesOf(target).find((one) => one.row === row)?.name;
    return typeof name === 'string' ? name : undefined;
  },
  stays: (row, target) => {
    const name = aggregatesOf(target).find((one) => one.row === row)?.name;
    return isStay(name) ? name : undefined;
  },
  columns: {
    lagg_interface_id: part,
    lagg_protocol: becomes('lagg_protocol', (row) => row.text('lagg_protocol').toLowerCase() || undefined),
  },
  values: (row, target) => ({
    lagg_interfaces: aggregatesOf(target)
      .find((one) => one.row === row)
      ?.members.map(({ name }) => name),
  }),
  remarks: (row, target) => {
    const found = aggregatesOf(target).find((one) => one.row === row);
    return found === undefined || isStay(found.name) || found.name === found.oldName
      ? []
      : [
          {
            column: 'lagg_interface_id',
            reason: `It was called ${found.oldName}, and is ${found.name} here.`,
            remedy: `Use ${found.name} in scripts and in the settings of switches.`,
          },
        ];
  },
};

const member: Mapping = {
  table: 'network_lagginterfacemembers',
  to: 'network/lagginterfacemembers',
  stays: (row, target) => {
    const found = aggregatesOf(target).find(({ members }) => members.some((one) => one.row === row));
    if (found === undefined)
      return stay(`${row.text('lagg_physnic')} is a member of an aggregate that does not exist.`, 'Nothing.');
    return isStay(found.name) ? found.name : undefined;
  },
  columns: {
    lagg_interfacegroup_id: becomes('lagg_interfacegroup', keyIn('network_lagginterface')),
    lagg_ordernum: part,
    lagg_physnic: becomes('lagg_physnic', (row, { interfaces }, column) => interfaces.get(row.text(column))),
    lagg_deviceoptions: part,
  },
  values: (row, target) => {
    const found = aggregatesOf(target).find(({ members }) => members.some((one) => one.row === row));
    return {
      lagg_ordernum: found?.members.findIndex((one) => one.row === row),
      lagg_deviceoptions: optionsIn(memberOptions(row, target), mtuOf(found?.oldName, target)) ?? 'up',
    };
  },
  remarks: (row, target) => foreignOptions(memberOptions(row, target), 'lagg_deviceoptions'),
};

/** From 11.3 on, the options of a member are in its row among the interfaces. */
function memberOptions(row: Row, { old }: Target): string {
  return row.has('lagg_deviceoptions')
    ? row.text('lagg_deviceoptions')
    : (rowOf(row.text('lagg_physnic'), old)?.text('int_options') ?? '');
}

const rowOf = (name: string, old: Target['old']) =>
  old.rows('network_interfaces').find((row) => row.text('int_interface') === name);

function mtuOf(aggregateName: string | undefined, { old }: Target): number | undefined {
  return aggregateName === undefined ? undefined : rowOf(aggregateName, old)?.number('int_mtu');
}

const vlan: Mapping = {
  table: 'network_vlan',
  to: 'network/vlan',
  stays: (row, target) => {
    const name = row.text('vlan_vint');
    const other = target.interfaces.get(name);
    if (other !== undefined)
      return stay(`The VLAN ${name} is not made: ${other} was chosen for its addresses.`, 'Nothing.');
    const here = nameHere(name, target);
    if (isStay(here)) return here;
    const first = target.old
      .rows('network_vlan')
      .find((one) => one.text('vlan_tag') === row.text('vlan_tag') || vlanNameOf(one) === vlanNameOf(row));
    return first === undefined || first === row
      ? undefined
      : stay(
          `The VLAN ${name} has the tag or the name of ${first.text('vlan_vint')}; here each tag is on one interface.`,
          'Make it by hand, with the tools of the machine.',
        );
  },
  columns: {
    vlan_vint: becomes('vlan_vint', vlanNameOf),
    vlan_pint: becomes('vlan_pint', (row, target, column) => nameHere(row.text(column), target)),
    vlan_tag: same,
    vlan_pcp: same,
    vlan_description: same,
  },
};

const bridge: Mapping = {
  table: 'network_bridge',
  columns: { interface_id: part, members: part },
  stays: (row, target) => {
    const found = target.old.rows('network_interfaces').find(({ id }) => id === row.text('interface_id'));
    const name = found?.text('int_interface') ?? 'A bridge';
    const other = target.interfaces.get(name);
    return stay(
      `${name} is a bridge of ${row.text('members') || 'no interfaces'}, which Holdfast does not make.`,
      other === undefined
        ? `Jails and virtual machines used it. To give its addresses to an interface: --interface ${name}=NAME.`
        : `Its addresses go to ${other}, as you chose.`,
    );
  },
};

const isCarried = (row: Row, column: string, target: Target) => {
  const found = target.old.rows('network_interfaces').find(({ id }) => id === row.text(column));
  return found !== undefined && target.keyOf('network_interfaces', found.id) !== undefined;
};

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

// Interfaces refer to the members and VLANs before them.
export const network: readonly Mapping[] = [aggregate, member, vlan, bridge, networkInterface, settings, alias, route];
