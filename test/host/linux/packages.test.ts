import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openLinuxHost } from '../../../src/host/linux/index.ts';
import { readConffiles, readUcfHashes } from '../../../src/host/linux/packages-read.ts';
import { finallyOf, scratchFolder } from '../../support/hosts.ts';
import { describePackages } from '../contract/packages.ts';
import { belowRoot } from './support.ts';

describePackages([belowRoot]);

const sumOf = (text: string) => createHash('md5').update(text).digest('hex');

const status = `Package: snmpd
Status: install ok installed
Conffiles:
 /etc/default/snmpd ${sumOf('defaults')}
 /etc/snmp/snmpd.conf ${sumOf('as shipped')}
 /etc/init.d/snmpd ${sumOf('old')} obsolete
Description: SNMP (Simple Network Management Protocol) agents
 The Simple Network Management Protocol (SNMP) is used

Package: new
Conffiles:
 /etc/new.conf newconffile
`;

test("dpkg's and ucf's records are read", () => {
  assert.deepEqual(
    [...readConffiles(status)],
    [
      ['/etc/default/snmpd', sumOf('defaults')],
      ['/etc/snmp/snmpd.conf', sumOf('as shipped')],
      ['/etc/init.d/snmpd', sumOf('old')],
    ],
  );
  assert.deepEqual([...readUcfHashes(`${sumOf('a')}  /etc/samba/smb.conf\n`)], [['/etc/samba/smb.conf', sumOf('a')]]);
});

test('a file is shipped as long as it has the content of dpkg, of ucf, or of the template it was copied from', async (t) => {
  const root = scratchFolder(t);
  const put = (path: string, content: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  put('/var/lib/dpkg/status', status);
  put('/var/lib/ucf/hashfile', `${sumOf('by ucf')}  /etc/samba/smb.conf\n`);
  put('/usr/share/base-files/motd', 'Debian');
  put('/etc/snmp/snmpd.conf', 'as shipped');
  put('/etc/default/snmpd', 'changed');
  put('/etc/samba/smb.conf', 'by ucf');
  put('/etc/motd', 'Debian');
  put('/srv/nsswitch', 'elsewhere');
  symlinkSync('/srv/nsswitch', join(root, '/etc/nsswitch.conf'));
  const host = await openLinuxHost({ root });
  finallyOf(t, () => host.close());
  const paths = [
    '/etc/snmp/snmpd.conf',
    '/etc/default/snmpd',
    '/etc/samba/smb.conf',
    '/etc/motd',
    '/etc/nsswitch.conf',
    '/etc/none',
  ];
  assert.deepEqual(
    [...(await host.packages.origins(paths)).values()],
    ['shipped', 'local', 'shipped', 'shipped', 'local', 'absent'],
  );
  put('/etc/motd', 'Ask Anna.');
  assert.equal((await host.packages.origins(['/etc/motd'])).get('/etc/motd'), 'local');
});
