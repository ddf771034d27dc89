import type { World } from '../../engine/declare/resource.ts';
import { clusterSettingsOf } from '../cluster/settings.ts';
import { domainSettings } from '../directoryservice/activedirectory.ts';
import { networkSettings } from '../network/globalconfiguration.ts';
import { cifsSettings } from '../services/cifs.ts';

/**
 * The names of this machine, in lower case: the host name of the network settings and of the kernel and the name of its
 * pair, each alone, with the domain and with `.local`; the NetBIOS names; and the names in Active Directory.
 */
export function ownNames({ view, facts }: World): ReadonlySet<string> {
  const { gc_hostname, gc_domain } = view.only(networkSettings);
  const { cifs_srv_netbiosname, cifs_srv_netbiosalias } = view.only(cifsSettings);
  const { ad_netbiosname_a, ad_netbiosalias, ad_domainname } = view.only(domainSettings);
  const ofDirectory = [ad_netbiosname_a, ad_netbiosalias].flatMap((name) =>
    name ? [name, `${name}.${ad_domainname}`] : [],
  );
  const names = [
    ...[gc_hostname, facts.network.hostname, clusterSettingsOf(view).name].flatMap((name) =>
      name === '' ? [] : [name, `${name}.${gc_domain}`, `${name}.local`],
    ),
    cifs_srv_netbiosname,
    cifs_srv_netbiosalias,
    ...ofDirectory,
  ];
  return new Set(names.flatMap((name) => (name ? [name.toLowerCase()] : [])));
}
