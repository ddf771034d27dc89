import { refine, text, titled } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

export const kerberosSettings = singleton('directoryservice/kerberossettings', {
  shortName: 'kerberos',
  title: 'Kerberos settings',
  description: 'Additional lines for krb5.conf.',
  fields: {
    ks_appdefaults_aux: titled(
      'Lines for appdefaults',
      sectionLines('Additional lines for the section [appdefaults].'),
    ),
    ks_libdefaults_aux: titled(
      'Lines for libdefaults',
      sectionLines('Additional lines for the section [libdefaults].'),
    ),
  },
});

/** Lines `name = value`. Braces, section headers and includes are refused, because they could change other sections. */
function sectionLines(description: string) {
  return refine(text({ description, max: 16_384, multiline: true }), (value) => {
    const line = value.split('\n').find((candidate) => !/^\s*(#.*|;.*|[A-Za-z][\w.-]*\s*=[^{}]*)?$/.test(candidate));
    return line === undefined ? undefined : `Expected a line of the form NAME = VALUE, got ${quote(line.trim())}.`;
  });
}
