import { choice, createOnly, flag, list, live, refine, required, text } from '../../engine/declare/fields.ts';
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
import { laggMember } from './lagginterfacemembers.ts';
import { planMedium } from './media.ts';
import { laggName, noSuchNic, plugged } from './nics.ts';
import { optionWords, readOptions } from './options.ts';

const masks4 = ['', ...Array.from({ length: 32 }, (_, place) => String(place + 1))];
// The document's 0, 48, 60, 64, 80 and 96, and what lies between them (gaps 4.2).
const masks6 = ['', ...Array.from({ length: 33 }, (_, place) => String(4 * place))];

export const networkInterface = collection('network/interface', {
  title: 'network interface',
  description: 'How a network interface is configured. One without a record stays as it is.',
  order: ['int_interface'],
  shows: ['network'],
  fields: {
    int_name: required(text({ description: 'What people call it.', max: 120 })),
    int_interface: createOnly(required(text({ description: "The machine's name of the interface.", max: 15 }))),
    int_ipv4address: addressOf(4, { description: 'Its IPv4 address.' }),
    int_v4netmaskbit: choice(masks4, {
      description: 'How many bits of the IPv4 address name its network.',
      initial: '',
    }),
    int_ipv6address: addressOf(6, { description: 'Its IPv6 address.' }),
    int_v6netmaskbit: choice(masks6, {
      description: 'How many bits of the IPv6 address name its network.',
      initial: '',
    }),
    int_dhcp: flag(false, { description: 'Whether a DHCP server is asked for the IPv4 address. One interface may.' }),
    int_ipv6auto: flag(false, {
      description: 'Whether IPv6 addresses follow from what routers announce. One interface may.',
    }),
    int_options: refine(text({ description: `Words of ifconfig: ${optionWords}.`, max: 120 }), (value) => {
      const reading = readOptions(value);
      return 'wrong' in reading ? reading.wrong : undefined;
    }),
    int_aliases: list(text({ description: 'An address with its bits, as 192.0.2.7/32.', max: 49 }), {
      description: 'Further addresses, of either family. An update that does not send them removes them.',
      max: 256,
    }),
    int_media_status: live(text({ description: 'Active, No carrier, or Unknown when the machine does not tell.' })),
    ipv4_addresses: live(
      list(text({ description: 'An address with its bits.' }), { description: 'The IPv4 addresses that it has now.' }),
    ),
    ipv6_addresses: live(
      list(text({ description: 'An address with its bits.' }), {
        description: 'The IPv6 addresses that it has now, without those that hold on the link alone.',
      }),
    ),
  },
  unique: [{ fields: ['int_interface'], description: 'This interface has a record already.' }],
  complete({ record, before, sent }) {
    const aliases = aliasesAfter(before?.int_aliases ?? [], sent.int_aliases ?? []);
    return { int_aliases: aliases, ...(record.int_dhcp ? { int_ipv4address: '', int_v4netmaskbit: '' } : {}) };
  },
  check(saving) {
    const { record, before, sent, view, facts, issues } = saving;
    // A device that a VLAN or an aggregate brings with it is named by these, and is not there yet.
    if (before === undefined && sent.int_interface !== undefined) {
      if (!plugged(facts).some(({ name }) => name === record.int_interface))
        issues.add('int_interface', noSuchNic(record.int_interface));
      if (view.find(laggMember, 'lagg_physnic', record.int_interface) !== undefined)
        issues.add('int_interface', `${record.int_interface} is a member of an aggregate.`);
    }
    const other = (name: 'int_dhcp' | 'int_ipv6auto') =>
      record[name] ? view.all(networkInterface).find((one) => one[name] && one.id !== record.id) : undefined;
    const [leased, announced] = [other('int_dhcp'), other('int_ipv6auto')];
    if (leased !== undefined)
      issues.add('int_dhcp', `Only one interface may use DHCP, and ${leased.int_interface} does.`);
    if (announced !== undefined)
      issues.add(
        'int_ipv6auto',
        `Only one interface may configure itself for IPv6, and ${announced.int_interface} does.`,
      );
    if ((record.int_ipv4address === '') !== (record.int_v4netmaskbit === ''))
      issues.add(
        record.int_ipv4address === '' ? 'int_ipv4address' : 'int_v4netmaskbit',
        'An IPv4 address needs its netmask, and a netmask an address.',
      );
    if ((record.int_ipv6address === '') !== (record.int_v6netmaskbit === ''))
      issues.add(
        record.int_ipv6address === '' ? 'int_ipv6address' : 'int_v6netmaskbit',
        'An IPv6 address needs its prefix length, and a prefix length an address.',
      );
    if (laggName.test(record.int_interface) && /(^|\s)mtu(\s|$)/.test(record.int_options))
      issues.add(
        'int_options',
        'The MTU of an aggregate is set at its members, by the word mtu in their lagg_deviceoptions.',
      );
    if (/^(lagg|vlan)\d+$/.test(record.int_interface) && /(^|\s)media/.test(record.int_options))
      issues.add('int_options', 'Media are for cards: this one is made of others.');
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

/** An alias that was there keeps its place, others follow (gaps 4.2). */
function aliasesAfter(before: readonly string[], sent: readonly string[]): readonly string[] {
  return Object.freeze([
    ...before.filter((alias) => sent.includes(alias)),
    ...sent.filter((alias) => !before.includes(alias)),
  ]);
}

/** A record stays the same value until it changes, so its addresses are read once, however many records there are. */
const read = new WeakMap<Interface, readonly Network[]>();

/** The fixed addresses of an interface. */
export function addressesOf(record: Interface): readonly Network[] {
  let addresses = read.get(record);
  if (addresses === undefined) {
    addresses = readAddresses(record);
    read.set(record, addresses);
  }
  return addresses;
}

function readAddresses({
  int_ipv4address,
  int_v4netmaskbit,
  int_ipv6address,
  int_v6netmaskbit,
  int_aliases,
}: Interface): readonly Network[] {
  return [`${int_ipv4address}/${int_v4netmaskbit}`, `${int_ipv6address}/${int_v6netmaskbit}`, ...int_aliases]
    .map(parseNetwork)
    .filter((one) => one !== undefined);
}

/** The interface that has a fixed address in the network of `address`. */
export function interfaceTowards(address: string, view: View): Interface | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return undefined;
  return view.all(networkInterface).find((one) => addressesOf(one).some((network) => contains(network, ip)));
}

type Named = readonly [field: string, mask: string, network: Network];

/** Every address of the record with the names that issues about it have. */
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

/** No address twice, and no IPv4 network on two interfaces. Aliases have names of their own in what is answered (gaps 4.2). */
function checkAddresses({ draft, view, record }: Saving<typeof networkInterface.fields>): void {
  const { issues } = draft;
  for (const alias of record.int_aliases) {
    const network = parseNetwork(alias);
    const family = alias.includes(':') ? 6 : 4;
    if (network === undefined)
      issues.add(
        `alias_v${family}address`,
        `${JSON.stringify(alias)} is no address with its bits, as 192.0.2.7/32 or 2001:db8::7/64.`,
      );
    else if (family === 4 && network.bits === 0)
      issues.add('alias_v4netmaskbit', `${alias}: the netmask of an IPv4 address has 1 to 32 bits.`);
  }
  const own = named(record);
  for (const [place, [field, , network]] of own.entries()) {
    const special = unusable(network);
    if (special !== undefined) issues.add(field, special);
    if (own.slice(0, place).some(([, , earlier]) => isSameIp(earlier, network)))
      issues.add(field, `${showIp(network)} is named twice.`);
  }
  if (own.length === 0) return;
  for (const other of view.all(networkInterface)) {
    if (other.id === record.id) continue;
    for (const theirs of addressesOf(other)) {
      for (const [field, mask, network] of own) {
        if (isSameIp(network, theirs))
          issues.add(field, `${showIp(network)} is an address of ${other.int_interface} already.`);
        else if (network.family === 4 && overlap(network, theirs))
          issues.add(
            mask,
            `The network ${showIp(networkOf(network))}/${network.bits} overlaps ${showIp(networkOf(theirs))}/${theirs.bits} of ${other.int_interface}.`,
          );
      }
    }
  }
}

/** Why a machine cannot have this address for itself, if so. */
function unusable(network: Network): string | undefined {
  const text = showIp(network);
  if (network.value === 0n) return `${text} is no address of a machine.`;
  if (network.family === 6)
    return text === '::1' || network.value >> 120n === 0xffn || isLinkLocal(network)
      ? `${text} cannot be given to an interface.`
      : undefined;
  const first = Number(network.value >> 24n);
  if (first === 127 || first === 0 || first >= 224) return `${text} cannot be given to an interface.`;
  const low = networkOf(network).value;
  if (network.bits < 31 && (network.value === low || network.value === low + (1n << BigInt(32 - network.bits)) - 1n))
    return `${text} is the name of its whole network or of everybody in it, and no machine's.`;
  return undefined;
}
