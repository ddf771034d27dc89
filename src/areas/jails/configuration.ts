import { invalid } from '../../engine/declare/errors.ts';
import { flag, nullable, refine, text } from '../../engine/declare/fields.ts';
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
        : `${quote(value)} is no IPv${family} address, with or without the bits of its network behind a slash.`;
    }),
  );

/** The host's bridge joins no card, so nothing that a jail broadcasts leaves the machine, and no answer comes. */
export const noBroadcasts = (what: string) =>
  `${what} does not reach a jail: what jails broadcast stays in the machine. Give a range of addresses, or each jail its own.`;

const fields = {
  jc_path: volumePath({ description: 'Where a dataset is mounted; jails and templates become datasets in it.' }),
  jc_collectionurl: refine(
    text({
      description: 'Address or folder of an index of ready-made jails. Kept; templates name their archives themselves.',
      max: 255,
    }),
    (value) =>
      value === '' || /^(https?|ftp):\/\/[^\s/]+/.test(value) || value.startsWith('/')
        ? undefined
        : `${quote(value)} is neither an address by http, https or ftp nor an absolute path.`,
  ),
  jc_ipv4_network: range(4, 'Network that jails get their IPv4 addresses from.'),
  jc_ipv4_network_start: range(4, 'First of these addresses.'),
  jc_ipv4_network_end: range(4, 'Last of these addresses.'),
  jc_ipv6_network: range(6, 'Network that jails get their IPv6 addresses from.'),
  jc_ipv6_network_start: range(6, 'First of these addresses.'),
  jc_ipv6_network_end: range(6, 'Last of these addresses.'),
  // Beyond the document's list (gaps 2.1).
  jc_ipv4_dhcp: refine(
    flag(false, { description: 'Whether new jails ask for their IPv4 address by DHCP, which cannot be.' }),
    (on) => (on ? noBroadcasts('DHCP') : undefined),
  ),
  jc_ipv6_autoconf: refine(
    flag(false, {
      description: 'Whether new jails make up their IPv6 address from what routers say, which cannot be.',
    }),
    (on) => (on ? noBroadcasts('A router') : undefined),
  ),
};

export type JailSettings = RecordOf<typeof fields>;

export const jailSettings = singleton('jails/configuration', {
  title: 'jail configuration',
  description: 'Where jails are kept, and which addresses they get.',
  ofMachine: true,
  fields,
  async beforehand(sent: SentOf<typeof fields>, operations) {
    const place = sent.jc_collectionurl ?? '';
    if (!place.startsWith('/')) return {};
    let there = false;
    await operations.perform({
      title: `look for ${place}`,
      async perform({ files }) {
        there = (await files.kind(place)) !== undefined;
      },
    });
    if (!there) throw invalid({ jc_collectionurl: [`There is no ${quote(place)}.`] });
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
          `No dataset is mounted at ${quote(record.jc_path)}: jails are datasets, so one has to be there.`,
        );
    }
    for (const family of [4, 6] as const) {
      const { network, start, end } = rangeOf(record, family);
      const at = <E extends '' | '_start' | '_end'>(which: E) => `jc_ipv${family}_network${which}` as const;
      if (network === null && (start ?? end) !== null)
        issues.add(at(''), 'First and last address want the network that they lie in.');
      const whole = parseNetwork(network ?? '');
      if (network !== null && whole === undefined)
        issues.add(at(''), 'A network has the number of its bits behind a slash.');
      if (whole === undefined) continue;
      for (const [one, place] of [
        [start, '_start'],
        [end, '_end'],
      ] as const) {
        const ip = addressIn(one);
        if (ip !== undefined && !contains(whole, ip))
          issues.add(at(place), `${showIp(ip)} does not lie in ${showNetwork(networkOf(whole))}.`);
      }
      const [first, last] = [addressIn(start), addressIn(end)];
      if (first !== undefined && last !== undefined && first.value > last.value)
        issues.add(at('_end'), 'The last address lies before the first.');
    }
  },
});

/** The folder of the jails, and the dataset that is mounted there; undefined while none is chosen. */
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

/** First and last address are kept with the bits of the network that they lie in (gaps 2.1). */
function withBits(record: JailSettings, family: 4 | 6): Partial<JailSettings> {
  const { network, start, end } = rangeOf(record, family);
  const whole = parseNetwork(network ?? '');
  const lengthened = (one: string | null) => {
    const ip = addressIn(one);
    return ip !== undefined && whole !== undefined && contains(whole, ip) ? `${showIp(ip)}/${whole.bits}` : one;
  };
  return family === 4
    ? { jc_ipv4_network_start: lengthened(start), jc_ipv4_network_end: lengthened(end) }
    : { jc_ipv6_network_start: lengthened(start), jc_ipv6_network_end: lengthened(end) };
}
