import { flag, nullable, readOnly, refine, required, text } from '../../engine/declare/fields.ts';
import { addressOf, ipAddress } from '../../engine/declare/formats.ts';
import { singleton, type View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import { contains, isLinkLocal, parseIp, parseNetwork, showIp } from '../../lib/ip.ts';
import { quote, words } from '../../lib/text.ts';
import { cifsSettings } from '../services/cifs.ts';
import { interfaceTowards, networkInterface } from './interface.ts';

const domainName = /^[A-Za-z0-9._-]+$/;
const hostName = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

export const networkSettings = singleton('network/globalconfiguration', {
  title: 'global network configuration',
  description: 'Names, gateways and name servers of the machine.',
  shows: ['network'],
  fields: {
    gc_hostname: required(
      refine(
        text({
          description: 'Name of the machine.',
          max: 120,
          pattern: hostName,
          rule: 'A host name has letters, digits, dots and hyphens, and begins and ends with a letter or a digit.',
        }),
        (name) => (name.length > 64 ? 'Linux names a machine by at most 64 characters.' : undefined),
      ),
    ),
    gc_domain: required(
      text({
        description: 'Domain of the machine.',
        max: 120,
        pattern: domainName,
        rule: 'A domain has letters, digits and . - _ only.',
      }),
    ),
    gc_domains: refine(
      text({ description: 'Up to five further domains in which names are looked for, separated by blanks.', max: 600 }),
      (value) => {
        const invalid = words(value).find((word) => !domainName.test(word));
        if (invalid !== undefined) return `${quote(invalid)} is no domain.`;
        return words(value).length > 5 ? 'At most five further domains are looked through.' : undefined;
      },
    ),
    gc_hostname_virtual: readOnly(
      nullable(text({ description: 'Name of a pair of machines. This is a single one, so it is always null.' })),
    ),
    gc_ipv4gateway: addressOf(4, { description: 'Machine through which everything else is reached by IPv4.' }),
    gc_ipv6gateway: addressOf(6, {
      description:
        'Machine through which everything else is reached by IPv6; fe80 addresses name the interface, as fe80::1%em0.',
      zone: true,
    }),
    gc_nameserver1: nameServer('First name server.'),
    gc_nameserver2: nameServer('Second name server.'),
    gc_nameserver3: nameServer('Third name server.'),
    gc_netwait_enabled: flag(false, {
      description: 'Whether services start only after one of gc_netwait_ip answers, or after a minute.',
    }),
    gc_netwait_ip: refine(
      text({
        description: 'Addresses of which one has to answer, separated by blanks; the gateways when empty.',
        max: 300,
      }),
      (value) => {
        const invalid = words(value).find((word) => parseIp(word) === undefined);
        return invalid === undefined ? undefined : `${quote(invalid)} is no IP address.`;
      },
    ),
    gc_hosts: text({
      description: 'Lines that are added to the table of hosts: an address, then names.',
      max: 65_536,
      multiline: true,
    }),
    gc_httpproxy: text({
      description: 'HTTP proxy as host:port.',
      max: 255,
      pattern: /^(https?:\/\/)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:\d{1,5})?\/?$/,
      rule: 'A proxy is written host:port, perhaps after http://. A name and a password have no place in it: every program of the machine could read them.',
    }),
  },
  // What the machine has by other hands is kept when Holdfast comes. Without systemd-resolved its name servers stay where they are.
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
  check({ record, before, view, facts, issues }) {
    const servers = [record.gc_nameserver1, record.gc_nameserver2, record.gc_nameserver3];
    if (servers[1] !== '' && servers[0] === '') issues.add('gc_nameserver2', 'A second name server needs a first.');
    if (servers[2] !== '' && (servers[0] === '' || servers[1] === ''))
      issues.add('gc_nameserver3', 'A third name server needs a first and a second.');
    if (
      record.gc_ipv4gateway !== '' &&
      record.gc_ipv4gateway !== before?.gc_ipv4gateway &&
      !isReachable(record.gc_ipv4gateway, view, facts)
    )
      issues.add(
        'gc_ipv4gateway',
        `${record.gc_ipv4gateway} is not reachable: no interface that has a record has an address in its network.`,
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
        issues.add(name, `${record[name]} is an address of this machine itself, on ${own.int_interface}.`);
    }
    const zone = /%(.*)$/.exec(record.gc_ipv6gateway)?.[1];
    if (
      zone !== undefined &&
      record.gc_ipv6gateway !== before?.gc_ipv6gateway &&
      view.find(networkInterface, 'int_interface', zone) === undefined
    )
      issues.add('gc_ipv6gateway', `No interface that has a record is called ${quote(zone)}.`);
  },
  // Windows clients know the machine by the same name (gaps 4.1).
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
    const unfit =
      ip.value === 0n ||
      text === '255.255.255.255' ||
      text === '::1' ||
      /^127\./.test(text) ||
      (ip.family === 4 && isLinkLocal(ip));
    return unfit ? `${value} cannot be the address of a name server.` : undefined;
  });
}

/** Whether an interface with a record has an address in the gateway's network, given to it or leased. */
function isReachable(gateway: string, view: View, { network }: Facts): boolean {
  if (interfaceTowards(gateway, view) !== undefined) return true;
  const ip = parseIp(gateway);
  return network.links.some(
    ({ name, addresses }) =>
      view.find(networkInterface, 'int_interface', name) !== undefined &&
      addresses.map(parseNetwork).some((one) => one !== undefined && ip !== undefined && contains(one, ip)),
  );
}
