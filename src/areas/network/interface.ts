import {
  advanced,
  basic,
  choice,
  createOnly,
  flag,
  list,
  live,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { addressOf } from '../../engine/declare/formats.ts';
import { collection, type RecordOf, type Saving, type View } from '../../engine/declare/resource.ts';
import {
  contains,
  isLinkLocal,
  isSameIp,
  type Network,
  networkOf,
  overlap,
  parseIp,
  parseNetwork,
  showIp,
} from '../../lib/ip.ts';
import { memo } from '../../lib/memo.ts';
import { laggMember } from './lagginterfacemembers.ts';
import { planMedium } from './media.ts';
import { laggName, noSuchNic, plugged } from './nics.ts';
import { optionWords, readOptions } from './options.ts';

const masks4 = ['', ...Array.from({ length: 32 }, (_, index) => String(index + 1))];
// The document lists 0, 48, 60, 64, 80 and 96. All other multiples of 4 are accepted too (gaps 4.2).
const masks6 = ['', ...Array.from({ length: 33 }, (_, index) => String(4 * index))];

export const networkInterface = collection('network/interface', {
  ofNode: true,
  shortName: 'interface',
  title: 'network interface',
  description: 'Configuration of a network interface. Holdfast does not change an interface without a record.',
  order: ['int_interface'],
  shows: ['network'],
  fields: {
    int_name: required(text({ description: 'Display name of the interface.', max: 120 })),
    int_interface: createOnly(required(text({ description: 'Device name of the interface.', max: 15 }))),
    ...basic('IPv4', {
      int_ipv4address: titled('IPv4 address', addressOf(4, { description: 'IPv4 address.' })),
      int_v4netmaskbit: titled(
        'IPv4 prefix length',
        choice(masks4, {
          description: 'Prefix length of the IPv4 address.',
          initial: '',
        }),
      ),
    }),
    ...basic('IPv6', {
      int_ipv6address: titled('IPv6 address', addressOf(6, { description: 'IPv6 address.' })),
      int_v6netmaskbit: titled(
        'IPv6 prefix length',
        choice(masks6, {
          description: 'Prefix length of the IPv6 address.',
          initial: '',
        }),
      ),
    }),
    ...basic('Automatic', {
      int_dhcp: titled(
        'IPv4 by DHCP',
        flag(false, {
          description: 'Whether the IPv4 address is configured by DHCP. Only one interface can use DHCP.',
        }),
      ),
      int_ipv6auto: titled(
        'IPv6 by autoconfiguration',
        flag(false, {
          description:
            'Whether IPv6 addresses are configured from router advertisements. Only one interface can use them.',
        }),
      ),
    }),
    ...advanced('Media', {
      int_options: titled(
        'Media options',
        refine(text({ description: `Options of ifconfig: ${optionWords}.`, max: 120 }), (value) => {
          const reading = readOptions(value);
          return 'wrong' in reading ? reading.wrong : undefined;
        }),
      ),
    }),
    ...advanced('Further addresses', {
      int_aliases: list(text({ description: 'An address with its prefix length, as 192.0.2.7/32.', max: 49 }), {
        description: 'Additional IPv4 and IPv6 addresses.',
        max: 256,
      }),
    }),
    int_media_status: titled(
      'Link',
      live(text({ description: 'Active, No carrier, or Unknown when the state cannot be determined.' })),
    ),
    ipv4_addresses: titled(
      'IPv4 addresses',
      live(
        list(text({ description: 'An address with its prefix length.' }), {
          description: 'The current IPv4 addresses.',
        }),
      ),
    ),
    ipv6_addresses: titled(
      'IPv6 addresses',
      live(
        list(text({ description: 'An address with its prefix length.' }), {
          description: 'The current IPv6 addresses, without link-local ones.',
        }),
      ),
    ),
  },
  unique: [{ fields: ['int_interface'], description: 'A record for this interface already exists.' }],
  complete({ record, before, sent }) {
    const aliases = aliasesAfter(before?.int_aliases ?? [], sent.int_aliases ?? record.int_aliases);
    return { int_aliases: aliases, ...(record.int_dhcp ? { int_ipv4address: '', int_v4netmaskbit: '' } : {}) };
  },
  check(saving) {
    const { record, before, sent, view, facts, issues } = saving;
    // The record of a VLAN or aggregate device is created by the VLAN or aggregate itself, before the device exists.
    if (before === undefined && sent.int_interface !== undefined) {
      if (!plugged(facts).some(({ name }) => name === record.int_interface))
        issues.add('int_interface', noSuchNic(record.int_interface));
      if (view.find(laggMember, 'lagg_physnic', record.int_interface) !== undefined)
        issues.add(
          'int_interface',
          `${record.int_interface} is a member of a link aggregate and cannot be configured.`,
        );
    }
    const other = (name: 'int_dhcp' | 'int_ipv6auto') =>
      record[name]
        ? view.all(networkInterface).find((candidate) => candidate[name] && candidate.id !== record.id)
        : undefined;
    const [leased, announced] = [other('int_dhcp'), other('int_ipv6auto')];
    if (leased !== undefined)
      issues.add('int_dhcp', `Only one interface can use DHCP: ${leased.int_interface} already does.`);
    if (announced !== undefined)
      issues.add(
        'int_ipv6auto',
        `Only one interface can use router advertisements for IPv6: ${announced.int_interface} already does.`,
      );
    if ((record.int_ipv4address === '') !== (record.int_v4netmaskbit === ''))
      issues.add(
        record.int_ipv4address === '' ? 'int_ipv4address' : 'int_v4netmaskbit',
        'int_ipv4address and int_v4netmaskbit must be set together.',
      );
    if ((record.int_ipv6address === '') !== (record.int_v6netmaskbit === ''))
      issues.add(
        record.int_ipv6address === '' ? 'int_ipv6address' : 'int_v6netmaskbit',
        'int_ipv6address and int_v6netmaskbit must be set together.',
      );
    if (laggName.test(record.int_interface) && /(^|\s)mtu(\s|$)/.test(record.int_options))
      issues.add(
        'int_options',
        'The MTU of a link aggregate cannot be set here. Set mtu in lagg_deviceoptions of its members.',
      );
    if (/^(lagg|vlan)\d+$/.test(record.int_interface) && /(^|\s)media/.test(record.int_options))
      issues.add('int_options', 'Media options cannot be set on a VLAN or an aggregate.');
    checkAddresses(saving);
  },
  onSave({ draft, record, before, facts }) {
    planMedium(draft.plan, facts, record.int_interface, before?.int_options, record.int_options);
  },
  onRemove({ draft, record, facts }) {
    planMedium(draft.plan, facts, record.int_interface, record.int_options, undefined);
  },
  present({ int_interface }, { facts }) {
    const link = facts.network.links.find(({ name }) => name === int_interface);
    const addresses = link?.addresses ?? [];
    return {
      int_media_status: link?.carrier === undefined ? 'Unknown' : link.carrier ? 'Active' : 'No carrier',
      ipv4_addresses: addresses.filter((address) => !address.includes(':')),
      ipv6_addresses: addresses.filter((address) => address.includes(':')),
    };
  },
});

type Interface = RecordOf<typeof networkInterface.fields>;

/** Existing aliases keep their order; new ones follow (gaps 4.2). */
function aliasesAfter(before: readonly string[], sent: readonly string[]): readonly string[] {
  return Object.freeze([
    ...before.filter((alias) => sent.includes(alias)),
    ...sent.filter((alias) => !before.includes(alias)),
  ]);
}

/** The static addresses of an interface. Records are immutable values, so each one is parsed only once. */
export const addressesOf = memo(readAddresses);

function readAddresses({
  int_ipv4address,
  int_v4netmaskbit,
  int_ipv6address,
  int_v6netmaskbit,
  int_aliases,
}: Interface): readonly Network[] {
  return [`${int_ipv4address}/${int_v4netmaskbit}`, `${int_ipv6address}/${int_v6netmaskbit}`, ...int_aliases]
    .map(parseNetwork)
    .filter((address) => address !== undefined);
}

/** The interface with a static address in the network of `address`. */
export function interfaceTowards(address: string, view: View): Interface | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return undefined;
  return view.all(networkInterface).find((record) => addressesOf(record).some((network) => contains(network, ip)));
}

type Named = readonly [field: string, mask: string, network: Network];

/** Every address of the record with the names of the fields that its problems are reported under. */
function named(record: Interface): readonly Named[] {
  const own = (address: string, bits: string, field: string, mask: string): readonly Named[] => {
    const network = parseNetwork(`${address}/${bits}`);
    return network === undefined ? [] : [[field, mask, network]];
  };
  return [
    ...own(record.int_ipv4address, record.int_v4netmaskbit, 'int_ipv4address', 'int_v4netmaskbit'),
    ...own(record.int_ipv6address, record.int_v6netmaskbit, 'int_ipv6address', 'int_v6netmaskbit'),
    ...record.int_aliases.flatMap((alias): readonly Named[] => {
      const network = parseNetwork(alias);
      return network === undefined
        ? []
        : [[`alias_v${network.family}address`, `alias_v${network.family}netmaskbit`, network]];
    }),
  ];
}

/**
 * No address twice, and no IPv4 network on two interfaces. Problems of aliases have field names of their own (gaps
 * 4.2).
 */
function checkAddresses({ draft, view, record }: Saving<typeof networkInterface.fields>): void {
  const { issues } = draft;
  for (const alias of record.int_aliases) {
    const network = parseNetwork(alias);
    const family = alias.includes(':') ? 6 : 4;
    if (network === undefined)
      issues.add(
        `alias_v${family}address`,
        `Expected an address with its prefix length, as 192.0.2.7/32 or 2001:db8::7/64, got ${JSON.stringify(alias)}.`,
      );
    else if (family === 4 && network.bits === 0)
      issues.add('alias_v4netmaskbit', `Expected a prefix length from 1 to 32, got ${alias}.`);
  }
  const own = named(record);
  for (const [index, [field, , network]] of own.entries()) {
    const special = unusable(network);
    if (special !== undefined) issues.add(field, special);
    if (own.slice(0, index).some(([, , earlier]) => isSameIp(earlier, network)))
      issues.add(field, `The address ${showIp(network)} occurs twice.`);
  }
  if (own.length === 0) return;
  for (const other of view.all(networkInterface)) {
    if (other.id === record.id) continue;
    for (const theirs of addressesOf(other)) {
      for (const [field, mask, network] of own) {
        if (isSameIp(network, theirs))
          issues.add(field, `The address ${showIp(network)} is already in use on ${other.int_interface}.`);
        else if (network.family === 4 && overlap(network, theirs))
          issues.add(
            mask,
            `The network ${showIp(networkOf(network))}/${network.bits} overlaps ${showIp(networkOf(theirs))}/${theirs.bits} of ${other.int_interface}.`,
          );
      }
    }
  }
}

/** Why the address cannot be assigned to an interface, or undefined when it can. */
function unusable(network: Network): string | undefined {
  const text = showIp(network);
  if (network.value === 0n) return `Expected the address of a host, got ${text}.`;
  if (network.family === 6)
    return text === '::1' || network.value >> 120n === 0xffn || isLinkLocal(network)
      ? `Expected an address for an interface, got the reserved address ${text}.`
      : undefined;
  const first = Number(network.value >> 24n);
  if (first === 127 || first === 0 || first >= 224)
    return `Expected an address for an interface, got the reserved address ${text}.`;
  const low = networkOf(network).value;
  if (network.bits < 31 && (network.value === low || network.value === low + (1n << BigInt(32 - network.bits)) - 1n))
    return `Expected the address of a host, got the network or broadcast address ${text}.`;
  return undefined;
}
