import type { World } from '../../engine/declare/resource.ts';
import { domainSettings } from '../directoryservice/activedirectory.ts';
import { networkSettings } from '../network/globalconfiguration.ts';
import { cifsSettings } from '../services/cifs.ts';
import { certificate } from './certificate.ts';
import { systemSettings } from './settings.ts';

/**
 * All names of this machine, in lower case: the host name of the network settings and of the kernel, each alone, with
 * the domain and with `.local`; the NetBIOS names; the names in Active Directory; and the names in the certificate of
 * the web interface.
 */
export function machineNames({ view, facts }: World): ReadonlySet<string> {
  const { gc_hostname, gc_domain } = view.only(networkSettings);
  const { cifs_srv_netbiosname, cifs_srv_netbiosalias } = view.only(cifsSettings);
  const { ad_netbiosname_a, ad_netbiosalias, ad_domainname } = view.only(domainSettings);
  const { stg_guicertificate } = view.only(systemSettings);
  const served = stg_guicertificate === null ? undefined : view.get(certificate, stg_guicertificate);
  const ofDirectory = [ad_netbiosname_a, ad_netbiosalias].flatMap((name) =>
    name ? [name, `${name}.${ad_domainname}`] : [],
  );
  const names = [
    ...[gc_hostname, facts.network.hostname].flatMap((name) => [name, `${name}.${gc_domain}`, `${name}.local`]),
    cifs_srv_netbiosname,
    cifs_srv_netbiosalias,
    ...ofDirectory,
    served?.cert_common,
    ...(served?.cert_san ?? []),
  ];
  return new Set(names.flatMap((name) => (name ? [name.replace(/^DNS:/i, '').toLowerCase()] : [])));
}
