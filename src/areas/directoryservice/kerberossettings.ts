import { refine, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

export const kerberosSettings = singleton('directoryservice/kerberossettings', {
  title: 'Kerberos settings',
  description: 'Further lines of the configuration of Kerberos.',
  fields: {
    ks_appdefaults_aux: sectionLines('Lines of the section [appdefaults].'),
    ks_libdefaults_aux: sectionLines('Lines of the section [libdefaults].'),
  },
});

/** Lines `name = value`. Braces would have to be closed, and a section or another file would reach beyond. */
function sectionLines(description: string) {
  return refine(text({ description, max: 16_384, multiline: true }), (value) => {
    const line = value.split('\n').find((one) => !/^\s*(#.*|;.*|[A-Za-z][\w.-]*\s*=[^{}]*)?$/.test(one));
    return line === undefined ? undefined : `${quote(line.trim())} is no line of the form NAME = VALUE.`;
  });
}
