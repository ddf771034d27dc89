/** Decides which VLANs and aggregates that were made by hand Holdfast can make, and under which names. */
import { networkInterface } from '../../areas/network/interface.ts';
import { lagg } from '../../areas/network/lagg.ts';
import { laggMember } from '../../areas/network/lagginterfacemembers.ts';
import { plugged } from '../../areas/network/nics.ts';
import { vlan } from '../../areas/network/vlan.ts';
import type { ProposedRecord } from '../../engine/declare/proposal.ts';
import type { View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { FoundDevice, FoundLink } from './found-network.ts';

/** The protocol of each mode that Holdfast has. */
const protocols: Readonly<Record<string, string>> = {
  '802.3ad': 'lacp',
  'active-backup': 'failover',
  'balance-rr': 'roundrobin',
  'balance-xor': 'loadbalance',
};

export interface FoundDevices {
  /** The name in Holdfast of a link that was found. */
  nameOf(found: string): string;
  /** Why a link is left as it is; undefined if it is carried. */
  refusalOf(found: string): string | undefined;
  /** The aggregate or bridge that a link is a part of. */
  masterOf(found: string): string | undefined;
  /** The records that make the device of a link. */
  recordsOf(link: FoundLink): readonly ProposedRecord[];
}

type Of<Kind extends FoundDevice['kind']> = FoundLink & { readonly device: FoundDevice & { readonly kind: Kind } };

const isOf =
  <Kind extends FoundDevice['kind']>(kind: Kind) =>
  (link: FoundLink): link is Of<Kind> =>
    link.device?.kind === kind;

export function foundDevices(
  links: readonly FoundLink[],
  { facts, view }: { readonly facts: Facts; readonly view: View },
): FoundDevices {
  const byName = new Map(links.toReversed().map((link) => [link.name, link]));
  const bonds = links.filter(isOf('bond'));
  const vlans = links.filter(isOf('vlan'));
  const masters = new Map(
    [...bonds, ...links.filter(isOf('bridge'))].flatMap(({ name, device }) =>
      device.members.map((member) => [member, name] as const),
    ),
  );
  const nics = new Set(plugged(facts).map(({ name }) => name));
  const refusals = new Map<string, string>();
  const refuse = (name: string, why: string | undefined) => {
    if (why === undefined || refusals.has(name)) return false;
    refusals.set(name, why);
    return true;
  };
  for (const { name, refusal } of links) refuse(name, refusal);
  for (const { name } of links.filter(isOf('bridge'))) refuse(name, 'Holdfast makes no bridges.');
  for (const bond of bonds) refuse(bond.name, unmadeBond(bond));
  for (const [index, one] of vlans.entries()) refuse(one.name, unmadeVlan(one, vlans.slice(0, index)));
  for (const { name, device } of links)
    if (device !== undefined && masters.has(name)) refuse(name, `It is part of ${masters.get(name)}.`);
  // A link that is left alone keeps others from being carried that need it.
  for (let isSettled = false; !isSettled; ) {
    const more = [
      ...vlans.map(({ name, device: { parent } }) =>
        refuse(
          name,
          refusals.has(parent)
            ? `It is on ${parent}, which is not carried.`
            : masters.has(parent)
              ? `It is on ${parent}, which is part of ${masters.get(parent)}.`
              : undefined,
        ),
      ),
      ...links.map(({ name, vlans: attached }) => {
        const left = attached.find((one) => refusals.has(one) || byName.get(one)?.device?.kind !== 'vlan');
        return refuse(name, left === undefined ? undefined : `Its file attaches ${left}, which is not carried.`);
      }),
    ];
    isSettled = !more.includes(true);
  }
  const names = namesOfBonds();
  for (const { name, device } of vlans) if (!refusals.has(name)) names.set(name, vlanNameFor(name, device.tag));

  function unmadeBond({ name, device: { mode, members } }: Of<'bond'>): string | undefined {
    if (protocols[mode] === undefined) return `Holdfast has no aggregate that works as ${mode} does.`;
    if (members.length === 0) return 'It has no members.';
    for (const member of members) {
      const found = byName.get(member);
      if (!nics.has(member) || found?.device !== undefined)
        return `Its member ${member} is no interface of hardware here.`;
      if (masters.get(member) !== name) return `Its member ${member} is part of ${masters.get(member)} too.`;
      if (found !== undefined && (found.addresses.length > 0 || found.dhcp))
        return `Its member ${member} has addresses of its own.`;
      if (view.find(networkInterface, 'int_interface', member) !== undefined)
        return `Its member ${member} has a record in Holdfast.`;
    }
    return undefined;
  }

  function unmadeVlan({ name, device: { parent, tag } }: Of<'vlan'>, earlier: readonly Of<'vlan'>[]) {
    if (!(tag >= 1 && tag <= 4094)) return 'Its tag is not one from 1 to 4094.';
    const under = byName.get(parent)?.device?.kind;
    if (under === 'vlan')
      return `It is on the VLAN ${parent}, and Holdfast has VLANs on interfaces and aggregates only.`;
    if (parent === '') return 'No file says which interface it is on.';
    if (under === undefined && !nics.has(parent)) return `This machine has no interface ${parent} now.`;
    const same = earlier.find(
      (one) => one.device.tag === tag || vlanNameFor(one.name, one.device.tag) === vlanNameFor(name, tag),
    );
    if (same !== undefined)
      return `It has the tag or the name of ${same.name}; in Holdfast, each tag is on one interface.`;
    const known = view.find(vlan, 'vlan_tag', tag);
    return known === undefined || known.vlan_vint === vlanNameFor(name, tag)
      ? undefined
      : `${known.vlan_vint} has the tag ${tag} in Holdfast.`;
  }

  /** Holdfast gives the first free numbers, in the order of the file. */
  function namesOfBonds(): Map<string, string> {
    const given = new Map<string, string>();
    const carried = bonds.filter(({ name }) => !refusals.has(name));
    const existing = view.all(lagg);
    const taken = new Set([
      ...existing.map(({ lagg_interface }) => lagg_interface),
      ...facts.network.links.map(({ name }) => name).filter((name) => !carried.some((bond) => bond.name === name)),
    ]);
    let number = 0;
    for (const { name, device } of carried) {
      const same = existing.find(({ id }) => String(membersOf(id)) === String(device.members.toSorted()));
      while (taken.has(`lagg${number}`)) number += 1;
      given.set(name, same?.lagg_interface ?? `lagg${number}`);
      taken.add(`lagg${number}`);
    }
    return given;
  }

  function membersOf(id: number): readonly string[] {
    return view
      .all(laggMember)
      .filter(({ lagg_interfacegroup }) => lagg_interfacegroup === id)
      .map(({ lagg_physnic }) => lagg_physnic)
      .toSorted();
  }

  const nameOf = (found: string) => names.get(found) ?? found;
  return {
    nameOf,
    refusalOf: (found) => refusals.get(found),
    masterOf: (found) => masters.get(found),
    recordsOf({ name, device, file, line, options }) {
      if (device?.kind === 'vlan')
        return [
          {
            ...{ resource: vlan.path, file, line },
            values: {
              ...{ vlan_vint: nameOf(name), vlan_pint: nameOf(device.parent), vlan_tag: device.tag },
              ...(device.priority !== undefined && { vlan_pcp: device.priority }),
            },
          },
        ];
      if (device?.kind !== 'bond') return [];
      const mtu = options.find((option) => option.startsWith('mtu '));
      return [
        {
          ...{ resource: lagg.path, file, line },
          values: {
            ...{ lagg_interface: nameOf(name), lagg_protocol: protocols[device.mode] },
            lagg_interfaces: device.members,
          },
        },
        // The size of packets belongs to the members.
        ...(mtu === undefined ? [] : device.members).map((member, position) => ({
          ...{ resource: laggMember.path, file, line },
          values: {
            ...{ lagg_interfacegroup: nameOf(name), lagg_ordernum: position, lagg_physnic: member },
            lagg_deviceoptions: mtu,
          },
        })),
      ];
    },
  };
}

/** vlan7 stays vlan7; others are called by their tag. */
function vlanNameFor(name: string, tag: number): string {
  return `vlan${/^vlan0*(\d+)$/.exec(name)?.[1] ?? tag}`;
}
