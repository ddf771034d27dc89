import { fieldValue } from '../../engine/configuration/tables.ts';
import { isRecordOf } from '../../engine/declare/record.ts';
import type { Rule } from '../../engine/declare/rule.ts';
import { cifsSettings } from '../services/cifs.ts';
import { domainSettings } from './activedirectory.ts';
import { mapProblems } from './domain-problems.ts';
import { idmapCollections } from './idmap.ts';
import { ldapSettings, sambaDomainOf, servesSamba } from './ldap.ts';

/** A membership depends on the NetBIOS name of the machine and on the ranges of the id maps in use. */
export const domainRule: Rule = {
  description: 'Settings that the domain membership depends on do not change while the machine is a member.',
  reads: [cifsSettings, ldapSettings, ...Object.values(idmapCollections)],
  check(draft, changed) {
    const domain = draft.only(domainSettings);
    if (!domain.ad_enable) return;
    if (servesSamba(draft.only(ldapSettings)))
      draft.issues.add(
        'ldap_has_samba_schema',
        `The machine is a member of the domain ${domain.ad_domainname}, and Samba uses the passwords of that domain. Leave the domain first.`,
      );
    for (const { resource, before, after } of changed) {
      if (resource.path !== cifsSettings.path || before === undefined || after === undefined) continue;
      const cifs = draft.only(cifsSettings);
      if (cifs.cifs_srv_netbiosname !== domain.ad_netbiosname_a)
        draft.issues.add(
          'cifs_srv_netbiosname',
          `The machine is a member of the domain ${domain.ad_domainname} as ${domain.ad_netbiosname_a}. Leave the domain before changing the name.`,
        );
      if (cifs.cifs_srv_domain_logons && fieldValue(before, 'cifs_srv_domain_logons') === false)
        draft.issues.add(
          'cifs_srv_domain_logons',
          `The machine is a member of the domain ${domain.ad_domainname} and cannot serve domain logons of its own.`,
        );
    }
    if (changed.some(({ resource }) => resource.path in mapsByPath))
      for (const sentence of mapProblems(domain, draft)) draft.issues.add('__all__', sentence);
  },
};

const mapsByPath = Object.fromEntries(Object.values(idmapCollections).map((of) => [of.path, of]));

/** smbd does not start without an entry in the LDAP directory for its Samba domain, which is found by name. */
export const sambaDomainRule: Rule = {
  description: 'The name of the Samba domain stays that of its entry in the LDAP directory.',
  reads: [cifsSettings, ldapSettings],
  check(draft, changed) {
    // An update of the LDAP settings has already checked the directory for the name.
    if (!servesSamba(draft.only(ldapSettings)) || changed.some(({ resource }) => resource.path === ldapSettings.path))
      return;
    for (const { before } of changed) {
      if (before === undefined || !isRecordOf(cifsSettings.fields, before)) continue;
      const [was, is] = [sambaDomainOf(before), sambaDomainOf(draft.only(cifsSettings))];
      if (is !== was)
        draft.issues.add(
          '__all__',
          `The LDAP directory has the accounts of the Samba domain ${was}, and this change would use ${is}. Set ldap_has_samba_schema to false before the change, and to true again afterwards.`,
        );
    }
  },
};
