import type { Field, Rank, Widget } from './fields.ts';

/** How a form shows a field. */
export interface FormField {
  readonly title: string;
  readonly group: string;
  readonly rank: Rank;
  /** Path of the resource whose record the value is the id or the name of. */
  readonly refersTo: string | undefined;
  readonly widget: Widget | undefined;
}

/** What the field declares, and what follows from its kind where it declares nothing. */
export function formOf(name: string, field: Field): FormField {
  const isSet = field.use === 'plain' || field.use === 'inputOnly';
  return {
    title: field.title ?? titleOf(name),
    group: field.group ?? (isSet ? (field.widget === 'schedule' ? 'Schedule' : 'General') : 'State'),
    rank: field.rank ?? (field.raw === true && !field.required ? 'advanced' : 'basic'),
    refersTo: field.refers?.to ?? field.names,
    widget: field.secret ? 'secret' : field.widget,
  };
}

/** Words of names that are written otherwise in labels. */
const spelled: Readonly<Record<string, string>> = {
  acl: 'ACL',
  auth: 'authentication',
  ca: 'CA',
  cn: 'CN',
  csr: 'CSR',
  dedup: 'deduplication',
  dhcp: 'DHCP',
  dn: 'DN',
  dns: 'DNS',
  gid: 'GID',
  guid: 'GUID',
  http: 'HTTP',
  https: 'HTTPS',
  id: 'ID',
  ip: 'IP address',
  ipv4: 'IPv4',
  ipv6: 'IPv6',
  ldap: 'LDAP',
  naa: 'NAA',
  nss: 'NSS',
  pct: 'percentage',
  rangesize: 'size of a range',
  readonly: 'read-only',
  san: 'alternative names',
  si: 'text',
  ssh: 'SSH',
  ssl: 'encryption',
  tls: 'TLS',
  uid: 'UID',
  url: 'URL',
};

/** Prefixes that the names of all fields of a resource have. */
const prefix =
  /^(?:[a-z]+_srv|iscsi_target_(?:extent|portal|initiator|auth)|iscsi|idmap_ds|idmap_[a-z\d]+?|cert|CA|[a-z]{2,9})_(?=.)/;
const withoutPrefix = /^(?:is|total|used|case|vmware|group|inherit|replace|volume|parent|recovery)_/;

/** `guest_only` for `cifs_guest_only`. */
export function withoutPrefixOf(name: string): string {
  return withoutPrefix.test(name) ? name : name.replace(prefix, '');
}

/** `Guest only` for `cifs_guest_only`. */
function titleOf(name: string): string {
  const words = withoutPrefixOf(name)
    .split('_')
    .map((word) => (Object.hasOwn(spelled, word.toLowerCase()) ? spelled[word.toLowerCase()] : word))
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
