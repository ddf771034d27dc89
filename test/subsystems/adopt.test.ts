/** What a subsystem writes for records, its reader reads as records for which it writes the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cifsSettings } from '../../src/areas/services/cifs.ts';
import { nfsSettings } from '../../src/areas/services/nfs.ts';
import { snmpSettings } from '../../src/areas/services/snmp.ts';
import { cifsShare } from '../../src/areas/sharing/cifs.ts';
import { nfsShare } from '../../src/areas/sharing/nfs.ts';
import type { Collection, Draft, Singleton } from '../../src/engine/declare/resource.ts';
import type { Subsystem } from '../../src/engine/declare/subsystem.ts';
import { cronSubsystem } from '../../src/subsystems/cron/subsystem.ts';
import { nfsSubsystem } from '../../src/subsystems/nfs/subsystem.ts';
import { sambaSubsystem } from '../../src/subsystems/samba/subsystem.ts';
import { snmpSubsystem } from '../../src/subsystems/snmp/subsystem.ts';
import { freshConfiguration, machine } from './support/configuration.ts';

type Values = Readonly<Record<string, unknown>>;
interface Made {
  readonly resource: Collection | Singleton;
  readonly values: Values;
}

function configured(records: readonly Made[]): Draft {
  const draft = freshConfiguration();
  for (const { resource, values } of records)
    if (resource.kind === 'singleton') draft.update(resource, 1, values);
    else draft.create(resource, values);
  assert.deepEqual(draft.issues.toIssues(), {});
  return draft;
}

function contents(subsystem: Subsystem, draft: Draft): ReadonlyMap<string, string> {
  const files = subsystem.render(draft, machine).files ?? [];
  return new Map(files.flatMap(({ path, content }) => (content === undefined ? [] : [[path, content] as const])));
}

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
    [...contents(subsystem, configured(again))].filter(([path]) =>
      /^\/etc\/(?:samba|exports|nfs|snmp\/snmpd)/.test(path),
    ),
    [...files].filter(([path]) => /^\/etc\/(?:samba|exports|nfs|snmp\/snmpd)/.test(path)),
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
