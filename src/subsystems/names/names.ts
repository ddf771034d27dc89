import type { networkSettings } from '../../areas/network/globalconfiguration.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof networkSettings.fields>;

/** `/etc/hosts`: the common entries, the machine's own names, and the lines of the configuration. */
export function hostsFile({ gc_hostname, gc_domain, gc_hosts }: Settings): string {
  const [first = gc_hostname] = gc_hostname.split('.');
  const own = first === gc_hostname ? `${gc_hostname}.${gc_domain} ${gc_hostname}` : `${gc_hostname} ${first}`;
  return lines(
    '# Written by Holdfast.',
    '127.0.0.1 localhost',
    `127.0.1.1 ${own}`,
    '::1 localhost ip6-localhost ip6-loopback',
    'ff02::1 ip6-allnodes',
    'ff02::2 ip6-allrouters',
    gc_hosts === '' ? undefined : gc_hosts,
  );
}

/** Configuration of systemd-resolved. Configured name servers answer all queries; those from DHCP are then not used. */
export function resolvedConf(settings: Settings): string {
  const servers = nameServers(settings);
  const domains = [...searchDomains(settings), ...(servers.length === 0 ? [] : ['~.'])];
  return lines(
    '# Written by Holdfast.',
    '[Resolve]',
    servers.length === 0 ? undefined : `DNS=${servers.join(' ')}`,
    `Domains=${domains.join(' ')}`,
    // Any machine of the network could answer such a query.
    'LLMNR=no',
  );
}

/** `/etc/resolv.conf`, for programs that query DNS themselves: they query systemd-resolved. */
export function resolvConf(settings: Settings): string {
  return lines(
    '# Written by Holdfast: systemd-resolved asks the name servers.',
    'nameserver 127.0.0.53',
    'options edns0 trust-ad',
    `search ${searchDomains(settings).join(' ')}`,
  );
}

export function nameServers({ gc_nameserver1, gc_nameserver2, gc_nameserver3 }: Settings): readonly string[] {
  return [gc_nameserver1, gc_nameserver2, gc_nameserver3].filter((server) => server !== '');
}

function searchDomains({ gc_domain, gc_domains }: Settings): readonly string[] {
  return [...new Set([gc_domain, ...words(gc_domains)])];
}
