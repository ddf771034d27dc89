/** Settings of services. Which of them run is decided by people, since the old machine may still be on the network. */
import type { Row } from './database.ts';
import { nameHere } from './interfaces.ts';
import {
  becomes,
  type Column,
  commas,
  isStay,
  keyIn,
  lower,
  type Mapping,
  nothing,
  part,
  sames,
  stay,
  stays,
  type Target,
  volumeProblem,
} from './mapping.ts';
import { foreignLines, linesFor } from './sharing.ts';

const lines = (column: string): Readonly<Record<string, Column>> => ({
  [column]: becomes(column, (row) => linesFor(row, column)),
});
const folder = (column: string): Readonly<Record<string, Column>> => ({
  [column]: becomes(column, (row, target) => {
    const path = row.text(column);
    return path === '' ? undefined : (volumeProblem(path, target) ?? path);
  }),
});
const list = (column: string): Readonly<Record<string, Column>> => ({ [column]: becomes(column, commas) });

const counterparts: ReadonlySet<string> = new Set([
  ...['afp', 'cifs', 'dynamicdns', 'ftp', 'iscsitarget', 'lldp', 'nfs', 'rsync', 'smartd', 'snmp', 'ssh', 'tftp'],
  ...['ups', 'webdav', 'domaincontroller'],
]);

const switches: Mapping = {
  table: 'services_services',
  isUsual: (row) => !row.flag('srv_enable'),
  columns: { srv_service: part, srv_enable: part },
  stays: (row) => {
    const name = row.text('srv_service');
    return counterparts.has(name)
      ? stay(
          `The service ${name} was switched on. The file switches none on, because the old appliance may still run.`,
          `When it is off: holdfast set service ${name === 'cifs' ? 'smb' : name} --on yes`,
        )
      : stay(`The service ${name} was switched on and does not exist here.`, 'Look what does the same.');
  },
};

const settings = (
  name: string,
  columns: Mapping['columns'],
  further: Partial<Mapping> & { readonly table?: string } = {},
): Mapping => ({ table: `services_${name}`, to: `services/${name}`, isSettings: true, columns, ...further });

const afp = settings(
  'afp',
  {
    ...sames('afp_srv_guest', 'afp_srv_guest_user', 'afp_srv_connections_limit', 'afp_srv_map_acls'),
    ...sames('afp_srv_chmod_request'),
    ...list('afp_srv_bindip'),
    ...folder('afp_srv_dbpath'),
    ...lines('afp_srv_global_aux'),
    afp_srv_homedir_enable: stays(
      'Homes are a share with home here.',
      'Make one: holdfast create share/afp --home yes',
      '0',
    ),
    afp_srv_homedir: stays('Homes are a share with home here.', 'Give it to that share as its path.'),
    afp_srv_homename: stays('Homes are a share with home here.', 'Give it to that share as its name.'),
    afp_srv_hometimemachine: stays('Homes are a share with home here.', 'Switch timemachine on for that share.', '0'),
    afp_srv_loglevel: stays('The level of the log cannot be set here.', 'Nothing.', 'MINIMUM'),
  },
  { remarks: (row) => foreignLines(row, 'afp_srv_global_aux', 'in afp.conf') },
);

const smb = settings(
  'cifs',
  {
    ...sames('cifs_srv_netbiosname', 'cifs_srv_netbiosalias', 'cifs_srv_workgroup', 'cifs_srv_description'),
    ...sames('cifs_srv_enable_smb1', 'cifs_srv_doscharset', 'cifs_srv_loglevel', 'cifs_srv_syslog'),
    ...sames('cifs_srv_localmaster', 'cifs_srv_domain_logons', 'cifs_srv_timeserver', 'cifs_srv_guest'),
    ...sames('cifs_srv_admin_group', 'cifs_srv_filemask', 'cifs_srv_dirmask', 'cifs_srv_nullpw', 'cifs_srv_unixext'),
    ...sames('cifs_srv_aio_enable', 'cifs_srv_aio_rs', 'cifs_srv_aio_ws', 'cifs_srv_zeroconf', 'cifs_srv_hostlookup'),
    ...sames('cifs_srv_min_protocol', 'cifs_srv_max_protocol', 'cifs_srv_allow_execute_always'),
    ...sames('cifs_srv_obey_pam_restrictions', 'cifs_srv_ntlmv1_auth', 'cifs_srv_authmodel'),
    cifs_srv_unixcharset: becomes('cifs_srv_unixcharset', (row, _target, column) => {
      const name = row.text(column);
      return name === '' ? undefined : /^utf-8$/i.test(name) ? 'UTF-8' : name.toLowerCase();
    }),
    ...list('cifs_srv_bindip'),
    ...lines('cifs_srv_smb_options'),
    cifs_srv_netbiosname_b: stays('It is the name of a second node.', 'Nothing.'),
    cifs_SID: stays(
      'A file gives no machine its SID.',
      'Access lists in files that name local accounts by it do not fit.',
    ),
    cifs_srv_aapl_extensions: stays(
      'It follows from the shares for Time Machine.',
      'Switch timemachine on for one.',
      '0',
    ),
    cifs_srv_next_rid: nothing('it is state of Samba'),
    cifs_srv_secrets: nothing('it is state of Samba, which is made again when the machine joins'),
  },
  { remarks: (row) => foreignLines(row, 'cifs_srv_smb_options', 'in smb.conf') },
);

const domain = settings(
  'domaincontroller',
  {
    ...sames('dc_realm', 'dc_domain', 'dc_role', 'dc_dns_backend', 'dc_dns_forwarder', 'dc_forest_level', 'dc_passwd'),
    dc_kerberos_realm_id: becomes('dc_kerberos_realm', keyIn('directoryservice_kerberosrealm')),
  },
  {
    isUsual: (row) => row.text('dc_realm') === '',
    stays: (row) =>
      stay(
        `The old appliance may have been a domain controller for ${row.text('dc_realm')}. Its accounts are not in the database.`,
        'Join this machine to the old domain, and move the roles before you switch the old appliance off.',
      ),
  },
);

const dynamic = settings('dynamicdns', {
  ...sames('ddns_provider', 'ddns_checkip_ssl', 'ddns_checkip_server', 'ddns_checkip_path', 'ddns_ssl'),
  ...sames('ddns_custom_ddns_server', 'ddns_custom_ddns_path', 'ddns_domain', 'ddns_username', 'ddns_password'),
  ...sames('ddns_period'),
  ddns_ipserver: stays(
    'The server that tells the address is set in two fields here.',
    'Set checkip_server and checkip_path.',
    'checkip.dyndns.org:80 /.',
  ),
  ddns_updateperiod: becomes(
    'ddns_period',
    (row, _target, column) =>
      row.number(column) ??
      (row.text(column) === ''
        ? undefined
        : stay(`The period ${row.text(column)} is not a number of seconds.`, 'Set another one.')),
  ),
  ddns_fupdateperiod: stays('A forced update does not exist here.', 'Nothing.'),
  ddns_options: stays('The options are of another program.', 'Set the provider and the custom server by hand.'),
});

const ftp = settings(
  'ftp',
  {
    ...sames('ftp_port', 'ftp_clients', 'ftp_ipconnections', 'ftp_loginattempt', 'ftp_timeout', 'ftp_rootlogin'),
    ...sames(
      'ftp_onlyanonymous',
      'ftp_onlylocal',
      'ftp_banner',
      'ftp_filemask',
      'ftp_dirmask',
      'ftp_fxp',
      'ftp_resume',
    ),
    ...sames('ftp_defaultroot', 'ftp_ident', 'ftp_reversedns', 'ftp_masqaddress', 'ftp_passiveportsmin'),
    ...sames('ftp_passiveportsmax', 'ftp_localuserbw', 'ftp_localuserdlbw', 'ftp_anonuserbw', 'ftp_anonuserdlbw'),
    ...sames('ftp_tls', 'ftp_tls_policy'),
    ...sames(
      ...['allow_client_renegotiations', 'allow_dot_login', 'allow_per_user', 'common_name_required', 'enable_diags']
        .concat(['export_cert_data', 'no_cert_request', 'no_empty_fragments', 'no_session_reuse_required'])
        .concat(['stdenvvars', 'dns_name_required', 'ip_address_required'])
        .map((one) => `ftp_tls_opt_${one}`),
    ),
    ...folder('ftp_anonpath'),
    ...lines('ftp_options'),
    ftp_ssltls_certificate_id: becomes('ftp_ssltls_certificate', keyIn('system_certificate')),
  },
  { remarks: (row) => foreignLines(row, 'ftp_options', 'in proftpd.conf') },
);

const lldp = settings('lldp', sames('lldp_intdesc', 'lldp_country', 'lldp_location'));

const nfs = settings('nfs', {
  ...sames('nfs_srv_servers', 'nfs_srv_udp', 'nfs_srv_allow_nonroot', 'nfs_srv_v4', 'nfs_srv_v4_v3owner'),
  ...sames('nfs_srv_v4_krb', 'nfs_srv_mountd_port', 'nfs_srv_rpcstatd_port', 'nfs_srv_rpclockd_port', 'nfs_srv_16'),
  ...sames('nfs_srv_mountd_log', 'nfs_srv_statd_lockd_log'),
  ...list('nfs_srv_bindip'),
  nfs_srv_v4_domain: stays(
    'The domain of NFSv4 follows from the name of the machine.',
    'Set the domain of the machine.',
  ),
  nfs_srv_v4_owner_major: stays('It is a setting of FreeBSD.', 'Nothing.'),
});

const rsyncd = settings(
  'rsyncd',
  { ...sames('rsyncd_port'), ...lines('rsyncd_auxiliary') },
  {
    remarks: (row) => foreignLines(row, 'rsyncd_auxiliary', 'in rsyncd.conf'),
  },
);

const rsyncModule: Mapping = {
  table: 'services_rsyncmod',
  to: 'services/rsyncmod',
  stays: (row) =>
    row.text('rsyncmod_enabled') !== '' && !row.flag('rsyncmod_enabled')
      ? stay(`The module ${row.text('rsyncmod_name')} was disabled.`, 'Make it when it is needed.')
      : undefined,
  columns: {
    ...sames('rsyncmod_name', 'rsyncmod_comment', 'rsyncmod_mode', 'rsyncmod_maxconn', 'rsyncmod_user'),
    ...sames('rsyncmod_group', 'rsyncmod_hostsallow', 'rsyncmod_hostsdeny'),
    ...folder('rsyncmod_path'),
    ...lines('rsyncmod_auxiliary'),
    rsyncmod_enabled: part,
  },
  remarks: (row) => foreignLines(row, 'rsyncmod_auxiliary', 'in rsyncd.conf'),
};

const smart = settings('smart', {
  ...sames('smart_interval', 'smart_difference', 'smart_informational', 'smart_critical', 'smart_email'),
  smart_powermode: becomes('smart_powermode', lower),
});

const snmp = settings(
  'snmp',
  {
    ...sames('snmp_location', 'snmp_contact', 'snmp_traps', 'snmp_v3', 'snmp_community', 'snmp_v3_username'),
    ...sames('snmp_v3_authtype', 'snmp_v3_password', 'snmp_v3_privpassphrase', 'snmp_loglevel', 'snmp_zilstat'),
    snmp_v3_privproto: becomes('snmp_v3_privproto', (row, _target, column) => row.text(column) || undefined),
    ...lines('snmp_options'),
    snmp_iftop: stays('This part of the agent does not exist here.', 'Nothing.', '0'),
  },
  { remarks: (row) => foreignLines(row, 'snmp_options', 'in snmpd.conf') },
);

const hostKeys = ['ssh_host_dsa_key', 'ssh_host_ecdsa_key', 'ssh_host_ed25519_key', 'ssh_host_key', 'ssh_host_rsa_key'];

const ssh = settings(
  'ssh',
  {
    ...sames('ssh_tcpport', 'ssh_rootlogin', 'ssh_passwordauth', 'ssh_kerberosauth', 'ssh_tcpfwd', 'ssh_compression'),
    ...sames('ssh_privatekey', 'ssh_sftp_log_level', 'ssh_sftp_log_facility'),
    ssh_bindiface: becomes('ssh_bindiface', (row, target, column) => {
      const names = commas(row, target, column);
      const old = Array.isArray(names) ? names.map(String) : [];
      const here = old.map((name) => nameHere(name, target));
      const why = here.find(isStay);
      if (why !== undefined) return why;
      const unmade = here.filter((name) => !target.nics.some((link) => link.name === name));
      if (unmade.length > 0)
        return stay(
          `It names ${unmade.join(', ')}, which this file makes, and SSH is bound to interfaces that exist.`,
          'Apply the file, and set it then: holdfast set service/ssh --bindiface NAME.',
        );
      return old.length === 0 ? undefined : here;
    }),
    ...lines('ssh_options'),
    ssh_weak_ciphers: stays('It is not a setting here.', 'Use the options, if an old client needs one.', '[]'),
    ...Object.fromEntries(
      hostKeys.flatMap((name) => [
        [
          name,
          stays(
            'A file gives no machine its host keys.',
            'Copy the keys of /etc/ssh from the old appliance, if clients must not be warned.',
          ),
        ],
        [`${name}_pub`, nothing('it follows from the private key')],
        [`${name}_cert_pub`, nothing('it follows from the private key')],
      ]),
    ),
  },
  { remarks: (row) => foreignLines(row, 'ssh_options', 'in sshd_config') },
);

const tftp = settings('tftp', {
  ...folder('tftp_directory'),
  ...sames('tftp_newfiles', 'tftp_host', 'tftp_port', 'tftp_username', 'tftp_umask', 'tftp_options'),
});

const ups = settings('ups', {
  ...sames('ups_mode', 'ups_identifier', 'ups_remotehost', 'ups_remoteport', 'ups_driver', 'ups_options'),
  ...sames('ups_optionsupsd', 'ups_description', 'ups_shutdown', 'ups_shutdowntimer', 'ups_nocommwarntime'),
  ...sames('ups_monuser', 'ups_monpwd', 'ups_extrausers', 'ups_rmonitor', 'ups_emailnotify', 'ups_toemail'),
  ...sames('ups_subject', 'ups_powerdown'),
  ups_port: becomes('ups_port', (row, _target, column) => upsPort(row.text(column))),
  ups_shutdowncmd: becomes('ups_shutdowncmd', (row, _target, column) => {
    const command = row.text(column);
    return command === '' || command === '/sbin/shutdown -p now' ? undefined : command;
  }),
  ups_hostsync: stays('This time cannot be set here.', 'Nothing.', '15'),
});

function upsPort(port: string) {
  if (port === '') return undefined;
  if (/^\/dev\/u(?:gen|sb)/.test(port)) return 'auto';
  return port.startsWith('/dev/')
    ? stay(
        `${port} is a device of FreeBSD.`,
        'Set port to the device here: /dev/ttyUSB0 for an adapter, /dev/ttyS0 for a serial port.',
      )
    : port;
}

const webdav = settings('webdav', {
  ...sames('webdav_tcpport', 'webdav_tcpportssl', 'webdav_password'),
  webdav_protocol: becomes('webdav_protocol', lower),
  webdav_htauth: becomes('webdav_htauth', lower),
  webdav_certssl_id: becomes('webdav_certssl', keyIn('system_certificate')),
});

/** A service without a counterpart, whose settings are named when it was switched on. */
const absent = (table: string, service: string, title: string): Mapping => ({
  table,
  columns: {},
  isUsual: (_row: Row, { old }: Target) =>
    !old.rows('services_services').some((one) => one.text('srv_service') === service && one.flag('srv_enable')),
  stays: () => stay(`${title} does not exist here.`, 'Run it on another machine, or in a jail.'),
});

export const services: readonly Mapping[] = [
  ...[switches, afp, smb, domain, dynamic, ftp, lldp, nfs, rsyncd, rsyncModule, smart, snmp, ssh, tftp, ups, webdav],
  absent('services_s3', 's3', 'The S3 service'),
  absent('services_asigra', 'asigra', 'The Asigra service'),
  absent('services_netdataglobalsettings', 'netdata', 'Netdata'),
  absent('services_openvpnclient', 'openvpn_client', 'The OpenVPN client'),
  absent('services_openvpnserver', 'openvpn_server', 'The OpenVPN server'),
];
