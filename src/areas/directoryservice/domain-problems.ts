import type { View } from '../../engine/declare/resource.ts';
import { cifsSettings } from '../services/cifs.ts';
import type { DomainSettings, domainFields } from './domain-fields.ts';
import { type IdmapKind, overlap, usedMaps } from './idmap.ts';
import { ldapSettings, servesSamba } from './ldap.ts';

interface Problem {
  readonly name: keyof typeof domainFields;
  readonly sentence: string;
}

/** All problems of the settings. `was` are the settings of the current membership, if there is one. */
export function domainProblems(
  settings: DomainSettings,
  was: DomainSettings | undefined,
  view: View,
): readonly Problem[] {
  if (!settings.ad_enable) return [];
  const found: Problem[] = [];
  const add = (name: Problem['name'], sentence: string) => void found.push({ name, sentence });
  if (settings.ad_domainname === '') add('ad_domainname', 'ad_domainname is required when ad_enable is true.');
  if (settings.ad_kerberos_principal === null) {
    if (settings.ad_bindname === '')
      add('ad_bindname', 'ad_bindname or ad_kerberos_principal is required when ad_enable is true.');
    if (settings.ad_bindpw === '') add('ad_bindpw', 'ad_bindpw is required for ad_bindname.');
  }
  if (settings.ad_ssl !== 'off' && settings.ad_certificate === null) {
    add(
      'ad_certificate',
      'ad_certificate is required when ad_ssl is on or start_tls: the authority that signed the certificates of the controllers.',
    );
  }
  if (was !== undefined) {
    if (settings.ad_domainname !== was.ad_domainname)
      add(
        'ad_domainname',
        `The machine is a member of ${was.ad_domainname}. Leave that domain (ad_enable false) before joining another.`,
      );
    if (settings.ad_netbiosname_a !== was.ad_netbiosname_a)
      add(
        'ad_netbiosname_a',
        'The NetBIOS name cannot change while the machine is a member of the domain. Leave the domain (ad_enable false) first.',
      );
  }
  for (const sentence of mapProblems(settings, view)) add('ad_idmap_backend', sentence);
  if (servesSamba(view.only(ldapSettings)))
    add(
      'ad_enable',
      'Samba uses the passwords of the LDAP directory, but a domain member uses those of the domain. Set ldap_has_samba_schema to false first.',
    );
  if (view.only(cifsSettings).cifs_srv_domain_logons)
    add(
      'ad_enable',
      'A domain member cannot serve domain logons of its own. Set cifs_srv_domain_logons to false first.',
    );
  return found;
}

/** Kinds of id map for which Samba has no module. */
const unsupported: readonly IdmapKind[] = ['adex', 'fruit'];

/** The problems of the id maps that the domain uses. */
export function mapProblems({ ad_idmap_backend: kind }: DomainSettings, view: View): readonly string[] {
  if (unsupported.includes(kind)) return [`Samba does not support the id map kind ${kind}.`];
  const maps = usedMaps(view, kind);
  if (maps === undefined)
    return [`No id map of the kind ${kind} exists. Create one at directoryservice/idmap/${kind}.`];
  const { domain, others } = maps;
  const backwards = [domain, others].find((map) => map !== undefined && map.range.low >= map.range.high);
  if (backwards !== undefined)
    return [
      `The highest id of the ${backwards.kind} id map, ${backwards.range.high}, must be above the lowest, ${backwards.range.low}.`,
    ];
  if (domain === undefined || !overlap(domain.range, others.range)) return [];
  const range = ({ low, high }: { readonly low: number; readonly high: number }) => `${low} to ${high}`;
  return [
    `The range of the domain, ${range(domain.range)} in the ${domain.kind} id map, overlaps the range of all other accounts, ${range(others.range)} in the ${others.kind} id map.`,
  ];
}
