import type { View } from '../../engine/declare/resource.ts';
import { cifsSettings } from '../services/cifs.ts';
import type { DomainSettings, domainFields } from './domain-fields.ts';
import { type IdmapKind, overlap, usedMaps } from './idmap.ts';
import { ldapSettings, servesSamba } from './ldap.ts';

interface Problem {
  readonly name: keyof typeof domainFields;
  readonly sentence: string;
}

/** What keeps the settings from being right, all of it. `was` are those by which the machine is a member now. */
export function domainProblems(
  settings: DomainSettings,
  was: DomainSettings | undefined,
  view: View,
): readonly Problem[] {
  if (!settings.ad_enable) return [];
  const found: Problem[] = [];
  const add = (name: Problem['name'], sentence: string) => void found.push({ name, sentence });
  if (settings.ad_domainname === '') add('ad_domainname', 'Say which domain.');
  if (settings.ad_kerberos_principal === null) {
    if (settings.ad_bindname === '')
      add('ad_bindname', 'Say which account lets the machine join, or choose a Kerberos principal.');
    if (settings.ad_bindpw === '') add('ad_bindpw', 'The account has a password.');
  }
  if (settings.ad_ssl !== 'off' && settings.ad_certificate === null) {
    add(
      'ad_certificate',
      "An encrypted connection needs the certificate of the authority that signed the controllers'.",
    );
  }
  if (was !== undefined) {
    if (settings.ad_domainname !== was.ad_domainname)
      add('ad_domainname', `The machine is a member of ${was.ad_domainname}. It has to leave before it joins another.`);
    if (settings.ad_netbiosname_a !== was.ad_netbiosname_a)
      add('ad_netbiosname_a', 'The domain knows the machine by its name. It has to leave before it gets another.');
  }
  for (const sentence of mapProblems(settings, view)) add('ad_idmap_backend', sentence);
  if (servesSamba(view.only(ldapSettings)))
    add(
      'ad_enable',
      'Samba uses the passwords of the LDAP directory, and a member uses those of the domain: set ldap_has_samba_schema false.',
    );
  if (view.only(cifsSettings).cifs_srv_domain_logons)
    add(
      'ad_enable',
      'A member of a domain cannot let others log on to a domain of its own: set cifs_srv_domain_logons false.',
    );
  return found;
}

/** Modules that Samba does not have. */
const lacking: readonly IdmapKind[] = ['adex', 'fruit'];

/** What is wrong with the id maps that the domain uses, in sentences. */
export function mapProblems({ ad_idmap_backend: kind }: DomainSettings, view: View): readonly string[] {
  if (lacking.includes(kind)) return [`Samba has no id map of the kind ${kind}.`];
  const maps = usedMaps(view, kind);
  if (maps === undefined)
    return [`There is no id map of the kind ${kind} that could be used: make one at directoryservice/idmap/${kind}.`];
  const { domain, others } = maps;
  if (domain === undefined || !overlap(domain.range, others.range)) return [];
  const range = ({ low, high }: { readonly low: number; readonly high: number }) => `${low} to ${high}`;
  return [
    `The numbers of the domain, ${range(domain.range)} of the ${domain.kind} id map, overlap those of all others, ${range(others.range)} of the ${others.kind} id map.`,
  ];
}
