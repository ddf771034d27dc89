import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExample, isPackaged } from '../../src/subsystems/directory/subsystem.ts';
import { hasNoTargets } from '../../src/subsystems/iscsi/subsystem.ts';
import { isPackagedKrb5 } from '../../src/subsystems/kerberos/subsystem.ts';
import { hasNoAccounts, hasOnlyComments, isStandalone } from '../../src/subsystems/local.ts';
import { isAmerican } from '../../src/subsystems/logs/subsystem.ts';
import { isPackagedTftp } from '../../src/subsystems/tftp/subsystem.ts';

/** Each recogniser with contents that packages make, and some that a person has made. */
const cases: readonly (readonly [string, (content: string) => boolean, readonly string[], readonly string[]])[] = [
  [
    'a file of comments',
    hasOnlyComments,
    ['', '# /etc/exports\n#\n\n  # more\n', '; ini\n'],
    ['/srv *(rw)\n', '# x\n/srv *(ro)\n'],
  ],
  [
    'a Samba of its own',
    isStandalone,
    ['[global]\n workgroup = WORKGROUP\n server role = standalone server\n'],
    [
      '[global]\n security = ADS\n',
      ' Server Role = active directory domain controller\n',
      'server role = member server\n',
    ],
  ],
  [
    'a database without accounts',
    hasNoAccounts,
    ['\0INFO/version\0', 'x\0USER_nobody\0y'],
    ['x\0USER_anna\0', '\0USER_nobody\0\0USER_nobodyelse\0'],
  ],
  [
    'the nslcd of an installation',
    isExample,
    ['# file\nuid nslcd\nuri ldap://127.0.0.1/\nbase dc=example,dc=net\n#base x\n'],
    ['uri ldap://ldap.office.example/\nbase dc=example,dc=net\n', 'uri ldap://127.0.0.1/\nbase dc=office\n'],
  ],
  [
    'the sources that packages add',
    isPackaged,
    ['passwd:         files winbind\ngroup: files systemd\nhosts: files dns\n', 'passwd: compat ldap\n'],
    ['passwd: files sss\n', 'group: files\nshadow: files extrausers\n'],
  ],
  [
    'the Kerberos of an installation',
    isPackagedKrb5,
    [
      '[libdefaults]\n[realms]\n\tATHENA.MIT.EDU = {\n',
      '[libdefaults]\n\tdefault_realm = ATHENA.MIT.EDU\n[realms]\n\tATHENA.MIT.EDU = {\n',
    ],
    [
      '[libdefaults]\n default_realm = OFFICE.EXAMPLE\n',
      '[libdefaults]\n default_realm = OFFICE.EXAMPLE\n[realms]\n ATHENA.MIT.EDU = {\n',
    ],
  ],
  [
    'the TFTP of an installation',
    isPackagedTftp,
    [
      '# /etc/default/tftpd-hpa\n\nTFTP_USERNAME="tftp"\nTFTP_DIRECTORY="/srv/tftp"\nTFTP_ADDRESS=":69"\nTFTP_OPTIONS="--secure"\n',
    ],
    ['TFTP_DIRECTORY="/srv/boot"\nTFTP_ADDRESS=":69"\nTFTP_OPTIONS="--secure"\n', ''],
  ],
  [
    'the American keyboard',
    isAmerican,
    ['XKBMODEL="pc105"\nXKBLAYOUT="us"\nXKBVARIANT=""\nXKBOPTIONS=""\n'],
    ['XKBLAYOUT="de"\n', 'XKBLAYOUT="us"\nXKBVARIANT="dvorak"\n'],
  ],
  [
    'a saved configuration without targets',
    hasNoTargets,
    ['{\n  "fabric_modules": [],\n  "storage_objects": [],\n  "targets": []\n}'],
    ['{"storage_objects": [{"name": "a"}], "targets": []}', '{}'],
  ],
];

for (const [title, recognises, shipped, local] of cases) {
  test(`${title} counts as a default, and a changed one does not`, () => {
    for (const content of shipped) assert.equal(recognises(content), true, content);
    for (const content of local) assert.equal(recognises(content), false, content);
  });
}
