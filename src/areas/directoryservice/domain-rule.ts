import type { Rule } from '../../engine/rule.ts';
import { fieldValue } from '../../engine/tables.ts';
import { cifsSettings } from '../services/cifs.ts';
import { domainSettings, mapProblems } from './activedirectory.ts';
import { idmapCollections } from './idmap.ts';

/** The domain knows the machine by its name, and its accounts by the numbers of the maps in use. */
export const domainRule: Rule = {
  says: 'What the membership in a domain stands on does not change beneath it.',
  reads: [cifsSettings, ...Object.values(idmapCollections)],
  check(draft, changed) {
    const domain = draft.only(domainSettings);
    if (!domain.ad_enable) return;
    for (const { resource, before, after } of changed) {
      if (resource.path !== cifsSettings.path || before === undefined || after === undefined) continue;
      const cifs = draft.only(cifsSettings);
      if (cifs.cifs_srv_netbiosname !== domain.ad_netbiosname_a)
        draft.issues.add(
          'cifs_srv_netbiosname',
          `The domain ${domain.ad_domainname} knows the machine as ${domain.ad_netbiosname_a}. It has to leave before it gets another name.`,
        );
      if (cifs.cifs_srv_domain_logons && fieldValue(before, 'cifs_srv_domain_logons') === false)
        draft.issues.add('cifs_srv_domain_logons', `The machine is a member of the domain ${domain.ad_domainname}, and cannot let others log on to one of its own.`);
    }
    if (changed.some(({ resource }) => resource.path !== cifsSettings.path)) for (const sentence of mapProblems(domain, draft)) draft.issues.add('__all__', sentence);
  },
};
