import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smbdStart } from '../../../src/subsystems/samba/start-file.ts';

const machine = { hostname: 'Office-NAS.example' };
const read = (text: string) => smbdStart.read(text, machine);
const empty = read('[global]\n');

test('values that Samba has without a line, and parameters that it reads again, need no start', () => {
  for (const line of [
    'netbios name = OFFICE-NAS',
    'workgroup = workgroup',
    'Server  Role = standalone server',
    'dos charset = CP850',
    'disable netbios = no',
    'passdb backend = smbpasswd:/etc/samba/smbpasswd',
    'map to guest = Bad User',
    'create mask = 0700',
    'local master = no',
  ])
    assert.equal(read(`# Ours\n[global]\n  ${line}\n[media]\n  path = /mnt/tank\n`), empty, line);
});

test('names, addresses and whatever is not known need a start', () => {
  for (const line of [
    'netbios name = other',
    'workgroup = OFFICE',
    'disable netbios = yes',
    'interfaces = 127.0.0.1 192.0.2.7',
    'smb ports = 445',
    'security = ads',
    'idmap config * : backend = tdb',
  ])
    assert.notEqual(read(`[global]\n${line}\n`), empty, line);
  assert.equal(read('[global]\nworkgroup = A\nsmb ports = 445\n'), read('[global]\nsmb ports=445\nworkgroup = a\n'));
});

test('a file that includes others than those of Holdfast does not say by itself what was read', () => {
  assert.equal(read('[global]\ninclude = /etc/samba/office.conf\n'), undefined);
  assert.equal(read('[global]\ninclude = /etc/samba/holdfast/shares-0.conf\n'), empty);
});
