/** Reads a hand-made snmpd.conf: the opposite of `snmpd-conf.ts`. */
import { snmpSettings } from '../../areas/services/snmp.ts';
import type { Adoption, NotCarried } from '../../engine/declare/proposal.ts';

const main = '/etc/snmp/snmpd.conf';

/** Lines that Holdfast writes itself. */
const written = /^(?:agentaddress|sysservices|master|pass_persist|includedir)\b/i;

export const snmpAdoption: Adoption = {
  files: [main, '/etc/snmp/snmpd.conf.d/*'],
  read({ files }) {
    const notCarried: NotCarried[] = [];
    const further: string[] = [];
    const values: Record<string, unknown> = { snmp_community: '' };
    for (const [file, content] of files)
      for (const [index, raw] of content.split('\n').entries()) {
        const text = raw.trim();
        const [, directive = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(text) ?? [];
        const name = directive.toLowerCase();
        const lose = (shown: string, reason: string, toDo: string) =>
          notCarried.push({ file, line: index + 1, within: 1, text: shown, reason, toDo });
        if (text === '' || text.startsWith('#')) continue;
        if (name === 'syslocation') values['snmp_location'] = unquoted(rest);
        else if (name === 'syscontact') values['snmp_contact'] = unquoted(rest);
        else if (name === 'authtrapenable') values['snmp_traps'] = rest === '1';
        else if (/^ro(?:community|community6)$/.test(name)) {
          const [community = '', ...more] = rest.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
          if (values['snmp_community'] !== '' && values['snmp_community'] !== unquoted(community))
            lose(`${directive} ********`, 'Holdfast has one community.', 'Use one for all monitoring systems.');
          else values['snmp_community'] = unquoted(community);
          if (more.length > 0)
            lose(
              `${directive} ******** ${more.join(' ')}`,
              'The community is for all hosts and the whole tree.',
              'Limit it by a firewall, or use version 3.',
            );
        } else if (/^(?:createuser|rouser|rwuser|rwcommunity6?|com2sec6?|trapcommunity|trapsess|usmuser)$/.test(name))
          lose(
            `${directive} ********`,
            'Accounts and communities with rights to write are not read.',
            'Set v3 of service/snmp.',
          );
        else if (!written.test(name)) further.push(text);
      }
    if (files.size === 0) return { records: [], notCarried: [] };
    if (values['snmp_community'] === '') {
      // A record without it would have the usual one, public.
      const toDo = 'Set community or v3 of service/snmp, and the other values.';
      return {
        records: [],
        notCarried: [
          ...notCarried,
          { file: main, line: 0, text: main, reason: 'It has no community that may read.', toDo },
        ],
      };
    }
    const record = { resource: snmpSettings.path, file: main, line: 1 };
    return {
      records: [{ ...record, values: { ...values, ...(further.length > 0 && { snmp_options: further.join('\n') }) } }],
      notCarried,
    };
  },
};

const unquoted = (text: string) => /^"(.*)"$/.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? text;
