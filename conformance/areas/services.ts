import { askRecord, ensure } from '../expect.ts';
import { each, flag, integer, maybe, oneOf, oneOfOrUnset, text, texts } from '../kinds.ts';
import { type Area, collection, singleton, story } from '../resource.ts';
import { listed } from '../walk.ts';

/** The switches are there from the beginning. The transition of Part A: a PUT switches a service, at once. */
const switches = story('services/services', async (step, world) => {
  const shape = { id: integer, srv_service: text, srv_enable: flag };
  await listed('services/services', (record) => String(record['srv_service']), shape, step, world);
  const ftp = await step('is read by name', () => askRecord(world, 200, 'GET', 'services/services/ftp/', shape));
  if (ftp === undefined) return;
  for (const [by, key] of [
    ['its name', 'ftp'],
    ['its id', String(ftp['id'])],
  ] as const)
    for (const on of [true, false])
      await step(`srv_enable becomes ${on} by ${by}`, async () => {
        const record = await askRecord(world, 200, 'PUT', `services/services/${key}/`, shape, { srv_enable: on });
        ensure(record['srv_enable'] === on, `it is ${String(record['srv_enable'])}`);
        ensure(record['srv_service'] === 'ftp', 'another service was switched');
      });
  await step('is as it was', () =>
    askRecord(world, 200, 'PUT', 'services/services/ftp/', shape, { srv_enable: ftp['srv_enable'] }),
  );
  await step('is not found under another name', async () =>
    ensure((await world.api.get('services/services/none-of-them/')).status === 404, 'it should answer 404'),
  );
});

const afp = singleton('services/afp', {
  record: {
    afp_srv_guest: flag,
    ...each(text, 'afp_srv_guest_user', 'afp_srv_global_aux'),
    afp_srv_bindip: texts,
    afp_srv_connections_limit: integer,
    afp_srv_dbpath: maybe(text),
  },
  change: () => ({ afp_srv_guest: true, afp_srv_connections_limit: 40 }),
});

const cifs = singleton('services/cifs', {
  record: {
    cifs_srv_authmodel: oneOf('user', 'share'),
    ...each(
      text,
      'cifs_srv_netbiosname',
      'cifs_srv_workgroup',
      'cifs_srv_description',
      'cifs_srv_guest',
      'cifs_srv_filemask',
      'cifs_srv_dirmask',
      'cifs_srv_smb_options',
    ),
    ...each(text, 'cifs_srv_max_protocol', 'cifs_srv_min_protocol'),
    cifs_srv_doscharset: oneOf(
      'CP437',
      'CP850',
      'CP852',
      'CP866',
      'CP932',
      'CP949',
      'CP950',
      'CP1026',
      'CP1251',
      'ASCII',
    ),
    cifs_srv_unixcharset: oneOf('UTF-8', 'iso-8859-1', 'iso-8859-15', 'gb2312', 'EUC-JP', 'ASCII'),
    // A sample record of the document shows 0.
    cifs_srv_loglevel: oneOf('0', '1', '2', '3', '10'),
    ...each(
      flag,
      'cifs_srv_localmaster',
      'cifs_srv_timeserver',
      'cifs_srv_nullpw',
      'cifs_srv_allow_execute_always',
      'cifs_srv_syslog',
      'cifs_srv_unixext',
    ),
    ...each(
      flag,
      'cifs_srv_obey_pam_restrictions',
      'cifs_srv_domain_logons',
      'cifs_srv_aio_enable',
      'cifs_srv_zeroconf',
      'cifs_srv_hostlookup',
    ),
    ...each(integer, 'cifs_srv_aio_rs', 'cifs_srv_aio_ws'),
  },
  change: () => ({ cifs_srv_description: 'A server', cifs_srv_dirmask: '0777', cifs_srv_localmaster: true }),
});

const domainController = singleton('services/domaincontroller', {
  record: {
    ...each(text, 'dc_realm', 'dc_domain', 'dc_dns_forwarder', 'dc_passwd'),
    dc_role: oneOf('dc'),
    // The document leaves out the product's name in the first.
    dc_dns_backend: oneOf('SAMBA_INTERNAL', 'BIND9_FLATFILE', 'BIND9_DLZ', 'NONE'),
    dc_forest_level: oneOf('2000', '2003', '2008', '2008_R2'),
    dc_kerberos_realm: maybe(integer),
  },
  change: () => ({
    dc_realm: 'corp.example.com',
    dc_domain: 'CORP',
    dc_dns_forwarder: '192.0.2.53',
    dc_passwd: 'Abcd1234 abcd',
  }),
});

const dynamicDns = singleton('services/dynamicdns', {
  record: {
    ...each(
      text,
      'ddns_provider',
      'ddns_domain',
      'ddns_username',
      'ddns_password',
      'ddns_checkip_server',
      'ddns_checkip_path',
    ),
    ...each(text, 'ddns_custom_ddns_server', 'ddns_custom_ddns_path'),
    ddns_period: integer,
    ...each(flag, 'ddns_ssl', 'ddns_checkip_ssl'),
  },
  change: () => ({
    ddns_provider: 'default@no-ip.com',
    ddns_domain: 'nas.example.com',
    ddns_username: 'mary',
    ddns_password: 'secret',
    ddns_period: 600,
  }),
});

const ftp = singleton('services/ftp', {
  record: {
    ...each(
      integer,
      'ftp_port',
      'ftp_clients',
      'ftp_ipconnections',
      'ftp_loginattempt',
      'ftp_timeout',
      'ftp_passiveportsmin',
      'ftp_passiveportsmax',
    ),
    ...each(integer, 'ftp_localuserbw', 'ftp_localuserdlbw', 'ftp_anonuserbw', 'ftp_anonuserdlbw'),
    ...each(
      flag,
      'ftp_rootlogin',
      'ftp_onlyanonymous',
      'ftp_onlylocal',
      'ftp_fxp',
      'ftp_resume',
      'ftp_defaultroot',
      'ftp_ident',
      'ftp_reversedns',
      'ftp_tls',
    ),
    ...each(
      flag,
      'ftp_tls_opt_allow_client_renegotiations',
      'ftp_tls_opt_allow_dot_login',
      'ftp_tls_opt_allow_per_user',
      'ftp_tls_opt_common_name_required',
    ),
    ...each(
      flag,
      'ftp_tls_opt_dns_name_required',
      'ftp_tls_opt_enable_diags',
      'ftp_tls_opt_export_cert_data',
      'ftp_tls_opt_ip_address_required',
    ),
    ...each(
      flag,
      'ftp_tls_opt_no_cert_request',
      'ftp_tls_opt_no_empty_fragments',
      'ftp_tls_opt_no_session_reuse_required',
      'ftp_tls_opt_stdenvvars',
    ),
    ftp_tls_opt_use_implicit_ssl: flag,
    ftp_anonpath: maybe(text),
    ...each(
      text,
      'ftp_banner',
      'ftp_filemask',
      'ftp_dirmask',
      'ftp_masqaddress',
      'ftp_tls_policy',
      'ftp_ssltls_certfile',
      'ftp_options',
    ),
  },
  change: () => ({ ftp_clients: 10, ftp_banner: 'Welcome', ftp_passiveportsmin: 50_000, ftp_passiveportsmax: 50_100 }),
});

const lldp = singleton('services/lldp', {
  record: { lldp_country: text, lldp_location: text, lldp_intdesc: flag },
  change: () => ({ lldp_intdesc: false, lldp_country: 'DE', lldp_location: 'Rack 7' }),
});

const nfs = singleton('services/nfs', {
  record: {
    nfs_srv_servers: integer,
    ...each(flag, 'nfs_srv_allow_nonroot', 'nfs_srv_udp', 'nfs_srv_v4', 'nfs_srv_v4_krb', 'nfs_srv_16'),
    nfs_srv_bindip: texts,
    ...each(maybe(integer), 'nfs_srv_mountd_port', 'nfs_srv_rpcstatd_port', 'nfs_srv_rpclockd_port'),
  },
  change: () => ({ nfs_srv_servers: 10, nfs_srv_allow_nonroot: true }),
});

const rsyncd = singleton('services/rsyncd', {
  record: { rsyncd_port: integer, rsyncd_auxiliary: text },
  change: () => ({ rsyncd_port: 874 }),
});

const rsyncModules = collection('services/rsyncmod', {
  record: {
    ...each(
      text,
      'rsyncmod_name',
      'rsyncmod_comment',
      'rsyncmod_path',
      'rsyncmod_user',
      'rsyncmod_group',
      'rsyncmod_hostsallow',
      'rsyncmod_hostsdeny',
      'rsyncmod_auxiliary',
    ),
    rsyncmod_mode: oneOf('ro', 'wo', 'rw'),
    rsyncmod_maxconn: integer,
  },
  create: (world) => ({
    rsyncmod_name: world.name('module'),
    rsyncmod_path: `/mnt/${world.target.volume}`,
    rsyncmod_mode: 'rw',
  }),
  change: (world) => ({ rsyncmod_name: world.name('module'), rsyncmod_maxconn: 5 }),
});

const smart = singleton('services/smart', {
  record: {
    ...each(integer, 'smart_interval', 'smart_difference', 'smart_informational', 'smart_critical'),
    smart_powermode: oneOf('never', 'sleep', 'standby', 'idle'),
    smart_email: text,
  },
  change: () => ({ smart_interval: 60, smart_critical: 55 }),
});

const snmp = singleton('services/snmp', {
  record: { ...each(text, 'snmp_location', 'snmp_contact', 'snmp_community', 'snmp_options'), snmp_traps: flag },
  change: () => ({ snmp_contact: 'admin@example.com', snmp_location: 'Rack 7' }),
});

const ssh = singleton('services/ssh', {
  record: {
    ssh_bindiface: texts,
    ssh_tcpport: integer,
    ...each(flag, 'ssh_rootlogin', 'ssh_passwordauth', 'ssh_tcpfwd', 'ssh_compression'),
    ...each(text, 'ssh_privatekey', 'ssh_options'),
    // A machine has keys of some kinds only.
    ...each(maybe(text), 'ssh_host_key', 'ssh_host_key_pub', 'ssh_host_dsa_key', 'ssh_host_dsa_key_pub'),
    ...each(maybe(text), 'ssh_host_ecdsa_key', 'ssh_host_ecdsa_key_pub', 'ssh_host_rsa_key', 'ssh_host_rsa_key_pub'),
    ssh_sftp_log_level: oneOfOrUnset('QUIET', 'FATAL', 'ERROR', 'INFO', 'VERBOSE', 'DEBUG', 'DEBUG2', 'DEBUG3'),
    ssh_sftp_log_facility: oneOfOrUnset(
      'DAEMON',
      'USER',
      'AUTH',
      'LOCAL0',
      'LOCAL1',
      'LOCAL2',
      'LOCAL3',
      'LOCAL4',
      'LOCAL5',
      'LOCAL6',
      'LOCAL7',
    ),
  },
  change: () => ({ ssh_tcpport: 2222, ssh_tcpfwd: true }),
});

const tftp = singleton('services/tftp', {
  record: {
    ...each(text, 'tftp_directory', 'tftp_username', 'tftp_umask', 'tftp_options'),
    tftp_newfiles: flag,
    tftp_port: integer,
  },
  change: (world) => ({ tftp_directory: `/mnt/${world.target.volume}`, tftp_port: 6969 }),
});

const ups = singleton('services/ups', {
  record: {
    ups_mode: oneOf('master', 'slave'),
    ...each(
      text,
      'ups_identifier',
      'ups_driver',
      'ups_port',
      'ups_remotehost',
      'ups_options',
      'ups_description',
      'ups_monuser',
      'ups_monpwd',
    ),
    ...each(text, 'ups_extrausers', 'ups_toemail', 'ups_subject'),
    ups_shutdown: oneOf('lowbatt', 'batt'),
    ...each(integer, 'ups_remoteport', 'ups_shutdowntimer'),
    ups_nocommwarntime: maybe(integer),
    ...each(flag, 'ups_rmonitor', 'ups_emailnotify'),
  },
  change: () => ({ ups_port: '/dev/ttyS0', ups_rmonitor: true }),
  choices: { along: { ups_mode: (mode) => (mode === 'slave' ? { ups_remotehost: 'ups.example.com' } : {}) } },
});

export const servicesArea: Area = {
  name: 'services',
  resources: [
    switches,
    afp,
    cifs,
    domainController,
    dynamicDns,
    ftp,
    lldp,
    nfs,
    rsyncd,
    rsyncModules,
    smart,
    snmp,
    ssh,
    tftp,
    ups,
  ],
};
