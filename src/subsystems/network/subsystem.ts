import { networkSettings } from '../../areas/network/globalconfiguration.ts';
import { networkInterface } from '../../areas/network/interface.ts';
import { lagg } from '../../areas/network/lagg.ts';
import { laggMember } from '../../areas/network/lagginterfacemembers.ts';
import { staticRoute } from '../../areas/network/staticroute.ts';
import { vlan } from '../../areas/network/vlan.ts';
import { lateUnits } from '../../areas/services/index.ts';
import type { DesiredFile, DesiredLink, Subsystem } from '../../engine/declare/subsystem.ts';
import { type Network, showNetwork } from '../../lib/ip.ts';
import { words } from '../../lib/text.ts';
import { networkAdoption } from './adopt.ts';
import { type LinkPlan, notApplied, planLinks } from './links.ts';
import { netwaitDropIn, netwaitUnit, waitOnlineDropIn } from './netwait.ts';
import { filePrefix, netdevFile, netdevPath, networkFile, networkPath } from './networkd-files.ts';

export const networkSubsystem: Subsystem = {
  name: 'network',
  description: 'systemd-networkd configures the interfaces that have a record, and makes VLANs and aggregates.',
  reads: [networkSettings, networkInterface, vlan, lagg, laggMember, staticRoute],
  adopts: networkAdoption,
  services: ['systemd-networkd'],
  uses: ['network'],
  render(view, facts) {
    const { links } = planLinks(view);
    const present = presentLinks(links, new Set(facts.network.links.map(({ name }) => name)));
    const settings = view.only(networkSettings);
    const gateways = [settings.gc_ipv4gateway, settings.gc_ipv6gateway].filter((gateway) => gateway !== '');
    const waitFor = settings.gc_netwait_ip === '' ? gateways : words(settings.gc_netwait_ip);
    const waits = settings.gc_netwait_enabled && waitFor.length > 0;
    return {
      files: [
        ...links.flatMap(filesOf),
        {
          path: '/etc/systemd/system/holdfast-netwait.service',
          content: waits ? netwaitUnit(waitFor, lateUnits) : undefined,
          forServiceManager: true,
        },
        {
          path: '/etc/systemd/system/multi-user.target.d/holdfast-netwait.conf',
          content: waits ? netwaitDropIn : undefined,
          forServiceManager: true,
        },
        {
          path: '/etc/systemd/system/systemd-networkd-wait-online.service.d/holdfast.conf',
          content: waitOnlineDropIn,
          forServiceManager: true,
        },
      ],
      owns: [filePrefix],
      // networkd runs without records too; it does not touch links that have no file.
      services: [{ name: 'systemd-networkd', running: true, onChange: 'nothing' }],
      links: links.filter(({ name }) => present.has(name)).map(goalOf),
    };
  },
  problems(view, { network }) {
    const { links, problems } = planLinks(view);
    const present = presentLinks(links, new Set(network.links.map(({ name }) => name)));
    const absent = links.filter(({ name }) => !present.has(name));
    return [
      ...problems,
      ...absent.map(({ name }) => notApplied(networkInterface.path, `This machine has no interface ${name}.`)),
    ];
  },
};

function filesOf(plan: LinkPlan): readonly DesiredFile[] {
  const device = netdevFile(plan);
  return [
    ...(device === undefined ? [] : [{ path: netdevPath(plan.name), content: device }]),
    { path: networkPath(plan.name), content: networkFile(plan) },
  ];
}

function goalOf({ name, device, options, addresses, vlans, member, routes }: LinkPlan): DesiredLink {
  const isUp = options.up !== false;
  return {
    name,
    // When a device is recreated, the links that are attached to it have to be configured again.
    files: [
      networkPath(name),
      ...[...(device.kind === 'plugged' ? [] : [name]), ...vlans, ...(member === undefined ? [] : [member.of])].map(
        netdevPath,
      ),
    ],
    // A link that is down gets its addresses and routes when it is up again.
    master: member?.carries ? member.of : undefined,
    addresses: isUp ? addresses.map(showNetwork) : [],
    routes: isUp
      ? routes
          .filter(({ within }) => within)
          .map(({ destination, gateway }) => ({ destination: destinationText(destination, gateway), gateway }))
      : [],
    ...(device.kind === 'plugged' ? { medium: options.medium ?? 'auto' } : {}),
  };
}

function destinationText(destination: Network | undefined, gateway: string): string {
  if (destination !== undefined) return showNetwork(destination);
  return gateway.includes(':') ? '::/0' : '0.0.0.0/0';
}

/** The names of the links that can exist now: present interfaces, aggregates, and the VLANs on those. */
function presentLinks(links: readonly LinkPlan[], there: ReadonlySet<string>): ReadonlySet<string> {
  const present = new Set(
    links
      .filter(({ name, device }) => device.kind === 'bond' || (device.kind === 'plugged' && there.has(name)))
      .map(({ name }) => name),
  );
  for (const { name, vlans } of links) if (present.has(name)) for (const vlan of vlans) present.add(vlan);
  return present;
}
