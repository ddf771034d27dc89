import { refine, required, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote, words } from '../../lib/text.ts';

export const kerberosRealm = collection('directoryservice/kerberosrealm', {
  title: 'Kerberos realm',
  description:
    'A realm of Kerberos and its servers. The first of them is the one that names without a realm belong to.',
  // Realms that differ in letter case only are different ones (RFC 4120), and nobody means that.
  unique: [{ fields: ['krb_realm'], caseless: true, description: 'A realm of this name exists already.' }],
  fields: {
    krb_realm: required(
      text({
        description: 'Name of the realm, as EXAMPLE.COM.',
        max: 120,
        pattern: /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/,
        rule: 'A realm has letters, digits, dots and dashes in its name.',
      }),
    ),
    krb_kdc: servers('Servers that give tickets, separated by blanks. Looked up in DNS when empty.'),
    krb_admin_server: servers('Servers that administer accounts.'),
    krb_kpasswd_server: servers('Servers that change passwords.'),
  },
});

function servers(description: string) {
  return refine(text({ description, max: 120 }), (value) => {
    const invalid = words(value).find(
      (one) => !/^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/.test(one),
    );
    return invalid === undefined ? undefined : `${quote(invalid)} is no server: NAME or NAME:PORT is wanted.`;
  });
}
