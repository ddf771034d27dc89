import { fieldValue } from '../../engine/configuration/tables.ts';
import { isRecordOf } from '../../engine/declare/record.ts';
import type { Rule } from '../../engine/declare/rule.ts';
import { cifsSettings } from '../services/cifs.ts';
import { domainSettings } from './activedirectory.ts';
import { mapProblems } from './domain-problems.ts';
import { idmapCollections } from './idmap.ts';
import { ldapSettings, sambaDomainOf, servesSamba } from './ldap.ts';

/** The domain knows the machine by its name, and its accounts by the numbers of the maps in use. */
export const domainRule: Rule = {
  description: 'What the membership in a domain stands on does not change beneath it.',
  reads: [cifsSettings, ldapSettings, ...Object.values(idmapCollections)],
  check(draft, changed) {
    const domain = draft.only(domainSettings);
    if (!domain.ad_enable) return;
    if (servesSamba(draft.only(ldapSettings)))
      draft.issues.add(
        'ldap_has_samba_schema',
        `The machine is a member of the domain ${domain.ad_domainname}, whose passwords Samba uses. It has to leave first.`,
      );
    for (const { resource, before, after } of changed) {
      if (resource.path !== cifsSettings.path || before === undefined || after === undefined) continue;
      const cifs = draft.only(cifsSettings);
      if (cifs.cifs_srv_netbiosname !== domain.ad_netbiosname_a)
        draft.issues.add(
          'cifs_srv_netbiosname',
          `The domain ${domain.ad_domainname} knows the machine as ${domain.ad_netbiosname_a}. It has to leave before it gets another name.`,
        );
      if (cifs.cifs_srv_domain_logons && fieldValue(before, 'cifs_srv_domain_logons') === false)
        draft.issues.add(
          'cifs_srv_domain_logons',
          `The machine is a member of the domain ${domain.ad_domainname}, and cannot let others log on to one of its own.`,
        );
    }
    if (changed.some(({ resource }) => resource.path in mapsByPath))
      for (const sentence of mapProblems(domain, draft)) draft.issues.add('__all__', sentence);
  },
};

const mapsByPath = Object.fromEntries(Object.values(idmapCollections).map((of) => [of.path, of]));

/** The directory holds an entry of the server's Samba domain, by its name; smbd does not start without. */
export const sambaDomainRule: Rule = {
  description: 'The Samba domain whose accounts an LDAP directory keeps is called as it is there.',
  reads: [cifsSettings, ldapSettings],
  check(draft, changed) {
    // The settings of the directory bring names of their own, which it was asked about.
    if (!servesSamba(draft.only(ldapSettings)) || changed.some(({ resource }) => resource.path === ldapSettings.path))
      return;
    for (const { before } of changed) {
      if (before === undefined || !isRecordOf(cifsSettings.fields, before)) continue;
      const [was, is] = [sambaDomainOf(before), sambaDomainOf(draft.only(cifsSettings))];
      if (is !== was)
        draft.issues.add(
          '__all__',
          `The LDAP directory keeps the accounts of ${was}, and is to be asked about ${is}: set ldap_has_samba_schema false, and true again afterwards.`,
        );
    }
  },
};
