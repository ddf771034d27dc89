import {
  advanced,
  alsoNamed,
  basic,
  choice,
  type Field,
  flag,
  hidden,
  integer,
  nullable,
  reference,
  refine,
  secret,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import type { RecordOf, SentOf } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { netbiosName } from '../services/cifs.ts';
import { idmapKinds } from './idmap.ts';

/** The fields of the Active Directory settings. */
export const domainFields = {
  ...basic('Domain', {
    ad_enable: titled(
      'Enabled',
      flag(false, {
        description:
          'Whether the machine is a member of the domain. Setting it joins the domain, clearing it leaves the domain.',
      }),
    ),
    ad_domainname: titled(
      'Domain name',
      text({
        description: 'DNS name of the domain, such as corp.example.com.',
        max: 120,
        pattern: /^(?=.*\.)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/,
        rule: 'Expected a DNS name with at least two parts, such as corp.example.com.',
      }),
    ),
    ad_bindname: titled(
      'Account',
      text({
        description: 'Domain account that is allowed to join machines.',
        max: 120,
        pattern: /^[^-@\\/"%[\]:;|=,+*?<>\s][^@\\/"%[\]:;|=,+*?<>]*$/,
        rule: 'Expected the account name without a domain.',
      }),
    ),
    ad_bindpw: titled(
      'Password',
      secret(
        text({
          description: 'Password of ad_bindname. An empty password leaves the stored one unchanged.',
          max: 120,
          untrimmed: true,
        }),
      ),
    ),
  }),
  ...basic('Names', {
    ad_netbiosname_a: titled(
      'NetBIOS name',
      netbiosName('NetBIOS name of this machine. It is also written to the CIFS settings.'),
    ),
    ad_netbiosalias: titled(
      'NetBIOS alias',
      nullable(netbiosName('NetBIOS alias. It is also written to the CIFS settings.')),
    ),
  }),
  ...advanced('Servers', {
    ad_dcname: titled(
      'Domain controller',
      nullable(
        server(
          'Domain controller, NAME or NAME:PORT. It must answer when it is set. Any controller of the domain when null.',
        ),
      ),
    ),
    ad_gcname: titled(
      'Global catalog',
      nullable(server('Global catalog server, NAME or NAME:PORT. It must answer when it is set.')),
    ),
  }),
  ...advanced('Security', {
    ad_ssl: titled(
      'Encryption',
      choice(['off', 'on', 'start_tls'], {
        description: 'Encryption of LDAP connections: none (off), TLS (on) or StartTLS (start_tls).',
        initial: 'off',
      }),
    ),
    ad_certificate: titled(
      'Certificate authority',
      nullable(
        reference('system/certificateauthority', {
          description: 'Id of the certificate authority that signed the certificates of the controllers.',
          onRemove: { becomes: null },
          holds: ({ ad_enable, ad_ssl }) =>
            ad_enable === true && ad_ssl !== 'off'
              ? 'The Active Directory settings use this authority. Choose another one in ad_certificate, or set ad_ssl to off, first.'
              : undefined,
        }),
      ),
    ),
    ad_ldap_sasl_wrapping: titled(
      'Protection of LDAP',
      choice(['plain', 'signed', 'sealed'], {
        description:
          'Protection of LDAP connections without TLS: none (plain), signed, or signed and encrypted (sealed).',
        initial: 'plain',
        // The spelling in the public sources (gaps 3.1).
        also: { sign: 'signed', seal: 'sealed' },
      }),
    ),
  }),
  ...basic('Accounts', {
    ad_idmap_backend: titled(
      'ID map',
      choice(idmapKinds, {
        description: 'Kind of id map that assigns UIDs and GIDs to domain accounts.',
        initial: 'rid',
      }),
    ),
  }),
  ...advanced('Accounts', {
    ad_nss_info: titled(
      'Source of homes and shells',
      nullable(
        choice(['sfu', 'sfu20', 'rfc2307'], {
          description: 'Schema of the home and shell attributes in the directory.',
        }),
      ),
    ),
  }),
  ...advanced('Servers', {
    ad_site: nullable(
      text({
        description: 'Site whose controllers are used.',
        max: 120,
        pattern: /^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$/,
        rule: 'A site name may contain letters, digits, _ and - only, and must not begin or end with -.',
      }),
    ),
  }),
  ...advanced('Kerberos', {
    ad_kerberos_realm: titled(
      'Realm',
      nullable(
        reference('directoryservice/kerberosrealm', {
          description: 'Id of the Kerberos realm of the domain.',
          onRemove: { becomes: null },
        }),
      ),
    ),
    ad_kerberos_principal: titled(
      'Principal',
      nullable(
        reference('directoryservice/kerberosprincipal', {
          description:
            'Id of the Kerberos principal that joins with its keytab, instead of ad_bindname with a password.',
          onRemove: { becomes: null },
        }),
      ),
    ),
  }),
  ...advanced('Accounts', {
    ad_userdn: titled('Base of users', wholeDomain('users')),
    ad_groupdn: titled('Base of groups', wholeDomain('groups')),
  }),
  ...advanced('Times', {
    ad_timeout: integer({
      description: 'Timeout in seconds for answers of the domain.',
      min: 1,
      max: 600,
      initial: 60,
    }),
    ad_dns_timeout: titled(
      'DNS timeout',
      integer({
        description: 'Timeout in seconds for DNS queries that find the domain.',
        min: 1,
        max: 600,
        initial: 60,
      }),
    ),
  }),
  ...advanced('Monitoring', {
    ad_enable_monitor: titled(
      'Monitor the domain',
      flag(false, {
        description: 'Whether to monitor the connection to the domain and to restore it when it is lost.',
      }),
    ),
    ad_monitor_frequency: titled(
      'Interval of checks',
      integer({
        description: 'Seconds between two checks of the connection.',
        min: 30,
        max: 3600,
        initial: 60,
      }),
    ),
    ad_recover_retry: titled(
      'Attempts to recover',
      integer({
        description: 'Maximum number of consecutive attempts to restore the connection.',
        min: 0,
        max: 500,
        initial: 10,
      }),
    ),
  }),
  ...advanced('Domain', {
    ad_allow_dns_updates: titled(
      'Register in DNS',
      flag(true, {
        description: 'Whether to register the addresses of this machine in the DNS of the domain on joining.',
      }),
    ),
    ad_allow_trusted_doms: titled(
      'Allow trusted domains',
      flag(false, {
        description: 'Whether accounts of trusted domains can use this machine.',
      }),
    ),
  }),
  ...advanced('Accounts', {
    ad_unix_extensions: titled(
      'Unix attributes',
      flag(false, {
        description: 'Whether accounts get home and shell from their Unix attributes.',
      }),
    ),
    ad_use_default_domain: titled(
      'Omit the domain from names',
      flag(false, {
        description: 'Whether account names have no domain prefix on this machine.',
      }),
    ),
  }),
  ...advanced('Monitoring', {
    ad_verbose_logging: titled('Verbose log', flag(false, { description: 'Whether verbose logging is enabled.' })),
  }),
  ...advanced('Accounts', {
    // The field name of the public API (gaps 3.1).
    ad_disable_freenas_cache: titled(
      'Do not cache accounts',
      alsoNamed(
        flag(false, {
          description: 'Whether domain accounts are left out of account lists, so that they need not be fetched.',
        }),
        'ad_disable_appliance_cache',
      ),
    ),
  }),
  ad_workgroup: hidden(text({ description: 'NetBIOS name of the domain, as reported by the domain.' })),
  ad_siteservers: hidden(text({ description: 'Controllers of the site, as reported by DNS.', max: 4096 })),
};

export type DomainSettings = RecordOf<typeof domainFields>;
export type DomainSent = SentOf<typeof domainFields>;

/** Stored so that records have the field, which releases of the public API could not set (gaps 3.1). */
function wholeDomain(what: 'users' | 'groups') {
  return nullable(
    refine(text({ description: `Container of ${what}; always null.`, max: 1024 }), (value) =>
      value === '' ? undefined : `Expected null: Samba finds ${what} in the whole domain, got ${quote(value)}.`,
    ),
  );
}

function server(description: string): Field<string, 'plain'> {
  return text({
    description,
    max: 120,
    pattern: /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/,
    rule: 'Expected NAME or NAME:PORT.',
  });
}
