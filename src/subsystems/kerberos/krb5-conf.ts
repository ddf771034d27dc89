import type { kerberosRealm } from '../../areas/directoryservice/kerberosrealm.ts';
import type { kerberosSettings } from '../../areas/directoryservice/kerberossettings.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines, words } from '../../lib/text.ts';

export type Realm = Omit<RecordOf<typeof kerberosRealm.fields>, 'id'>;
type Settings = RecordOf<typeof kerberosSettings.fields>;

/**
 * `/etc/krb5.conf`. A program reads it when it first uses Kerberos. Servers are looked up in DNS for realms that list
 * none. `clientKeytab` has the key of programs that are given no other.
 */
export function krb5Conf(realms: readonly Realm[], settings: Settings, clientKeytab?: string): string {
  const [first] = realms;
  return lines(
    '# Written by Holdfast.',
    '[libdefaults]',
    first === undefined ? undefined : `  default_realm = ${first.krb_realm}`,
    '  dns_lookup_realm = false',
    '  dns_lookup_kdc = true',
    '  rdns = false',
    '  forwardable = true',
    clientKeytab === undefined ? undefined : `  default_client_keytab_name = FILE:${clientKeytab}`,
    settings.ks_libdefaults_aux === '' ? undefined : settings.ks_libdefaults_aux,
    '',
    '[realms]',
    realms.flatMap((realm) =>
      [
        `  ${realm.krb_realm} = {`,
        words(realm.krb_kdc).map((server) => `    kdc = ${server}`),
        words(realm.krb_admin_server).map((server) => `    admin_server = ${server}`),
        words(realm.krb_kpasswd_server).map((server) => `    kpasswd_server = ${server}`),
        '  }',
      ].flat(),
    ),
    '',
    '[domain_realm]',
    realms.flatMap(({ krb_realm: realm }) => [
      `  .${realm.toLowerCase()} = ${realm}`,
      `  ${realm.toLowerCase()} = ${realm}`,
    ]),
    '',
    '[appdefaults]',
    settings.ks_appdefaults_aux === '' ? undefined : settings.ks_appdefaults_aux,
  );
}
