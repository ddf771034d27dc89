import type { World } from '../../engine/declare/resource.ts';
import { domainSettings } from '../directoryservice/activedirectory.ts';
import { networkSettings } from '../network/globalconfiguration.ts';
import { cifsSettings } from '../services/cifs.ts';
import { certificate } from './certificate.ts';
import { systemSettings } from './settings.ts';

/**
 * The names that this machine goes by, in lower case: that of its network settings, alone, in its domain and in multicast
 * DNS; what the kernel calls it; those in Windows networks and in an Active Directory; and those of the certificate
 * that the interface is served with.
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
