/** Directory services. None is switched on: a machine joins a domain with the password of an administrator. */
import { isObject } from '../../lib/json.ts';
import type { OldDatabase, Row } from './database.ts';
import { becomes, keyIn, type Mapping, nothing, part, sames, stay, stays, type Target } from './mapping.ts';

const realms = 'directoryservice_kerberosrealm';

const realm: Mapping = {
  table: realms,
  to: 'directoryservice/kerberosrealm',
  columns: sames('krb_realm', 'krb_kdc', 'krb_admin_server', 'krb_kpasswd_server'),
};

const keytab: Mapping = {
  table: 'directoryservice_kerberoskeytab',
  to: 'directoryservice/kerberoskeytab',
  columns: { ...sames('keytab_name', 'keytab_file'), keytab_principal: nothing('it is in the keytab') },
};

const principal: Mapping = {
  table: 'directoryservice_kerberosprincipal',
  columns: Object.fromEntries(
    ['keytab_id', 'version', 'encryption', 'name', 'timestamp'].map((one) => [
      `principal_${one}`,
      nothing('it follows from the keytab'),
    ]),
  ),
};

const kerberos: Mapping = {
  table: 'directoryservice_kerberossettings',
  to: 'directoryservice/kerberossettings',
  isSettings: true,
  columns: sames('ks_appdefaults_aux', 'ks_libdefaults_aux'),
};

const off = (name: string, address: string, command: string) => ({
  isUsual: (row: Row) => row.text(address) === '',
  remarks: (row: Row, { old }: Target) => [
    ...(row.flag(name)
      ? [
          {
            column: name,
            reason: 'It was switched on. The account of a machine in a directory cannot be moved.',
            remedy: `Switch the old appliance off, and join: ${command}. Under the same name, the old one loses its membership.`,
          },
        ]
      : []),
    ...otherNames(row, old),
  ],
});

/** Before 9.10 the directories had names of their own. Here the SMB service has the names for all of them. */
function otherNames(row: Row, old: OldDatabase) {
  const service = old.rows('services_cifs').at(-1);
  const known = ['', service?.text('cifs_srv_netbiosname'), service?.text('cifs_srv_netbiosalias')];
  return row.columns
    .filter((column) => /^(?:ad|ldap)_netbios(?:name|name_a|alias)$/.test(column) && !known.includes(row.text(column)))
    .map((column) => ({
      column,
      reason: `The directory knew the machine as ${row.text(column)}, and the SMB service has the names for all directories here.`,
      remedy: 'Set netbiosname of service/smb to it before you join, if it is to stay.',
    }));
}

/** Up to 11.2 a certificate of a directory is an authority, later it is one of the client. */
function authorityOf(row: Row, { old, keyOf }: Target, column: string): unknown {
  const id = row.text(column);
  if (id === '') return undefined;
  const isAuthority = !old.tables.has('system_keychaincredential');
  const found = isAuthority ? keyOf('system_certificateauthority', id) : undefined;
  return (
    found ?? stay('Its certificate cannot be chosen here.', 'Import the authority of the directory, and choose it.')
  );
}

const principalChoice = stays('Principals follow from the keytabs here.', 'Choose one after the keytab is there.');

const domain: Mapping = {
  table: 'directoryservice_activedirectory',
  to: 'directoryservice/activedirectory',
  isSettings: true,
  ...off('ad_enable', 'ad_domainname', 'holdfast set directory/ad --enable yes'),
  columns: {
    ...sames('ad_domainname', 'ad_bindname', 'ad_bindpw', 'ad_monitor_frequency', 'ad_recover_retry'),
    ...sames('ad_enable_monitor', 'ad_verbose_logging', 'ad_unix_extensions', 'ad_allow_trusted_doms'),
    ...sames('ad_use_default_domain', 'ad_allow_dns_updates', 'ad_disable_freenas_cache', 'ad_userdn', 'ad_groupdn'),
    ...sames('ad_site', 'ad_dcname', 'ad_gcname', 'ad_timeout', 'ad_dns_timeout'),
    ad_ssl: becomes('ad_ssl', (row) => row.text('ad_ssl').toLowerCase() || undefined),
    ad_idmap_backend: part,
    ad_nss_info: becomes('ad_nss_info', (row) => row.text('ad_nss_info') || undefined),
    ad_ldap_sasl_wrapping: becomes('ad_ldap_sasl_wrapping', (row) => {
      const given = row.text('ad_ldap_sasl_wrapping');
      return { sign: 'signed', seal: 'sealed' }[given] ?? (given === '' ? undefined : given);
    }),
    ad_certificate_id: becomes('ad_certificate', authorityOf),
    ad_kerberos_realm_id: becomes('ad_kerberos_realm', keyIn(realms)),
    ad_kerberos_principal_id: principalChoice,
    ad_kerberos_principal: principalChoice,
    ad_kerberos_keytab_id: principalChoice,
    ad_validate_certificates: stays('Certificates are always checked.', 'Nothing.', '1'),
    ad_createcomputer: stays('The place of the account cannot be chosen.', 'Move the account in the directory.'),
    ad_restrict_pam: stays('It is not a setting here.', 'Nothing.', '0'),
    ad_netbiosname: part,
    ad_netbiosname_a: part,
    ad_netbiosname_b: stays('It is the name of a second node.', 'Nothing.'),
    ad_netbiosalias: part,
    ad_enable: part,
  },
  values: (_row, { old }) => ({ ad_idmap_backend: backendFor(1, old) }),
};

const ldap: Mapping = {
  table: 'directoryservice_ldap',
  to: 'directoryservice/ldap',
  isSettings: true,
  ...off('ldap_enable', 'ldap_hostname', 'holdfast set directory/ldap --enable yes'),
  columns: {
    ...sames('ldap_basedn', 'ldap_binddn', 'ldap_bindpw', 'ldap_anonbind', 'ldap_usersuffix', 'ldap_groupsuffix'),
    ...sames('ldap_passwordsuffix', 'ldap_machinesuffix', 'ldap_sudosuffix', 'ldap_timeout', 'ldap_dns_timeout'),
    ...sames('ldap_has_samba_schema', 'ldap_auxiliary_parameters'),
    ldap_hostname: becomes('ldap_hostname', (row) => row.text('ldap_hostname').split(/[\s,]+/)[0]),
    ldap_ssl: becomes('ldap_ssl', (row) => row.text('ldap_ssl').toLowerCase() || undefined),
    ldap_schema: becomes('ldap_schema', (row) => row.text('ldap_schema').toLowerCase() || undefined),
    ldap_idmap_backend: part,
    ldap_certificate_id: becomes('ldap_certificate', authorityOf),
    ldap_kerberos_realm_id: becomes('ldap_kerberos_realm', keyIn(realms)),
    ldap_kerberos_principal_id: principalChoice,
    ldap_kerberos_principal: principalChoice,
    ldap_kerberos_keytab_id: principalChoice,
    ldap_validate_certificates: stays('Certificates are always checked.', 'Nothing.', '1'),
    ldap_disable_freenas_cache: stays('It is not a setting here.', 'Nothing.', '0'),
    ldap_netbiosname_a: part,
    ldap_netbiosname_b: stays('It is the name of a second node.', 'Nothing.'),
    ldap_enable: part,
  },
  values: (_row, { old }) => ({ ldap_idmap_backend: backendFor(2, old) }),
};

const nis: Mapping = {
  table: 'directoryservice_nis',
  to: 'directoryservice/nis',
  isSettings: true,
  ...off('nis_enable', 'nis_domain', 'holdfast set directory/nis --enable yes'),
  columns: { ...sames('nis_domain', 'nis_servers', 'nis_secure_mode', 'nis_manycast'), nis_enable: part },
};

const nt4: Mapping = {
  table: 'directoryservice_nt4',
  columns: {},
  isUsual: (row) => !row.flag('nt4_enable'),
  stays: () => stay('NT4 domains do not exist any more.', 'Use Active Directory.'),
};

const kinds: readonly string[] = [
  ...['ad', 'adex', 'autorid', 'fruit', 'hash', 'ldap', 'nss', 'rfc2307', 'rid', 'script', 'tdb', 'tdb2'],
];
const types: Readonly<Record<string, number>> = {
  DS_TYPE_ACTIVEDIRECTORY: 1,
  DS_TYPE_LDAP: 2,
  DS_TYPE_DEFAULT_DOMAIN: 5,
};

const ownColumns: readonly string[] = [
  ...['range_low', 'range_high', 'schema_mode', 'unix_primary_group', 'unix_nss_info', 'rangesize', 'readonly'],
  ...['ignore_builtin', 'range_name_map', 'ldap_base_dn', 'ldap_user_dn', 'ldap_url', 'ssl', 'ldap_server'],
  ...['bind_path_user', 'bind_path_group', 'user_cn', 'cn_realm', 'ldap_domain', 'ldap_user_dn_password'],
  ...['ldap_realm', 'script'],
];

/** Numbers of users of a domain follow from these: they must be the same as before. */
function idmapOf(kind: string): Mapping {
  const domainColumn = `idmap_${kind}_domain_id`;
  return {
    table: `directoryservice_idmap_${kind}`,
    to: `directoryservice/idmap/${kind}`,
    // Opening a form made a row, so most are not in use.
    isUsual: (row, { old }) => {
      const type = typeOf(row, domainColumn);
      if (type === undefined) return false;
      const newer = old
        .rows(row.table)
        .some((one) => Number(one.id) > Number(row.id) && typeOf(one, domainColumn) === type);
      return newer || backendFor(type, old) !== kind;
    },
    stays: (row) =>
      typeOf(row, domainColumn) === undefined
        ? stay('It is of a directory or a trusted domain that has no settings here.', 'Nothing, unless you use it.')
        : undefined,
    columns: {
      idmap_ds_type: part,
      idmap_ds_id: part,
      [domainColumn]: part,
      ...sames(...ownColumns.map((one) => `idmap_${kind}_${one}`)),
      [`idmap_${kind}_certificate_id`]: becomes(`idmap_${kind}_certificate`, authorityOf),
    },
    values: (row) => ({ idmap_ds_type: typeOf(row, domainColumn), idmap_ds_id: 1 }),
  };
}

function typeOf(row: Row, domainColumn: string): number | undefined {
  const type = row.number('idmap_ds_type') ?? types[row.text(domainColumn)];
  return type === 1 || type === 2 || type === 5 ? type : undefined;
}

/** The kind of id map that a directory uses. Where it is stored depends on the version. */
function backendFor(type: number, old: OldDatabase): string | undefined {
  const name = Object.keys(types).find((one) => types[one] === type);
  const named =
    old
      .rows('directoryservice_idmap_domaintobackend')
      .find((row) => row.text('idmap_dtb_domain_id') === name)
      ?.text('idmap_dtb_idmap_backend') ||
    domainRow(name, old)?.text('idmap_domain_idmap_backend') ||
    (type === 1
      ? old.rows('directoryservice_activedirectory').at(-1)?.text('ad_idmap_backend')
      : type === 2
        ? old.rows('directoryservice_ldap').at(-1)?.text('ldap_idmap_backend')
        : 'tdb');
  return named?.toLowerCase() || undefined;
}

const domainRow = (name: string | undefined, old: OldDatabase) =>
  old.rows('directoryservice_idmap_domain').find((row) => row.text('idmap_domain_name') === name);

/** From 12.0 on, one table has the id maps of all kinds. */
const isWhole = (row: Row) => row.has('idmap_domain_range_low');
const kindIn = (row: Row) => row.text('idmap_domain_idmap_backend').toLowerCase();

function optionsIn(row: Row): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(row.text('idmap_domain_options'));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Options that the fields here have under the same names. A certificate and a password are named instead. */
const takenOptions: ReadonlySet<string> = new Set(ownColumns);

const domains: readonly Mapping[] = [
  {
    table: 'directoryservice_idmap_domain',
    toFor: (row) => (kinds.includes(kindIn(row)) ? `directoryservice/idmap/${kindIn(row)}` : undefined),
    // 11.3 has only names there, and a new appliance has a row for each directory.
    isUsual: (row, { old }) => {
      const type = types[row.text('idmap_domain_name')];
      const range = `${row.text('idmap_domain_range_low')}-${row.text('idmap_domain_range_high')}`;
      if (type === 5)
        return !isWhole(row) || (kindIn(row) === 'tdb' && range === '90000001-100000000' && isWithoutOptions(row));
      const [table, column] =
        type === 1 ? ['activedirectory', 'ad_domainname'] : type === 2 ? ['ldap', 'ldap_hostname'] : ['', ''];
      return (
        type !== undefined &&
        (!isWhole(row) || (old.rows(`directoryservice_${table}`).at(-1)?.text(column) ?? '') === '')
      );
    },
    stays: (row) => {
      const name = row.text('idmap_domain_name');
      if (types[name] === undefined)
        return stay(
          isWhole(row)
            ? `${name} is a trusted domain. Its accounts had the numbers from ${row.text('idmap_domain_range_low')} to ${row.text('idmap_domain_range_high')}, by ${kindIn(row)}.`
            : `${name} is a trusted domain, and has no settings here.`,
          'Files of its accounts keep these numbers. Give them to other accounts: chown.',
        );
      return kinds.includes(kindIn(row))
        ? undefined
        : stay(
            `The numbers of ${name} go from ${row.text('idmap_domain_range_low')} to ${row.text('idmap_domain_range_high')}, by ${kindIn(row)}, which does not exist here.`,
            'Choose a map that gives the same numbers: holdfast set directory/ad --help.',
          );
    },
    columns: {
      idmap_domain_name: part,
      idmap_domain_dns_domain_name: nothing('it is the name of the domain in the settings of the directory'),
      idmap_domain_range_low: part,
      idmap_domain_range_high: part,
      idmap_domain_idmap_backend: part,
      idmap_domain_options: part,
      idmap_domain_certificate_id: stays(
        'A certificate cannot be chosen for it.',
        'The authorities that the system trusts are used: import the authority there.',
      ),
    },
    values: (row) => {
      const kind = kindIn(row);
      const field = (name: string) => `idmap_${kind}_${name}`;
      const given = Object.entries(optionsIn(row))
        .filter(([name, value]) => takenOptions.has(name) && value !== null && !isSecretOption(name))
        .map(([name, value]) => [
          field(name),
          typeof value === 'string' && name === 'ssl' ? value.toLowerCase() : value,
        ]);
      return {
        ...Object.fromEntries(given),
        idmap_ds_type: types[row.text('idmap_domain_name')],
        idmap_ds_id: 1,
        [field('range_low')]: row.number('idmap_domain_range_low'),
        [field('range_high')]: row.number('idmap_domain_range_high'),
      };
    },
    remarks: (row) => {
      const names = Object.keys(optionsIn(row)).filter((name) => !takenOptions.has(name) || isSecretOption(name));
      const text = row.text('idmap_domain_options').trim();
      const isBroken = !/^(?:|null)$/.test(text) && names.length === 0 && !text.startsWith('{');
      return names.length === 0 && !isBroken
        ? []
        : [
            {
              column: 'idmap_domain_options',
              reason: isBroken ? 'Its options cannot be read.' : `Its options ${names.join(', ')} were not carried.`,
              remedy: `Look whether you need them: holdfast explain idmap/${kindIn(row)}`,
            },
          ];
    },
  },
  {
    table: 'directoryservice_idmap_domaintobackend',
    columns: { idmap_dtb_domain_id: part, idmap_dtb_idmap_backend: part },
    stays: (row) =>
      types[row.text('idmap_dtb_domain_id')] === undefined
        ? stay(
            `The trusted domain ${row.text('idmap_dtb_domain_id')} used ${row.text('idmap_dtb_idmap_backend')}.`,
            'Nothing, unless files belong to its accounts.',
          )
        : undefined,
  },
];

const isSecretOption = (name: string) => /password/.test(name);
const isWithoutOptions = (row: Row) => Object.keys(optionsIn(row)).length === 0;

export const directory: readonly Mapping[] = [
  ...[realm, keytab, principal, kerberos, domain, ldap, nis, nt4],
  ...kinds.map(idmapOf),
  ...domains,
];
