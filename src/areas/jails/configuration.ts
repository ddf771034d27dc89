import { invalid } from '../../engine/declare/errors.ts';
import { advanced, basic, flag, nullable, refine, text, titled } from '../../engine/declare/fields.ts';
import { volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { type RecordOf, type SentOf, singleton, type View } from '../../engine/declare/resource.ts';
import { contains, networkOf, parseIp, parseNetwork, showIp, showNetwork } from '../../lib/ip.ts';
import { quote } from '../../lib/text.ts';

const range = (family: 4 | 6, description: string) =>
  nullable(
    refine(text({ description, max: 49 }), (value) => {
      const ip = parseIp(value) ?? parseNetwork(value);
      return ip?.family === family
        ? undefined
        : `Expected an IPv${family} address, optionally with a prefix length such as /24, got ${quote(value)}.`;
    }),
  );

/** The host's bridge has no physical interface as a port, so broadcasts of a jail never leave the machine. */
export const noBroadcasts = (protocol: string) =>
  `${protocol} is not available in jails, because their broadcasts stay on this machine. Configure an address range, or an address for each jail.`;

const fields = {
  jc_path: volumePath({ description: 'Mount point of the dataset that holds jails and templates as child datasets.' }),
  jc_collectionurl: titled(
    'Address of the templates',
    refine(
      text({
        description:
          'URL or folder of an index of ready-made jails. Stored without effect: each template has the URL of its archive.',
        max: 255,
      }),
      (value) =>
        value === '' || /^(https?|ftp):\/\/[^\s/]+/.test(value) || value.startsWith('/')
          ? undefined
          : `Expected an http, https or ftp URL or an absolute path, got ${quote(value)}.`,
    ),
  ),
  ...basic('Addresses', {
    jc_ipv4_network: titled('IPv4 network', range(4, 'Network from which jails get IPv4 addresses.')),
    jc_ipv4_network_start: titled('First IPv4 address', range(4, 'First address of the range.')),
    jc_ipv4_network_end: titled('Last IPv4 address', range(4, 'Last address of the range.')),
    jc_ipv6_network: titled('IPv6 network', range(6, 'Network from which jails get IPv6 addresses.')),
    jc_ipv6_network_start: titled('First IPv6 address', range(6, 'First address of the range.')),
    jc_ipv6_network_end: titled('Last IPv6 address', range(6, 'Last address of the range.')),
  }),
  ...advanced('Addresses', {
    // Beyond the document's list (gaps 2.1).
    jc_ipv4_dhcp: titled(
      'IPv4 by DHCP',
      refine(
        flag(false, {
          description: 'Whether new jails get their IPv4 address by DHCP; not supported, only false is accepted.',
        }),
        (on) => (on ? noBroadcasts('DHCP') : undefined),
      ),
    ),
    jc_ipv6_autoconf: titled(
      'IPv6 by autoconfiguration',
      refine(
        flag(false, {
          description:
            'Whether new jails configure their IPv6 address by router advertisements; not supported, only false is accepted.',
        }),
        (on) => (on ? noBroadcasts('IPv6 autoconfiguration') : undefined),
      ),
    ),
  }),
};

export type JailSettings = RecordOf<typeof fields>;

export const jailSettings = singleton('jails/configuration', {
  shortName: 'jail/settings',
  title: 'jail configuration',
  description: 'Where jails are stored, and which addresses they get.',
  ofMachine: true,
  fields,
  async beforehand(sent: SentOf<typeof fields>, operations) {
    const path = sent.jc_collectionurl ?? '';
    if (!path.startsWith('/')) return {};
    const kind = await operations.ask(`look for ${path}`, ({ files }) => files.kind(path));
    if (kind === undefined) throw invalid({ jc_collectionurl: [`The path ${quote(path)} does not exist.`] });
    return {};
  },
  complete: ({ record }) => ({ ...withBits(record, 4), ...withBits(record, 6) }),
  check({ record, before, facts, issues }) {
    const name = record.jc_path.slice(volumesFolder.length + 1);
    const dataset = facts.storage.datasets.get(name);
    if (record.jc_path !== '' && record.jc_path !== before?.jc_path) {
      if (dataset?.mountpoint !== record.jc_path)
        issues.add(
          'jc_path',
          `No dataset is mounted at ${quote(record.jc_path)}. Jails are datasets, so jc_path must be the mount point of a dataset.`,
        );
    }
    for (const family of [4, 6] as const) {
      const { network, start, end } = rangeOf(record, family);
      const at = <E extends '' | '_start' | '_end'>(which: E) => `jc_ipv${family}_network${which}` as const;
      const whole = parseNetwork(network ?? '');
      if (network !== null && whole === undefined)
        issues.add(at(''), 'Expected a network with its prefix length, such as 192.0.2.0/24 or 2001:db8::/64.');
      if (whole === undefined) continue;
      for (const [value, suffix] of [
        [start, '_start'],
        [end, '_end'],
      ] as const) {
        const ip = addressIn(value);
        if (ip !== undefined && !contains(whole, ip))
          issues.add(at(suffix), `${showIp(ip)} is not in the network ${showNetwork(networkOf(whole))}.`);
      }
      const [first, last] = [addressIn(start), addressIn(end)];
      if (first !== undefined && last !== undefined && first.value > last.value)
        issues.add(at('_end'), 'The last address of the range is before the first.');
    }
  },
});

/** The folder of the jails and the dataset mounted there; undefined while jc_path is not set. */
export function jailsPlace(view: View): { readonly folder: string; readonly dataset: string } | undefined {
  const { jc_path: folder } = view.only(jailSettings);
  return folder === '' ? undefined : { folder, dataset: folder.slice(volumesFolder.length + 1) };
}

export function rangeOf(record: JailSettings, family: 4 | 6) {
  return family === 4
    ? { network: record.jc_ipv4_network, start: record.jc_ipv4_network_start, end: record.jc_ipv4_network_end }
    : { network: record.jc_ipv6_network, start: record.jc_ipv6_network_start, end: record.jc_ipv6_network_end };
}

/** The address of `192.0.2.10` and of `192.0.2.10/24`. */
export function addressIn(text: string | null) {
  return text === null ? undefined : parseIp(text.split('/')[0] ?? '');
}

/** The first and last address are stored with the prefix length of their network (gaps 2.1). */
function withBits(record: JailSettings, family: 4 | 6): Partial<JailSettings> {
  const { network, start, end } = rangeOf(record, family);
  const whole = parseNetwork(network ?? '');
  const withPrefix = (value: string | null) => {
    const ip = addressIn(value);
    return ip !== undefined && whole !== undefined && contains(whole, ip) ? `${showIp(ip)}/${whole.bits}` : value;
  };
  return family === 4
    ? { jc_ipv4_network_start: withPrefix(start), jc_ipv4_network_end: withPrefix(end) }
    : { jc_ipv6_network_start: withPrefix(start), jc_ipv6_network_end: withPrefix(end) };
}
