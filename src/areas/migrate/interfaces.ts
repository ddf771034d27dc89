/** What the interfaces of the old appliance are called here. Neither names nor numbers carry over: people choose. */
import type { Link } from '../../host/ports/network.ts';
import { contains, parseIp, parseNetwork } from '../../lib/ip.ts';
import type { OldDatabase, Row } from './database.ts';
import { isStay, type Stay, stay, type Target } from './mapping.ts';

/** An interface of the old appliance that a person has to choose one here for. */
export interface OldInterface {
  readonly name: string;
  /** The name that people gave it. */
  readonly description: string;
  /** Hardware address; empty before 12.0, which does not store it. */
  readonly mac: string;
  readonly addresses: readonly string[];
  /** The interface here that probably takes its place; empty without one. */
  readonly proposed: string;
  /** Why that one. */
  readonly why: string;
}

type Here = Pick<Target, 'nics' | 'interfaces'>;

const isLogical = (name: string) => /^(?:lagg|vlan|bridge)\d/.test(name);
const isOnlyVirtual = (name: string) => /^(?:epair|tap|vnet|tun|lo|pflog|carp|ipfw)\d/.test(name);
const isMade = ({ name, kind }: Link) => kind !== '' || isLogical(name);

/** The physical interfaces that the database names, each with a proposal if there is a reason for one. */
export function oldInterfaces(old: OldDatabase, nics: readonly Link[]): readonly OldInterface[] {
  const rows = new Map(old.rows('network_interfaces').map((row) => [row.text('int_interface'), row]));
  const names = new Set([
    ...rows.keys(),
    ...old.rows('network_lagginterfacemembers').map((row) => row.text('lagg_physnic')),
    ...old.rows('network_vlan').map((row) => row.text('vlan_pint')),
  ]);
  const physical = [...names].filter((name) => name !== '' && !isLogical(name) && !isOnlyVirtual(name)).toSorted();
  const here = nics.filter((link) => !isMade(link));
  return physical.map((name) => {
    const row = rows.get(name);
    const known = {
      name,
      description: row?.text('int_name') ?? '',
      mac: row?.text('int_link_address').toLowerCase() ?? '',
      addresses: row === undefined ? [] : addressesOf(row, old),
    };
    return { ...known, ...proposalFor(known, here, physical.length === 1) };
  });
}

function proposalFor(
  { mac, addresses }: Pick<OldInterface, 'mac' | 'addresses'>,
  nics: readonly Link[],
  isOnly: boolean,
): Pick<OldInterface, 'proposed' | 'why'> {
  const same = mac === '' ? undefined : nics.find((link) => link.mac === mac);
  if (same !== undefined) return { proposed: same.name, why: `It has the same hardware address, ${mac}.` };
  for (const address of addresses) {
    const ip = parseIp(address.split('/')[0] ?? '');
    const near = nics.find((link) =>
      link.addresses.some((one) => {
        const network = parseNetwork(one);
        return ip !== undefined && network !== undefined && contains(network, ip);
      }),
    );
    if (near !== undefined) return { proposed: near.name, why: `It is in the network of ${address}.` };
  }
  const [only, ...others] = nics;
  return isOnly && only !== undefined && others.length === 0
    ? { proposed: only.name, why: 'Both machines have one interface.' }
    : { proposed: '', why: '' };
}

/** All addresses of a row, as `address/bits`. */
function addressesOf(row: Row, old: OldDatabase): readonly string[] {
  const own = [
    ...(row.text('int_ipv4address') === '' ? [] : [`${row.text('int_ipv4address')}/${row.text('int_v4netmaskbit')}`]),
    ...(row.text('int_ipv6address') === '' ? [] : [`${row.text('int_ipv6address')}/${row.text('int_v6netmaskbit')}`]),
  ];
  return [...own, ...aliasesOf(row, old)];
}

export function aliasesOf({ id }: Row, old: OldDatabase): readonly string[] {
  return old
    .rows('network_alias')
    .filter((one) => one.text('alias_interface_id') === id)
    .flatMap((one) =>
      ['v4', 'v6'].flatMap((family) => {
        const address = one.text(`alias_${family}address`);
        return address === '' ? [] : [`${address}/${one.text(`alias_${family}netmaskbit`)}`];
      }),
    );
}

// Aggregates and VLANs -----------------------------------------------------------------------------------------------

export interface Aggregate {
  readonly row: Row;
  readonly oldName: string;
  /** Its name here; why it cannot be made, if an interface has not been chosen. */
  readonly name: string | Stay;
  readonly members: readonly { readonly row: Row; readonly old: string; readonly name: string }[];
}

const largestFirst = (a: Aggregate, b: Aggregate) => numberIn(a.oldName) - numberIn(b.oldName);
const numberIn = (name: string) => Number(/\d+$/.exec(name)?.[0] ?? 0);

/** The aggregates, with the numbers that Holdfast gives to them: the first free ones, in their order. */
export function aggregatesOf(target: Pick<Target, 'old' | 'state' | 'nics' | 'interfaces'>): readonly Aggregate[] {
  const { old, state, nics, interfaces } = target;
  const rows = new Map(old.rows('network_interfaces').map((row) => [row.id, row]));
  const kind = state.kindAt('network/lagg');
  const existing = kind === undefined ? [] : [...state.of(kind).values()];
  const taken = new Set([...nics.map(({ name }) => name), ...existing.map(({ key }) => key)]);
  const found = old
    .rows('network_lagginterface')
    .map((row): Aggregate => {
      const members = old
        .rows('network_lagginterfacemembers')
        .filter((one) => one.text('lagg_interfacegroup_id') === row.id)
        .toSorted((a, b) => (a.number('lagg_ordernum') ?? 0) - (b.number('lagg_ordernum') ?? 0))
        .map((one) => {
          const oldMember = one.text('lagg_physnic');
          return { row: one, old: oldMember, name: interfaces.get(oldMember) ?? '' };
        });
      const oldName = rows.get(row.text('lagg_interface_id'))?.text('int_interface') || `lagg of row ${row.id}`;
      return { row, oldName, members, name: oldName };
    })
    .toSorted(largestFirst);
  let number = 0;
  return found.map((aggregate) => {
    const why = unmade(aggregate, target);
    if (why !== undefined) return { ...aggregate, name: why };
    const wanted = aggregate.members.map(({ name }) => name).toSorted();
    const same = existing.find(({ values }) => String(listIn(values['lagg_interfaces'])) === String(wanted));
    if (same !== undefined) return { ...aggregate, name: same.key };
    while (taken.has(`lagg${number}`)) number += 1;
    taken.add(`lagg${number}`);
    return { ...aggregate, name: `lagg${number}` };
  });
}

const listIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String).toSorted() : []);

function unmade({ oldName, members }: Aggregate, { interfaces, nics }: Here): Stay | undefined {
  const other = interfaces.get(oldName);
  if (other !== undefined)
    return stay(`The aggregate ${oldName} is not made: ${other} was chosen for its addresses.`, 'Nothing.');
  if (members.length === 0) return stay(`The aggregate ${oldName} has no members.`, 'Make it by hand.');
  const open = members.filter(({ name }) => name === '').map((one) => one.old);
  return open.length === 0
    ? undefined
    : stay(
        `The aggregate ${oldName} has the members ${members.map((one) => one.old).join(', ')}. Not chosen yet: ${open.join(', ')}.`,
        `Migrate again with ${open.map((one) => `--interface ${one}=NAME`).join(' ')}. Here there is ${shownNics(nics)}.`,
      );
}

/** The name of a VLAN here: its own, if it has the usual form. */
export function vlanNameOf(row: Row): string {
  const number = /^vlan0*(\d+)$/.exec(row.text('vlan_vint'))?.[1];
  return `vlan${number ?? row.text('vlan_tag')}`;
}

/** The name of an interface of the old appliance here, or why it has none. */
export function nameHere(name: string, target: Omit<Target, 'keyOf'>): string | Stay {
  const chosen = target.interfaces.get(name);
  if (chosen !== undefined) return chosen;
  const aggregates = aggregatesOf(target);
  const aggregate = aggregates.find(({ oldName }) => oldName === name);
  if (aggregate !== undefined) return aggregate.name;
  const vlan = target.old.rows('network_vlan').find((row) => row.text('vlan_vint') === name);
  if (vlan !== undefined) {
    const parent = vlan.text('vlan_pint');
    // A database made by hand may have a VLAN on itself.
    const here =
      parent === name || target.old.rows('network_vlan').some((row) => row.text('vlan_vint') === parent)
        ? stay(`The VLAN ${name} is on the VLAN ${parent}, which does not exist here.`, 'Make it by hand.')
        : nameHere(parent, target);
    return isStay(here) ? stay(`The VLAN ${name} is on ${parent}. ${here.reason}`, here.remedy) : vlanNameOf(vlan);
  }
  if (/^bridge\d/.test(name))
    return stay(
      `${name} is a bridge, which Holdfast does not make. Jails and virtual machines of the old appliance used it.`,
      `To give its addresses to an interface, migrate again with --interface ${name}=NAME.`,
    );
  if (isLogical(name)) return stay(`${name} has neither members nor a parent in the database.`, 'Make it by hand.');
  const { mac, proposed, why } = oldInterfaces(target.old, target.nics).find((one) => one.name === name) ?? {
    ...{ mac: '', proposed: '', why: '' },
  };
  const address = mac === '' ? '' : ` (${mac})`;
  return stay(
    `The interface ${name}${address} has no counterpart yet.`,
    `Migrate again with --interface ${name}=${proposed || 'NAME'}. ${proposed === '' ? '' : `${why} `}Here there is ${shownNics(target.nics)}.`,
  );
}

function shownNics(nics: readonly Link[]): string {
  const shown = nics.map(({ name, mac, carrier, addresses }) => {
    const link = carrier === undefined ? [] : [carrier ? 'link' : 'no link'];
    return `${name} (${[...(mac === undefined ? [] : [mac]), ...link, ...addresses].join(', ') || 'nothing is known'})`;
  });
  return shown.join(', ') || 'none';
}
