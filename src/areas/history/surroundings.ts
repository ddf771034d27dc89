import type { World } from '../../engine/declare/resource.ts';
import { services } from '../services/index.ts';
import { isOn } from '../services/services.ts';
import type { SampledDisk, SampledPool, Surroundings } from './samples.ts';

/** Interfaces of virtual machines and jails come and go under new names. */
const passing = /^(veth|vnet|tap|fwbr)/;

/** A program asks this port for the others; that is no session. */
const portMapper = 111;

/** What is measured: the pools, disks, interfaces and services that the facts and the configuration have. */
export function surroundingsOf({ view, facts }: World): Surroundings {
  const { storage, network } = facts;
  const errors = new Map<string, number>();
  const pools = [...storage.pools.values()].map(({ name, groups }): SampledPool => {
    const root = storage.datasets.get(name);
    const devices = groups.flatMap((group) => group.devices);
    for (const { disk, errors: counts } of devices)
      errors.set(disk, (errors.get(disk) ?? 0) + counts.read + counts.write + counts.checksum);
    return {
      name,
      used: root?.used,
      size: root && root.used + root.available,
      disks: devices.map(({ disk }) => disk),
    };
  });
  return {
    pools,
    disks: facts.disks.map(
      ({ name, serial }): SampledDisk => ({ name, key: keyOf(name, serial), errors: errors.get(name) }),
    ),
    links: network.links.filter(({ name, kind }) => kind !== 'veth' && !passing.test(name)).map(({ name }) => name),
    services: services
      .filter((service) => isOn(view, service))
      .map((service) => ({ name: service.name, ports: tcpPorts(service.listens(view)) }))
      .filter(({ ports }) => ports.length > 0),
  };
}

export const keyOf = (name: string, serial: string): string => (serial === '' ? name : serial);

const tcpPorts = (listeners: readonly { readonly protocol: string; readonly port: number }[]): readonly number[] =>
  [...new Set(listeners.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port))].filter(
    (port) => port !== portMapper,
  );
