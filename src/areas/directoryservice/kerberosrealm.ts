import { advanced, refine, required, text, titled } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote, words } from '../../lib/text.ts';

export const kerberosRealm = collection('directoryservice/kerberosrealm', {
  shortName: 'kerberos/realm',
  title: 'Kerberos realm',
  description: 'A Kerberos realm and its servers. The first realm is the default realm.',
  // Realm names are case-sensitive (RFC 4120), but two realms that differ only in case are almost certainly a mistake.
  unique: [{ fields: ['krb_realm'], caseless: true, description: 'A realm with this name already exists.' }],
  fields: {
    krb_realm: required(
      text({
        description: 'Name of the realm, such as EXAMPLE.COM.',
        max: 120,
        pattern: /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/,
        rule: 'A realm name may contain letters, digits, . and - only, and must begin and end with a letter or digit.',
      }),
    ),
    ...advanced('Servers', {
      krb_kdc: titled(
        'Key distribution centers',
        servers('Key distribution centers (KDC), separated by spaces. Found by DNS when empty.'),
      ),
      krb_admin_server: titled('Admin servers', servers('Administration servers, separated by spaces.')),
      krb_kpasswd_server: titled('Password servers', servers('Password-change servers, separated by spaces.')),
    }),
  },
});

function servers(description: string) {
  return refine(text({ description, max: 120 }), (value) => {
    const invalid = words(value).find(
      (word) => !/^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/.test(word),
    );
    return invalid === undefined ? undefined : `Expected NAME or NAME:PORT, got ${quote(invalid)}.`;
  });
}
