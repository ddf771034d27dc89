import { advanced, basic, flag, live, nullable, refine, required, text, titled } from '../../engine/declare/fields.ts';
import { addressOf, ipAddress } from '../../engine/declare/formats.ts';
import { singleton, type View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { contains, isLinkLocal, parseIp, parseNetwork, showIp } from '../../lib/ip.ts';
import { quote, words } from '../../lib/text.ts';
import { clusterSettingsOf } from '../cluster/settings.ts';
import { cifsSettings } from '../services/cifs.ts';
import { interfaceTowards, networkInterface } from './interface.ts';

const domainName = /^[A-Za-z0-9._-]+$/;
const hostName = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

export const networkSettings = singleton('network/globalconfiguration', {
  ofNode: true,
  shortName: 'network',
  title: 'global network configuration',
  description: 'Host name, domain, gateways and name servers of the machine.',
  shows: ['network'],
  fields: {
    ...basic('Names', {
      gc_hostname: titled(
        'Host name',
        required(
          refine(
            text({
              description: 'Host name of the machine.',
              max: 120,
              pattern: hostName,
              rule: 'Expected letters, digits, dots and hyphens, with a letter or a digit at the beginning and the end.',
            }),
            (name) => (name.length > 64 ? 'Expected at most 64 characters, the limit of Linux.' : undefined),
          ),
        ),
      ),
      gc_domain: required(
        text({
          description: 'DNS domain of the machine.',
          max: 120,
          pattern: domainName,
          rule: 'Expected letters, digits and . - _ only.',
        }),
      ),
      gc_domains: titled(
        'Search domains',
        refine(
          text({ description: 'Up to five additional search domains, separated by spaces.', max: 600 }),
          (value) => {
            const invalid = words(value).find((domain) => !domainName.test(domain));
            if (invalid !== undefined) return `Expected a domain, got ${quote(invalid)}.`;
            const count = words(value).length;
            return count > 5 ? `Expected at most five search domains, got ${count}.` : undefined;
          },
        ),
      ),
    }),
    gc_hostname_virtual: titled(
      'Virtual host name',
      live(
        nullable(
          text({
            description:
              'Shared host name of a pair of machines, which PUT /api/holdfast/v1/cluster sets; null without one.',
          }),
        ),
      ),
    ),
    ...basic('Routes', {
      gc_ipv4gateway: titled('IPv4 gateway', addressOf(4, { description: 'Default gateway for IPv4.' })),
      gc_ipv6gateway: titled(
        'IPv6 gateway',
        addressOf(6, {
          description: 'Default gateway for IPv6. A link-local address requires the interface, as fe80::1%em0.',
          zone: true,
        }),
      ),
    }),
    ...basic('Name servers', {
      gc_nameserver1: titled('First name server', nameServer('First name server.')),
      gc_nameserver2: titled('Second name server', nameServer('Second name server.')),
      gc_nameserver3: titled('Third name server', nameServer('Third name server.')),
    }),
    ...advanced('Start', {
      gc_netwait_enabled: titled(
        'Wait for the network',
        flag(false, {
          description: 'Whether services start only when one of gc_netwait_ip answers, or after one minute.',
        }),
      ),
      gc_netwait_ip: titled(
        'Addresses to wait for',
        refine(
          text({
            description: 'Addresses to wait for, separated by spaces; the gateways when empty. One answer is enough.',
            max: 300,
          }),
          (value) => {
            const invalid = words(value).find((address) => parseIp(address) === undefined);
            return invalid === undefined ? undefined : `Expected an IP address, got ${quote(invalid)}.`;
          },
        ),
      ),
    }),
    ...advanced('Names', {
      gc_hosts: titled(
        'Hosts file',
        text({
          description: 'Additional lines of /etc/hosts: an address, then names.',
          max: 65_536,
          multiline: true,
        }),
      ),
    }),
    ...advanced('Proxy', {
      gc_httpproxy: titled(
        'HTTP proxy',
        text({
          description: 'HTTP proxy as host:port.',
          max: 255,
          pattern: /^(https?:\/\/)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:\d{1,5})?\/?$/,
          rule: 'Expected host:port, optionally after http://. A user name and a password are not supported: every program of the machine could read them.',
        }),
      ),
    }),
  },
  // The network settings of the machine are taken over at installation. Its name servers are taken over only from
  // systemd-resolved; without it, Holdfast does not change them.
  seed({ network, services }) {
    const [gc_nameserver1 = '', gc_nameserver2 = '', gc_nameserver3 = ''] =
      services.get('systemd-resolved')?.installed === true ? network.nameServers : [];
    const gc_hostname = hostName.test(network.hostname) ? network.hostname : 'nas';
    return {
      gc_hostname,
      gc_domain: domainName.test(network.domain) ? network.domain : 'local',
      gc_hosts: network.hosts,
      gc_nameserver1,
      gc_nameserver2,
      gc_nameserver3,
    };
  },
  present: (_, { view }) => ({ gc_hostname_virtual: clusterSettingsOf(view).name || null }),
  check({ record, before, view, facts, issues }) {
    const servers = [record.gc_nameserver1, record.gc_nameserver2, record.gc_nameserver3];
    if (servers[1] !== '' && servers[0] === '') issues.add('gc_nameserver2', 'gc_nameserver2 requires gc_nameserver1.');
    if (servers[2] !== '' && (servers[0] === '' || servers[1] === ''))
      issues.add('gc_nameserver3', 'gc_nameserver3 requires gc_nameserver1 and gc_nameserver2.');
    if (
      record.gc_ipv4gateway !== '' &&
      record.gc_ipv4gateway !== before?.gc_ipv4gateway &&
      !isReachable(record.gc_ipv4gateway, view, facts)
    )
      issues.add(
        'gc_ipv4gateway',
        `${record.gc_ipv4gateway} is not reachable: no configured interface has an address in its network.`,
      );
    for (const name of ['gc_ipv4gateway', 'gc_ipv6gateway'] as const) {
      const own =
        record[name] === ''
          ? undefined
          : view.find(
              networkInterface,
              name === 'gc_ipv4gateway' ? 'int_ipv4address' : 'int_ipv6address',
              record[name],
            );
      if (own !== undefined)
        issues.add(
          name,
          `Expected the address of another machine, got ${record[name]}, which belongs to ${own.int_interface}.`,
        );
    }
    const zone = /%(.*)$/.exec(record.gc_ipv6gateway)?.[1];
    if (
      zone !== undefined &&
      record.gc_ipv6gateway !== before?.gc_ipv6gateway &&
      view.find(networkInterface, 'int_interface', zone) === undefined
    )
      issues.add('gc_ipv6gateway', `Expected a configured interface after the %, got ${quote(zone)}.`);
  },
  // The NetBIOS name of the machine follows its host name (gaps 4.1).
  onSave({ draft, record, before }) {
    if (before === undefined || before.gc_hostname === record.gc_hostname || !draft.issues.isEmpty) return;
    const [first = record.gc_hostname] = record.gc_hostname.split('.');
    draft.update(cifsSettings, 1, { cifs_srv_netbiosname: first.slice(0, 15) });
  },
});

function nameServer(description: string) {
  return refine(ipAddress({ description }), (value) => {
    const ip = parseIp(value);
    if (ip === undefined) return undefined;
    const text = showIp(ip);
    const isUnusable =
      ip.value === 0n ||
      text === '255.255.255.255' ||
      text === '::1' ||
      /^127\./.test(text) ||
      (ip.family === 4 && isLinkLocal(ip));
    return isUnusable ? `Expected the address of a name server, got ${value}.` : undefined;
  });
}

/** Whether a configured interface has a static or leased address in the network of the gateway. */
function isReachable(gateway: string, view: View, { network }: Facts): boolean {
  if (interfaceTowards(gateway, view) !== undefined) return true;
  const ip = parseIp(gateway);
  return network.links.some(
    ({ name, addresses }) =>
      view.find(networkInterface, 'int_interface', name) !== undefined &&
      addresses.map(parseNetwork).some((own) => own !== undefined && ip !== undefined && contains(own, ip)),
  );
}
