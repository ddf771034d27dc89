/** Settings of the system, mail, time servers, tunables and certificates. */
import type { Row } from './database.ts';
import { becomes, type Mapping, nothing, part, same, sames, stay, stays } from './mapping.ts';
import { unreadable } from './secrets.ts';

const ofMachine = (what: string, ...usual: readonly string[]) =>
  stays(
    `${what} belongs to the old machine, and another one could cut you off.`,
    'Set it by hand: holdfast set system.',
    ...usual,
  );

const settings: Mapping = {
  table: 'system_settings',
  to: 'system/settings',
  isSettings: true,
  columns: {
    ...sames('stg_language', 'stg_timezone', 'stg_sysloglevel', 'stg_syslogserver'),
    stg_guiprotocol: ofMachine('The protocol of the interface', 'http'),
    stg_guicertificate_id: ofMachine('The certificate of the interface'),
    stg_guiaddress: ofMachine('The address of the interface', '0.0.0.0', '["0.0.0.0"]'),
    stg_guiv6address: ofMachine('The address of the interface', '::', '["::"]'),
    stg_guiport: ofMachine('The port of the interface', '80'),
    stg_guihttpsport: ofMachine('The port of the interface', '443'),
    stg_guihttpsredirect: ofMachine('The redirection to HTTPS', '0', '1'),
    stg_kbdmap: becomes('stg_kbdmap', (row, _target, column) => {
      const [language = ''] = row.text(column).split('.');
      const given = row.text(column);
      if (/^[a-z]{2}$/.test(language)) return language;
      return given === ''
        ? undefined
        : stay(`The layout ${given} of the keyboard has another name here.`, 'Choose it: holdfast explain system.');
    }),
    ...Object.fromEntries(
      ['wizardshown', 'pwenc_check', 'crash_reporting', 'usage_collection', 'birthday', 'guihttpsprotocols'].map(
        (one) => [`stg_${one}`, nothing('it is state of the old appliance')],
      ),
    ),
  },
  // From 12 on they are in another table.
  values: (row, { old }) => {
    const other = row.has('stg_syslogserver') ? undefined : old.rows('system_advanced').at(-1);
    return {
      stg_sysloglevel: other?.text('adv_sysloglevel') || undefined,
      stg_syslogserver: other?.text('adv_syslogserver') || undefined,
    };
  },
};

const gone = (...usual: readonly string[]) => stays('It does not exist here.', 'Nothing.', ...usual);
const advanced: Mapping = {
  table: 'system_advanced',
  to: 'system/advanced',
  isSettings: true,
  columns: {
    ...sames('adv_powerdaemon', 'adv_consolemsg', 'adv_traceback', 'adv_advancedmode', 'adv_motd'),
    ...sames('adv_uploadcrash'),
    adv_consolemenu: stays('The console belongs to the old machine.', 'Set it by hand.', '0', '1'),
    adv_serialconsole: stays('The console belongs to the old machine.', 'Set it by hand.', '0'),
    adv_serialport: stays('The console belongs to the old machine.', 'Set it by hand.', '0x2f8', '0x3f8'),
    adv_serialspeed: stays('The console belongs to the old machine.', 'Set it by hand.', '9600'),
    adv_swapondrive: stays('The layout of disks belongs to the old machine.', 'Set it by hand.', '2'),
    adv_autotune: gone('0'),
    adv_debugkernel: gone('0'),
    adv_consolescreensaver: gone('0'),
    adv_boot_scrub: gone('7', '35'),
    adv_periodic_notifyuser: gone('root'),
    adv_cpu_in_percentage: gone('0'),
    adv_graphite: stays('Statistics are not sent in this form.', 'Let Prometheus read the metrics.'),
    adv_fqdn_syslog: gone('0'),
    adv_sed_user: gone('user'),
    adv_sed_passwd: stays('Drives that encrypt themselves are not unlocked here.', 'Unlock them by hand.'),
    adv_ixalert: gone('0', '1'),
    adv_ixfailsafe_email: gone(),
    adv_legacy_ui: gone('0'),
    adv_overprovision: gone(),
    adv_kmip_uid: gone(),
    adv_anonstats: nothing('no statistics are sent'),
    adv_anonstats_token: nothing('no statistics are sent'),
    adv_sysloglevel: part,
    adv_syslogserver: part,
    adv_syslog_transport: gone('UDP'),
    adv_syslog_tls_certificate_id: gone(),
    adv_syslog_tls_certificate_authority_id: gone(),
  },
};

const email: Mapping = {
  table: 'system_email',
  to: 'system/email',
  isSettings: true,
  columns: {
    ...sames('em_fromemail', 'em_outgoingserver', 'em_port', 'em_smtp', 'em_user', 'em_pass'),
    em_security: becomes('em_security', (row, _target, column) => row.text(column).toLowerCase() || undefined),
    em_fromname: stays('Messages have no name beside the address.', 'Nothing.'),
    em_oauth: stays(
      'Logging in by OAuth does not exist here.',
      'Set a password for programs at your provider.',
      '{}',
      'null',
    ),
  },
};

const ntp: Mapping = {
  table: 'system_ntpserver',
  to: 'system/ntpserver',
  isUsual: (row) => /^[0-3]\.freebsd\.pool\.ntp\.org$/.test(row.text('ntp_address')),
  columns: { ...sames('ntp_address', 'ntp_burst', 'ntp_iburst', 'ntp_prefer', 'ntp_minpoll', 'ntp_maxpoll') },
};

/** What the settings of the other kernel are called here. */
const counterparts: readonly (readonly [RegExp, string])[] = [
  [/^vfs\.zfs\.arc[._]max$/, 'zfs.zfs_arc_max of the type rc'],
  [/^vfs\.zfs\.arc[._]min$/, 'zfs.zfs_arc_min of the type rc'],
  [/^vfs\.zfs\.prefetch_disable$/, 'zfs.zfs_prefetch_disable of the type rc'],
  [/^vfs\.zfs\.txg\.timeout$/, 'zfs.zfs_txg_timeout of the type rc'],
  [/^vfs\.zfs\.l2arc_/, 'zfs.l2arc_… of the type rc'],
  [/^net\.inet\.ip\.forwarding$/, 'net.ipv4.ip_forward of the type sysctl'],
  [/^kern\.ipc\.maxsockbuf$/, 'net.core.rmem_max and net.core.wmem_max of the type sysctl'],
  [/^kern\.ipc\.(?:somaxconn|soacceptqueue)$/, 'net.core.somaxconn of the type sysctl'],
  [/^kern\.maxfiles$/, 'fs.file-max of the type sysctl'],
];

const tunable: Mapping = {
  table: 'system_tunable',
  columns: { ...Object.fromEntries(['var', 'value', 'type', 'comment', 'enabled'].map((one) => [`tun_${one}`, part])) },
  isUsual: (row) => row.text('tun_comment').includes('Generated by autotune'),
  stays: (row) => {
    const name = row.text('tun_var');
    const other = counterparts.find(([form]) => form.test(name))?.[1];
    return stay(
      `The tunable ${name} = ${row.text('tun_value')} is a setting of FreeBSD.`,
      other === undefined
        ? 'Nothing: it has no counterpart on Linux.'
        : `On Linux it is ${other}, if you still want it.`,
    );
  },
};

// Certificates --------------------------------------------------------------------------------------------------------

const certificateColumns: Mapping['columns'] = {
  cert_type: part,
  cert_name: same,
  cert_certificate: same,
  cert_privatekey: becomes('cert_privatekey', (row, _target, column) => row.text(column) || undefined),
  cert_CSR: part,
  ...Object.fromEntries(
    ['key_length', 'digest_algorithm', 'lifetime', 'country', 'state', 'city', 'organization', 'email', 'common']
      .concat(['san', 'serial', 'chain'])
      .map((one) => [`cert_${one}`, nothing('it is read from the certificate')]),
  ),
  cert_signedby_id: nothing('it is read from the certificate'),
  cert_acme_id: part,
  cert_acme_uri: part,
  cert_domains_authenticators: part,
  cert_renew_days: part,
  cert_revoked_date: part,
};

const isEmpty = (row: Row) => row.text('cert_certificate').trim() === '';

const authority: Mapping = {
  table: 'system_certificateauthority',
  to: 'system/certificateauthority',
  stays: (row) => (isEmpty(row) ? stay('The authority has no certificate.', 'Nothing.') : undefined),
  columns: certificateColumns,
};

const certificate: Mapping = {
  table: 'system_certificate',
  to: 'system/certificate',
  stays: (row) => {
    const name = row.text('cert_name');
    if (isEmpty(row))
      return stay(`${name} is a signing request without a certificate.`, 'Make the request here, and have it signed.');
    return row.cell('cert_privatekey') === unreadable || row.text('cert_privatekey') === ''
      ? stay(
          `The private key of the certificate ${name} is missing or cannot be read.`,
          'Import it with its key by hand.',
        )
      : undefined;
  },
  columns: certificateColumns,
  remarks: (row) => [
    ...(row.text('cert_acme_id') === ''
      ? []
      : [
          {
            column: 'cert_acme_id',
            reason: 'It was renewed by ACME, and is not renewed here.',
            remedy: 'Set up ACME.',
          },
        ]),
    ...(row.text('cert_revoked_date') === ''
      ? []
      : [{ column: 'cert_revoked_date', reason: 'It was revoked.', remedy: 'Do not use it.' }]),
  ],
};

export const certificates: readonly Mapping[] = [authority, certificate];
export const system: readonly Mapping[] = [settings, advanced, email, ntp, tunable];
