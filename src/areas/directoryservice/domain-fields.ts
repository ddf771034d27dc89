import {
  choice,
  type Field,
  flag,
  hidden,
  integer,
  nullable,
  readOnly,
  reference,
  secret,
  text,
} from '../../engine/declare/fields.ts';
import type { RecordOf, SentOf } from '../../engine/declare/resource.ts';
import { netbiosName } from '../services/cifs.ts';
import { idmapKinds } from './idmap.ts';

/** What is said of the membership in an Active Directory domain. */
export const domainFields = {
  ad_enable: flag(false, {
    description:
      'Whether the machine is a member of the domain. It joins before that is kept, and leaves when it is not any more.',
  }),
  ad_domainname: text({
    description: 'DNS name of the domain, as corp.example.com.',
    max: 120,
    pattern: /^(?=.*\.)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/,
    rule: 'A DNS name of several parts is wanted, like corp.example.com.',
  }),
  ad_bindname: text({
    description: 'An account of the domain that may let machines join.',
    max: 120,
    pattern: /^[^-@\\/"%[\]:;|=,+*?<>\s][^@\\/"%[\]:;|=,+*?<>]*$/,
    rule: 'The name alone is wanted, without a domain.',
  }),
  ad_bindpw: secret(text({ description: 'Its password. Kept as it is when sent empty.', max: 120, untrimmed: true })),
  ad_netbiosname_a: netbiosName(
    'Name of this machine in the domain and the Windows network: what is sent becomes that of the CIFS settings (gaps 3.1).',
  ),
  ad_netbiosalias: nullable(netbiosName('A second such name.')),
  ad_dcname: nullable(
    server('The controller to speak to, with :PORT to see whether it answers there; any of the domain when null.'),
  ),
  ad_gcname: nullable(server('A server of the global catalog. It has to answer when it is set.')),
  ad_ssl: choice(['off', 'on', 'start_tls'], {
    description:
      'Whether questions to the directory are encrypted by TLS: from the beginning of the connection (on), or by StartTLS.',
    initial: 'off',
  }),
  ad_certificate: nullable(
    reference('system/certificateauthority', {
      description: "Id of the authority that signed the controllers' certificates.",
      onRemove: { becomes: null },
      holds: ({ ad_enable, ad_ssl }) =>
        ad_enable === true && ad_ssl !== 'off'
          ? 'By this authority the domain controllers prove who they are: choose another, or set ad_ssl off, before this one goes.'
          : undefined,
    }),
  ),
  ad_ldap_sasl_wrapping: choice(['plain', 'signed', 'sealed'], {
    description: 'How questions to the directory are protected where TLS does not.',
    initial: 'plain',
    // As the public sources spell them (gaps 3.1).
    also: { sign: 'signed', seal: 'sealed' },
  }),
  ad_idmap_backend: choice(idmapKinds, {
    description: 'Kind of the id map by which accounts of the domain get their numbers here.',
    initial: 'rid',
  }),
  ad_nss_info: nullable(
    choice(['sfu', 'sfu20', 'rfc2307'], {
      description: "Schema by which the directory tells accounts' homes and shells.",
    }),
  ),
  ad_site: nullable(
    text({
      description: 'Site of the domain whose controllers are spoken to.',
      max: 120,
      pattern: /^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$/,
      rule: 'A site has letters, digits, _ and - in its name.',
    }),
  ),
  ad_kerberos_realm: nullable(
    reference('directoryservice/kerberosrealm', {
      description: "Id of the Kerberos realm whose servers are the domain's.",
      onRemove: { becomes: null },
    }),
  ),
  ad_kerberos_principal: nullable(
    reference('directoryservice/kerberosprincipal', {
      description: 'Id of the principal that joins by the key of its keytab, in place of an account with a password.',
      onRemove: { becomes: null },
    }),
  ),
  ad_userdn: readOnly(
    nullable(text({ description: 'Where users are. The domain itself tells Samba, so it is always null.', max: 1024 })),
  ),
  ad_groupdn: readOnly(nullable(text({ description: 'Where groups are. As for users.', max: 1024 }))),
  ad_timeout: integer({ description: 'Seconds to wait for an answer of the domain.', min: 1, max: 600, initial: 60 }),
  ad_dns_timeout: integer({ description: 'Seconds to wait until the domain is found.', min: 1, max: 600, initial: 60 }),
  ad_enable_monitor: flag(false, {
    description: 'Whether the machine looks after its connection to the domain, and renews it when it is lost.',
  }),
  ad_monitor_frequency: integer({ description: 'Seconds between two looks.', min: 30, max: 3600, initial: 60 }),
  ad_recover_retry: integer({
    description: 'How often it is tried in a row to renew the connection.',
    min: 0,
    max: 500,
    initial: 10,
  }),
  ad_allow_dns_updates: flag(true, {
    description: "Whether the machine enters its addresses into the domain's DNS when it joins.",
  }),
  ad_allow_trusted_doms: flag(false, {
    description: 'Whether accounts of domains that the domain trusts are accounts of this machine.',
  }),
  ad_unix_extensions: flag(false, {
    description: 'Whether accounts have the homes and shells of their Unix attributes.',
  }),
  ad_use_default_domain: flag(false, {
    description: 'Whether accounts are called without the name of the domain before theirs.',
  }),
  ad_verbose_logging: flag(false, { description: 'Whether much is logged of the domain.' }),
  // As the public interface calls it (gaps 3.1).
  ad_disable_freenas_cache: flag(false, {
    description: 'Whether lists of accounts leave out those of the domain, which need not be gathered then.',
  }),
  ad_workgroup: hidden(text({ description: 'Old name of the domain, as it told.' })),
  ad_siteservers: hidden(text({ description: 'Controllers of the site, as DNS told.', max: 4096 })),
};

export type DomainSettings = RecordOf<typeof domainFields>;
export type DomainSent = SentOf<typeof domainFields>;

function server(description: string): Field<string, 'plain'> {
  return text({
    description,
    max: 120,
    pattern: /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/,
    rule: 'NAME or NAME:PORT is wanted.',
  });
}
