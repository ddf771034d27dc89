/** What a subsystem writes for records, its reader reads as records for which it writes the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cifsSettings } from '../../src/areas/services/cifs.ts';
import { iscsiCredential } from '../../src/areas/services/iscsi/authcredential.ts';
import { iscsiInitiators } from '../../src/areas/services/iscsi/authorizedinitiator.ts';
import { iscsiExtent } from '../../src/areas/services/iscsi/extent.ts';
import { iscsiPortal } from '../../src/areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../src/areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../src/areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../src/areas/services/iscsi/targettoextent.ts';
import { nfsSettings } from '../../src/areas/services/nfs.ts';
import { rsyncdSettings } from '../../src/areas/services/rsyncd.ts';
import { rsyncModule } from '../../src/areas/services/rsyncmod.ts';
import { snmpSettings } from '../../src/areas/services/snmp.ts';
import { sshSettings } from '../../src/areas/services/ssh.ts';
import { upsSettings } from '../../src/areas/services/ups.ts';
import { cifsShare } from '../../src/areas/sharing/cifs.ts';
import { nfsShare } from '../../src/areas/sharing/nfs.ts';
import type { Collection, Singleton } from '../../src/engine/declare/resource.ts';
import type { Subsystem } from '../../src/engine/declare/subsystem.ts';
import type { Dataset } from '../../src/host/ports/zfs.ts';
import { cronSubsystem } from '../../src/subsystems/cron/subsystem.ts';
import { iscsiSubsystem } from '../../src/subsystems/iscsi/subsystem.ts';
import { nfsSubsystem } from '../../src/subsystems/nfs/subsystem.ts';
import { rsyncdSubsystem } from '../../src/subsystems/rsyncd/subsystem.ts';
import { sambaSubsystem } from '../../src/subsystems/samba/subsystem.ts';
import { snmpSubsystem } from '../../src/subsystems/snmp/subsystem.ts';
import { sshSubsystem } from '../../src/subsystems/ssh/subsystem.ts';
import { upsSubsystem } from '../../src/subsystems/ups/subsystem.ts';
import { configured, contents, type Made, readBy, type Values } from './support/adoption.ts';
import { freshConfiguration, machine, switchOn } from './support/configuration.ts';

const written = /^\/etc\/(?:samba|exports|nfs|snmp\/snmpd|rsyncd|nut)/;

/** Reads what the subsystem writes, and compares what it writes for the records that were read. */
function roundTrip(subsystem: Subsystem, resources: readonly (Collection | Singleton)[], records: readonly Made[]) {
  const draft = configured(records);
  const files = contents(subsystem, draft);
  const reading = subsystem.adopts?.read({ files, outputs: new Map(), facts: machine, view: draft });
  assert.ok(reading !== undefined);
  const again = reading.records.map(({ resource: path, values }) => {
    const resource = resources.find((one) => one.path === path);
    assert.ok(resource !== undefined, path);
    return { resource, values };
  });
  assert.deepEqual(
    [...contents(subsystem, configured(again))].filter(([path]) => written.test(path)),
    [...files].filter(([path]) => written.test(path)),
  );
  return reading;
}

const plainText = fc.stringMatching(/^[A-Za-z0-9äß%'"., _-]{0,30}$/).map((text) => text.trim());
const flag = fc.boolean();

test('Samba serves the same for the records that are read from its files', () => {
  const shares = fc.uniqueArray(
    fc.record({
      cifs_name: fc
        .stringMatching(/^[a-z][a-z0-9 ]{0,8}[a-z0-9]$/)
        .filter((name) => !/^(?:global|homes|printers)$/.test(name)),
      cifs_comment: plainText,
      cifs_ro: flag,
      cifs_browsable: flag,
      cifs_guestok: flag,
      cifs_guestonly: flag,
      cifs_recyclebin: flag,
      cifs_showhiddenfiles: flag,
      cifs_abe: flag,
      cifs_timemachine: flag,
      cifs_hostsallow: fc.constantFrom('', '192.0.2.1', '192.0.2.0/24 host.example'),
      cifs_hostsdeny: fc.constantFrom('', 'ALL'),
      cifs_vfsobjects: fc.subarray(['streams_xattr', 'aio_pthread', 'fruit', 'catia', 'shadow_copy2', 'acl_xattr']),
      cifs_auxsmbconf: fc.constantFrom('', 'valid users = @team', 'create mask = 0660\nforce user = anna'),
    }),
    { selector: ({ cifs_name }) => cifs_name, maxLength: 4 },
  );
  const settings = fc.record({
    cifs_srv_workgroup: fc.constantFrom('WORKGROUP', 'OFFICE'),
    cifs_srv_description: plainText,
    cifs_srv_localmaster: flag,
    cifs_srv_timeserver: flag,
    cifs_srv_unixext: flag,
    cifs_srv_hostlookup: flag,
    cifs_srv_zeroconf: flag,
    cifs_srv_nullpw: flag,
    cifs_srv_syslog: fc.constant(false),
    cifs_srv_aio_enable: flag,
    cifs_srv_min_protocol: fc.constantFrom('', 'SMB2_10', 'SMB3_00'),
    cifs_srv_max_protocol: fc.constantFrom('SMB3', 'SMB3_11'),
    cifs_srv_enable_smb1: flag,
    cifs_srv_ntlmv1_auth: flag,
    cifs_srv_filemask: fc.constantFrom('', '0640'),
    cifs_srv_obey_pam_restrictions: flag,
    cifs_srv_allow_execute_always: flag,
    cifs_srv_loglevel: fc.constantFrom('0', '1', '3', '10'),
    cifs_srv_admin_group: fc.constantFrom('', 'media'),
    cifs_srv_smb_options: fc.constantFrom('', 'deadtime = 15\nwide links = no'),
  });
  fc.assert(
    fc.property(shares, settings, (some, of) => {
      roundTrip(
        sambaSubsystem,
        [cifsShare, cifsSettings],
        [
          { resource: cifsSettings, values: of },
          ...some.map((values) => ({
            resource: cifsShare,
            values: { ...values, cifs_path: `/mnt/tank/${values.cifs_name}` },
          })),
        ],
      );
    }),
    { numRuns: 200 },
  );
});

test('the kernel exports the same for the records that are read from its files', () => {
  const share = fc.record({
    nfs_network: fc.constantFrom('', '192.0.2.0/24', '192.0.2.0/24 2001:db8::/32'),
    nfs_hosts: fc.constantFrom('', 'client.example', 'client.example 192.0.2.77'),
    nfs_ro: flag,
    nfs_security: fc.subarray(['sys', 'krb5', 'krb5p']),
    nfs_maproot_user: fc.constantFrom('', 'root', 'nobody'),
  });
  const settings = fc.record({
    nfs_srv_servers: fc.integer({ min: 1, max: 256 }),
    nfs_srv_udp: flag,
    nfs_srv_v4: flag,
    nfs_srv_16: flag,
    nfs_srv_allow_nonroot: flag,
    nfs_srv_mountd_log: flag,
    nfs_srv_mountd_port: fc.constantFrom(null, 618),
    nfs_srv_rpclockd_port: fc.constantFrom(null, 32_803),
  });
  fc.assert(
    fc.property(
      share,
      fc.constantFrom(['media'], ['media', 'media/a b'.replace(' ', '')]),
      settings,
      (one, names, of) => {
        roundTrip(
          nfsSubsystem,
          [nfsShare, nfsSettings],
          [
            { resource: nfsSettings, values: of },
            { resource: nfsShare, values: { ...one, nfs_paths: names.map((name) => `/mnt/tank/${name}`) } },
          ],
        );
      },
    ),
    { numRuns: 200 },
  );
});

test('snmpd answers the same for the settings that are read from its file', () => {
  const settings = fc.record({
    snmp_location: fc.constantFrom('', 'Cellar, rack 2'),
    snmp_contact: fc.constantFrom('', 'anna@example.com'),
    snmp_community: fc.constantFrom('public', 'a b-c'),
    snmp_zilstat: fc.constant(false),
    snmp_options: fc.constantFrom('', 'proc cron'),
  });
  fc.assert(
    fc.property(settings, (values) => {
      roundTrip(snmpSubsystem, [snmpSettings], [{ resource: snmpSettings, values }]);
    }),
  );
});

test('lines of crontabs become jobs, and those that cannot are named', () => {
  const table = [
    'MAILTO=anna',
    '17 3 * * 1-5 root /usr/local/bin/backup --date \\%F',
    '@hourly anna ls',
    '@reboot root /usr/local/bin/begin',
    '0 0 * * * root mail anna%text',
  ];
  const reading = cronSubsystem.adopts?.read({
    files: new Map([
      ['/etc/cron.d/ours', table.join('\n')],
      ['/etc/cron.d/holdfast', '0 0 * * * root true'],
      ['/var/spool/cron/crontabs/anna', '*/5 * * * * date'],
    ]),
    ...{ outputs: new Map(), facts: machine, view: freshConfiguration() },
  });
  assert.deepEqual(
    reading?.records.map(({ line, values: { cron_user, cron_minute, cron_hour, cron_dayweek, cron_command } }) =>
      [line, cron_user, cron_minute, cron_hour, cron_dayweek, cron_command].join(' '),
    ),
    ['2 root 17 3 1-5 /usr/local/bin/backup --date %F', '3 anna 0 * * ls', '1 anna */5 * * date'],
  );
  assert.deepEqual(
    reading?.notCarried.filter(({ reason }) => !reason.startsWith('cron runs')).map(({ line }) => line),
    [1, 4, 5],
  );
});

test('the rsync daemon serves the same for the modules that are read from its file', () => {
  const module = fc.record({
    rsyncmod_name: fc.stringMatching(/^[a-z][a-z0-9 ]{0,8}[a-z0-9]$/).filter((name) => !/global| {2}/.test(name)),
    rsyncmod_comment: plainText,
    rsyncmod_mode: fc.constantFrom('ro', 'wo', 'rw'),
    rsyncmod_maxconn: fc.constantFrom(0, -1, 7),
    rsyncmod_user: fc.constantFrom('nobody', 'mary', 'root'),
    rsyncmod_group: fc.constantFrom('', 'media'),
    rsyncmod_hostsallow: fc.constantFrom('', '192.0.2.0/24 host.example'),
    rsyncmod_hostsdeny: fc.constantFrom('', '*'),
    rsyncmod_auxiliary: fc.constantFrom('', 'timeout = 60\nuse chroot = no'),
  });
  const settings = fc.record({
    rsyncd_port: fc.integer({ min: 1, max: 65_535 }),
    rsyncd_auxiliary: fc.constantFrom('', 'timeout = 30\nmotd file = /etc/motd'),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(module, { selector: ({ rsyncmod_name }) => rsyncmod_name, maxLength: 3 }),
      settings,
      (some, of) => {
        roundTrip(
          rsyncdSubsystem,
          [rsyncdSettings, rsyncModule],
          [
            { resource: rsyncdSettings, values: of },
            // The number of a module is part of its file, and readers see modules in the order of their names.
            ...some
              .toSorted((a, b) => (a.rsyncmod_name < b.rsyncmod_name ? -1 : 1))
              .map((values) => ({
                resource: rsyncModule,
                values: { ...values, rsyncmod_path: `/mnt/tank/${values.rsyncmod_name}` },
              })),
          ],
        );
      },
    ),
    { numRuns: 200 },
  );
});

test('Network UPS Tools do the same for the settings that are read from their files', () => {
  const common = {
    ups_identifier: fc.constantFrom('ups', 'rack-2'),
    ups_remoteport: fc.constantFrom(3493, 4000),
    ups_monuser: fc.constantFrom('upsmon', 'watch'),
    ups_monpwd: fc.constantFrom('fixmepass', "p;a'ss"),
    ups_shutdown: fc.constant('lowbatt'),
    ups_shutdowncmd: fc.constantFrom('/sbin/shutdown -h +0', 'echo "off"'),
    ups_nocommwarntime: fc.constantFrom(null, 60),
    ups_powerdown: flag,
  };
  const server = fc.record({
    ...common,
    ups_mode: fc.constant('master'),
    ups_driver: fc.constantFrom('usbhid-ups', 'nutdrv_qx'),
    ups_port: fc.constantFrom('auto', '/dev/ttyS0'),
    ups_description: fc.constantFrom('', 'Rack 2 "left"'),
    ups_options: fc.constantFrom('', 'pollfreq = 30\nvendorid = 051d'),
    ups_optionsupsd: fc.constantFrom('', 'MAXAGE 20'),
    ups_rmonitor: flag,
    ups_extrausers: fc.constantFrom('', '[other]\npassword = "secret of it"\nupsmon secondary'),
  });
  const client = fc.record({
    ...common,
    ups_mode: fc.constant('slave'),
    ups_remotehost: fc.constantFrom('192.0.2.7', 'power.example', '2001:db8::7'),
  });
  fc.assert(
    fc.property(fc.oneof(server, client), (values) => {
      const { notCarried } = roundTrip(upsSubsystem, [upsSettings], [{ resource: upsSettings, values }]);
      const commands = notCarried.filter(({ file }) => !file.endsWith('upssched.conf'));
      assert.deepEqual(commands, []);
    }),
    { numRuns: 200 },
  );
});

test('sshd does the same for the settings that are read from its file', () => {
  const settings = fc.record({
    ssh_tcpport: fc.constantFrom(22, 2222),
    ssh_rootlogin: flag,
    ssh_passwordauth: flag,
    ssh_kerberosauth: flag,
    ssh_tcpfwd: flag,
    ssh_compression: flag,
    ssh_sftp_log_level: fc.constantFrom('', 'VERBOSE'),
    ssh_sftp_log_facility: fc.constantFrom('', 'LOCAL7'),
    ssh_options: fc.constantFrom('', 'AllowGroups team\nMatch User anna\nForceCommand internal-sftp'),
  });
  fc.assert(
    fc.property(settings, (values) => {
      const path = '/etc/ssh/holdfast/sshd_config';
      const before = contents(sshSubsystem, configured([{ resource: sshSettings, values }])).get(path) ?? '';
      const reading = sshSubsystem.adopts?.read({
        files: new Map([['/etc/ssh/sshd_config', before]]),
        ...{ outputs: new Map(), facts: machine, view: freshConfiguration() },
      });
      const again = (reading?.records ?? []).map((record) => ({ resource: sshSettings, values: record.values }));
      assert.equal(contents(sshSubsystem, configured(again)).get(path), before);
      assert.deepEqual(
        reading?.notCarried.filter(({ text }) => !/^KbdInteractive/.test(text)),
        [],
      );
    }),
    { numRuns: 100 },
  );
});

test('an sshd_config of Debian with drop-ins is read as sshd reads it', () => {
  const reading = sshSubsystem.adopts?.read({
    files: new Map([
      [
        '/etc/ssh/sshd_config',
        'Include /etc/ssh/sshd_config.d/*.conf\nPort 22\nPermitRootLogin no\nPasswordAuthentication yes\nUsePAM yes\n' +
          'Subsystem sftp internal-sftp\nListenAddress 192.0.2.7\nMatch Group sftp\n  ChrootDirectory %h\n',
      ],
      ['/etc/ssh/sshd_config.d/10-port.conf', 'Port=2222\nMatch User backup\nAllowTcpForwarding no\n'],
    ]),
    ...{ outputs: new Map(), facts: machine, view: freshConfiguration() },
  });
  assert.deepEqual(reading?.records[0]?.values, {
    ssh_tcpport: 2222,
    ssh_rootlogin: false,
    ssh_passwordauth: true,
    ssh_tcpfwd: true,
    ssh_compression: true,
    ssh_sftp_log_level: '',
    ssh_sftp_log_facility: '',
    ssh_options: [
      'DenyUsers root',
      'ListenAddress 192.0.2.7',
      ...['Match User backup', 'AllowTcpForwarding no', 'Match Group sftp', 'ChrootDirectory %h'],
    ].join('\n'),
  });
  assert.deepEqual(
    reading?.notCarried.map(({ file, line }) => `${file}:${line}`),
    ['/etc/ssh/sshd_config:3', '/etc/ssh/sshd_config:6'],
  );
});

const zvols = {
  ...machine,
  storage: {
    ...machine.storage,
    datasets: new Map([
      ...machine.storage.datasets,
      ...['tank/vm', 'tank/db'].map((name) => [name, zvolCalled(name)] as const),
    ]),
  },
};

function zvolCalled(name: string): Dataset {
  const [root] = machine.storage.datasets.values();
  assert.ok(root !== undefined);
  return { ...root, name, kind: 'volume', mountpoint: undefined, properties: { volsize: '1048576' } };
}

const uuid = '8f6c1a2b-3d4e-4f50-a1b2-c3d4e5f60718';
const lioWith = (group: object) =>
  JSON.stringify(
    {
      fabric_modules: [{ discovery_enable_auth: false, name: 'iscsi' }],
      storage_objects: [
        {
          attributes: { block_size: 4096, is_nonrot: 1, emulate_3pc: 1 },
          ...{ dev: '/dev/zvol/tank/vm', name: 'vm', plugin: 'block', readonly: false, write_back: false, wwn: uuid },
        },
        { name: 'ram', plugin: 'ramdisk', size: 1024, wwn: uuid },
      ],
      targets: [
        {
          fabric: 'iscsi',
          tpgs: [
            {
              attributes: { authentication: 0, generate_node_acls: 1, demo_mode_write_protect: 0 },
              ...{ enable: true, luns: [{ index: 4, storage_object: '/backstores/block/vm' }], node_acls: [] },
              ...{ parameters: {}, portals: [{ ip_address: '0.0.0.0', port: 3260 }], tag: 1 },
              ...group,
            },
          ],
          wwn: 'iqn.2003-01.example:vm',
        },
      ],
    },
    undefined,
    2,
  );

const savedAt = '/etc/rtslib-fb-target/saveconfig.json';

test('the kernel offers a disk that targetcli had configured under the same identifier and number', () => {
  const { records, notCarried } = readBy(iscsiSubsystem, { [savedAt]: lioWith({}) }, zvols);
  const draft = freshConfiguration(zvols);
  switchOn(draft, 'iscsitarget');
  // References are keys in a file; here each is the first record.
  for (const { resource, values } of records.toSorted((a, b) => orderOf(a.resource) - orderOf(b.resource))) {
    const one = iscsiResources.find(({ path }) => path === resource);
    assert.ok(one !== undefined, resource);
    const ids = Object.fromEntries(
      ['iscsi_target', 'iscsi_extent', 'iscsi_target_portalgroup'].flatMap((name) =>
        name in values ? [[name, 1]] : [],
      ),
    );
    const { iscsi_target_extent_naa: naa, ...sent }: Values = { ...values, ...ids };
    draft.create(one, sent, naa === undefined ? {} : { iscsi_target_extent_naa: naa });
  }
  assert.deepEqual(draft.issues.toIssues(), {});
  const { targets } = iscsiSubsystem.render(draft, zvols);
  const [extent] = targets?.extents ?? [];
  assert.equal(extent?.naa, '60014058f6c1a2b3d4e4f50a1b2c3d4e');
  assert.deepEqual([extent?.serial, extent?.blockSize, extent?.rotation], ['8f6c1a2b3d4e4f50', 4096, 0]);
  const [target] = targets?.targets ?? [];
  assert.deepEqual([target?.name, target?.luns], ['iqn.2003-01.example:vm', [{ number: 4, extent: 1 }]]);
  assert.deepEqual(target?.groups, [
    {
      tag: 1,
      portals: [{ address: '0.0.0.0', port: 3260 }],
      initiators: undefined,
      networks: undefined,
      auth: undefined,
    },
  ]);
  assert.deepEqual(
    notCarried.map(({ text }) => text),
    [`backstore vm: serial number ${uuid}`, 'backstore ramdisk ram'],
  );
});

const iscsiResources: readonly Collection[] = [
  ...[iscsiPortal, iscsiInitiators, iscsiCredential, iscsiTarget, iscsiExtent],
  ...[iscsiTargetGroup, iscsiTargetToExtent],
];
const orderOf = (path: string) => iscsiResources.findIndex((one) => one.path === path);

test('a target whose access rules cannot be the same is offered to nobody', () => {
  const rule = (name: string, more: object = {}) => ({
    ...{ node_wwn: name, mapped_luns: [{ index: 4, tpg_lun: 4, write_protect: false }], ...more },
  });
  const named = { attributes: { authentication: 1, generate_node_acls: 0 } };
  const login = { chap_userid: 'anna', chap_password: 'twelve chars' };
  const groups = (group: object) =>
    readBy(iscsiSubsystem, { [savedAt]: lioWith(group) }, zvols).records.filter(
      ({ resource }) => resource === iscsiTargetGroup.path,
    );
  const [carried, ...others] = groups({ ...named, node_acls: [rule('iqn.a', login), rule('iqn.b', login)] });
  assert.equal(others.length, 0);
  assert.deepEqual(
    [carried?.values['iscsi_target_initiatorgroup'], carried?.values['iscsi_target_authtype']],
    ['1', 'CHAP'],
  );
  const secret = (chap_password: string) => ({ chap_userid: 'anna', chap_password });
  for (const group of [
    { enable: false },
    { attributes: { generate_node_acls: 0 } },
    { ...named, node_acls: [rule('iqn.a')] },
    { ...named, node_acls: [rule('iqn.a', login), rule('iqn.b', secret('other secret!'))] },
    { ...named, node_acls: [rule('iqn.a', secret('too short'))] },
    { ...named, node_acls: [rule('iqn.a', { ...login, mapped_luns: [] })] },
    { ...named, node_acls: [rule('iqn.a', { ...login, mapped_luns: [{ index: 0, tpg_lun: 4 }] })] },
  ])
    assert.deepEqual(groups(group), [], JSON.stringify(group));
});

test('targets of tgt are read with their accounts, and no secret is in what is named', () => {
  const { records, notCarried } = readBy(
    iscsiSubsystem,
    {
      '/etc/tgt/targets.conf': 'include /etc/tgt/conf.d/*.conf\ndefault-driver iscsi\n',
      '/etc/tgt/conf.d/db.conf': `<target iqn.2010-01.example:db>
  <backing-store /dev/zvol/tank/db>
    scsi_sn 4711
    lun 5
    vendor_id ACME
  </backing-store>
  backing-store /dev/zvol/tank/vm
  initiator-name iqn.a
  incominguser anna twelve chars!
  MaxRecvDataSegmentLength 8192
</target>
`.replace('twelve chars!', 'twelve-chars!'),
    },
    zvols,
  );
  const of = (path: string) => records.filter(({ resource }) => resource === path).map(({ values }) => values);
  assert.deepEqual(
    of(iscsiTargetToExtent.path).map((values) => [values['iscsi_extent'], values['iscsi_lunid']]),
    [
      ['db', 5],
      ['vm', 6],
    ],
  );
  assert.equal(of(iscsiExtent.path)[0]?.['iscsi_target_extent_serial'], '4711');
  assert.equal(of(iscsiCredential.path)[0]?.['iscsi_target_auth_secret'], 'twelve-chars!');
  assert.equal(of(iscsiTargetGroup.path).length, 1);
  assert.deepEqual(
    notCarried.map(({ line }) => line),
    [1, 10, 5],
  );
  assert.doesNotMatch(JSON.stringify(notCarried), /twelve/);
});
