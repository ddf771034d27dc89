import { ask } from '../expect.ts';
import { each, flag, integer, maybe, oneOf, oneOfOrUnset, text } from '../kinds.ts';
import { type Area, collection, singleton } from '../resource.ts';
import type { World } from '../world.ts';

/** Jails lie in a dataset, which is made once. */
async function jailsFolder(world: World): Promise<string> {
  const place = `storage/volume/${world.target.volume}/datasets/`;
  if ((await world.api.get(`${place}jails/`)).status === 404) await ask(world, 201, 'POST', place, { name: 'jails' });
  return world.folder('jails');
}

/** A jail for what needs one. */
async function jail(world: World): Promise<string> {
  const jail_host = world.name('jail');
  await ask(world, 201, 'POST', 'jails/jails/', { jail_host });
  return jail_host;
}

const configuration = singleton('jails/configuration', {
  record: {
    jc_collectionurl: text,
    jc_path: text,
    ...each(
      maybe(text),
      'jc_ipv4_network',
      'jc_ipv4_network_start',
      'jc_ipv4_network_end',
      'jc_ipv6_network',
      'jc_ipv6_network_start',
      'jc_ipv6_network_end',
    ),
  },
  change: async (world) => ({ jc_path: await jailsFolder(world), jc_ipv4_network: '198.51.100.0/24' }),
});

const jails = collection('jails/jails', {
  record: {
    ...each(
      text,
      'jail_host',
      'jail_type',
      'jail_status',
      'jail_flags',
      'jail_mac',
      'jail_ipv6_prefix',
      'jail_bridge_ipv6_prefix',
    ),
    ...each(flag, 'jail_autostart', 'jail_nat', 'jail_vnet'),
    jail_ipv4_netmask: oneOfOrUnset('8', '16', '24', '32'),
    jail_bridge_ipv4_netmask: oneOfOrUnset('8', '16', '24', '32'),
    ...each(
      maybe(text),
      'jail_ipv4',
      'jail_ipv6',
      'jail_alias_ipv4',
      'jail_alias_ipv6',
      'jail_bridge_ipv4',
      'jail_bridge_ipv6',
    ),
    ...each(
      maybe(text),
      'jail_alias_bridge_ipv4',
      'jail_alias_bridge_ipv6',
      'jail_defaultrouter_ipv4',
      'jail_defaultrouter_ipv6',
    ),
  },
  create: async (world) => {
    await ask(world, 200, 'PUT', 'jails/configuration/', {
      jc_path: await jailsFolder(world),
      jc_ipv4_network: '198.51.100.0/24',
    });
    return { jail_host: world.name('jail') };
  },
  choices: {
    along: { jail_bridge_ipv4_netmask: (_, world) => ({ jail_bridge_ipv4: `203.0.113.${world.next() % 250}` }) },
  },
  actions: [
    { method: 'POST', segment: 'stop', status: 202, answers: 'Jail stopped.', leaves: { jail_status: 'Stopped' } },
    { method: 'POST', segment: 'start', status: 202, answers: 'Jail started.', leaves: { jail_status: 'Running' } },
    { method: 'POST', segment: 'restart', status: 202, answers: 'Jail restarted.', leaves: { jail_status: 'Running' } },
  ],
});

const mountpoints = collection('jails/mountpoints', {
  record: { ...each(text, 'jail', 'source', 'destination'), ...each(flag, 'mounted', 'readonly') },
  create: async (world) => {
    await ask(world, 200, 'PUT', 'jails/configuration/', {
      jc_path: await jailsFolder(world),
      jc_ipv4_network: '198.51.100.0/24',
    });
    return {
      jail: await jail(world),
      source: world.folder('jails'),
      destination: `/media/${world.name('mount')}`,
      mounted: true,
      readonly: false,
    };
  },
  change: () => ({ readonly: true }),
});

const templates = collection('jails/templates', {
  // The document writes the first system as <BSD_OS_NAME>.
  record: {
    jt_name: text,
    jt_os: oneOf('FreeBSD', 'Linux'),
    jt_arch: oneOf('x64', 'x86'),
    jt_url: text,
    jt_instances: integer,
  },
  create: (world) => ({
    jt_name: world.name('template'),
    jt_os: 'Linux',
    jt_arch: 'x64',
    jt_url: 'https://templates.example.com/template.tar.xz',
  }),
  change: () => ({ jt_url: 'https://templates.example.com/newer.tar.xz' }),
});

export const jailsArea: Area = { name: 'jails', resources: [configuration, templates, jails, mountpoints] };
