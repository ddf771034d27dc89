/** A machine that somebody configured by hand before Holdfast was installed (issue 17, item 7). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { VirtualHost } from '../../src/host/virtual/index.ts';
import { type Appliance, type ApplianceOptions, appliance } from '../support/appliance.ts';

const handMade = '# Ours since 2011\n[global]\nworkgroup = OFFICE\n[projects]\npath = /srv/projects\n';

/** Where people configure a machine, with something that they may write there and the subsystem that it belongs to. */
const places: readonly { readonly path: string; readonly content: string; readonly unit: string; readonly service?: string }[] = [
  { path: '/etc/samba/smb.conf', content: handMade, unit: 'samba', service: 'smbd' },
  { path: '/var/lib/samba/private/passdb.tdb', content: '\0INFO/version\0USER_anna\0', unit: 'samba', service: 'smbd' },
  { path: '/etc/samba/smbpasswd', content: 'anna:1000:XX:YY:[U ]:LCT-0:\n', unit: 'accounts' },
  { path: '/etc/exports', content: '/srv/projects *(rw)\n', unit: 'nfs', service: 'nfs-server' },
  { path: '/etc/exports.d/team.exports', content: '/srv/team 10.0.0.0/8(ro)\n', unit: 'nfs', service: 'nfs-server' },
  { path: '/etc/ssh/sshd_config.d/50-office.conf', content: 'AllowUsers anna\n', unit: 'ssh', service: 'ssh' },
  { path: '/etc/chrony/chrony.conf', content: 'server ntp.office.example\n', unit: 'time', service: 'chrony' },
  { path: '/etc/chrony/sources.d/office.sources', content: 'server ntp.office.example\n', unit: 'time', service: 'chrony' },
  { path: '/etc/rsyncd.conf', content: '[projects]\npath = /srv/projects\n', unit: 'rsyncd', service: 'rsync' },
  { path: '/etc/proftpd/proftpd.conf', content: 'ServerName "office"\n', unit: 'ftp', service: 'proftpd' },
  { path: '/etc/snmp/snmpd.conf', content: 'rocommunity office\n', unit: 'snmp', service: 'snmpd' },
  { path: '/etc/nut/upsmon.conf', content: 'MONITOR ups@localhost 1 me secret primary\n', unit: 'ups', service: 'nut-monitor' },
  { path: '/etc/smartd.conf', content: '/dev/sda -a -m root\n', unit: 'smart', service: 'smartmontools' },
  { path: '/etc/netatalk/afp.conf', content: '[Homes]\n', unit: 'afp', service: 'netatalk' },
  { path: '/etc/default/tftpd-hpa', content: 'TFTP_DIRECTORY="/srv/boot"\n', unit: 'tftp', service: 'tftpd-hpa' },
  { path: '/etc/krb5.conf', content: '[libdefaults]\ndefault_realm = OFFICE.EXAMPLE\n', unit: 'kerberos' },
  { path: '/etc/nslcd.conf', content: 'uri ldap://ldap.office.example/\n', unit: 'directory', service: 'nslcd' },
  { path: '/etc/hdparm.conf', content: '/dev/sda { spindown_time = 120 }\n', unit: 'disks' },
  { path: '/etc/motd', content: 'Ask Anna.\n', unit: 'console' },
  { path: '/etc/default/keyboard', content: 'XKBLAYOUT="de"\n', unit: 'keyboard' },
  { path: '/etc/default/lldpd', content: 'DAEMON_ARGS="-c"\n', unit: 'lldp', service: 'lldpd' },
  { path: '/etc/systemd/system/inadyn.service', content: '[Service]\nExecStart=/opt/inadyn\n', unit: 'dynamicdns', service: 'inadyn' },
];

type Planted = (typeof places)[number];

const planted = (some: readonly Planted[]) => async (machine: VirtualHost) => {
  for (const { path, content, service } of some) {
    await machine.files.write(path, content, { mode: 0o640 });
    if (service !== undefined) await machine.services.start(service);
  }
};

const found = async ({ api }: Appliance) => (await api.expect(200, 'GET', '/api/holdfast/v1/found'))['subsystems'] as readonly { readonly unit: string; readonly files: readonly string[] }[];

async function withPlaces(some: readonly Planted[], options: ApplianceOptions = {}): Promise<Appliance> {
  return appliance({ ...options, before: planted(some) });
}

async function assertUntouched(one: Appliance, some: readonly Planted[]): Promise<void> {
  for (const { path, content, service } of some) {
    assert.equal(await one.machine.files.read(path), content, `${path} was changed`);
    assert.equal(await one.machine.files.mode(path), 0o640, `the permissions of ${path} were changed`);
    if (service === undefined) continue;
    const state = (await one.machine.services.states([service])).get(service);
    assert.deepEqual([state?.running, state?.enabled, one.machine.services.starts.get(service) ?? 0, one.machine.services.reloads.get(service) ?? 0], [true, true, service === 'ssh' ? 0 : 1, 0], service);
  }
}

test('whatever is configured by hand, the first start and every later one leave it and its services as they are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.subarray([...places]), async (some) => {
      await using one = await withPlaces(some);
      await assertUntouched(one, some);
      assert.deepEqual((await found(one)).map(({ unit }) => unit).toSorted(), [...new Set(some.map(({ unit }) => unit))].toSorted());
      assert.deepEqual(
        (await one.api.list('/api/holdfast/v1/drift')).filter((report) => report['degraded'] !== null || String(report['drift']) !== ''),
        [],
      );
    }),
    { numRuns: 12, examples: [[[]], [[...places]]] },
  );
});
