import { refine } from '../../engine/declare/fields.ts';
import { configLines } from '../../engine/declare/formats.ts';
import { quote } from '../../lib/text.ts';
import { snmpDirectives } from './snmp.vocabulary.ts';

const directives: ReadonlySet<string> = new Set(snmpDirectives.trim().toLowerCase().split(/\s+/));

/**
 * Additional lines of snmpd.conf. The daemon only logs unknown directives and ignores them, so this field checks them.
 */
export function snmpLines({ description }: { readonly description: string }) {
  return refine(configLines({ description }), (value) => {
    const invalid = value.split('\n').find((line) => {
      const [directive = ''] = line.trim().split(/\s/);
      return directive !== '' && !directive.startsWith('#') && !directives.has(directive.toLowerCase());
    });
    return invalid === undefined ? undefined : `${quote(invalid.trim())} is not a directive of the SNMP server.`;
  });
}
