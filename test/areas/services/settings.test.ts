import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cifsSettings } from '../../../src/areas/services/cifs.ts';
import { ftpSettings } from '../../../src/areas/services/ftp.ts';
import { readSent } from '../../../src/engine/declare/record.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import { freshConfiguration } from '../../subsystems/support/configuration.ts';
import { ecPair, rsaPair } from './pairs.ts';

function cifsIssues(sent: SentOf<typeof cifsSettings.fields>) {
  const draft = freshConfiguration();
  draft.update(cifsSettings, 1, sent);
  return draft.issues.toIssues();
}

function ftpIssues(sent: SentOf<typeof ftpSettings.fields>) {
  const draft = freshConfiguration();
  draft.update(ftpSettings, 1, sent);
  return draft.issues.toIssues();
}

test('the default settings are those of the document and the public sources', () => {
  const draft = freshConfiguration();
  assert.deepEqual(draft.only(cifsSettings), {
    id: 1,
    cifs_srv_netbiosname: 'holdfast',
    cifs_srv_netbiosalias: null,
    cifs_srv_workgroup: 'WORKGROUP',
    cifs_srv_description: 'Holdfast',
    cifs_srv_authmodel: 'user',
    cifs_srv_doscharset: 'CP437',
    cifs_srv_unixcharset: 'UTF-8',
    cifs_srv_loglevel: '0',
    cifs_srv_syslog: false,
    cifs_srv_localmaster: false,
    cifs_srv_domain_logons: false,
    cifs_srv_timeserver: false,
    cifs_srv_guest: 'nobody',
    cifs_srv_filemask: '',
    cifs_srv_dirmask: '',
    cifs_srv_nullpw: false,
    cifs_srv_smb_options: '',
    cifs_srv_unixext: true,
    cifs_srv_aio_enable: false,
    cifs_srv_aio_rs: 4096,
    cifs_srv_aio_ws: 4096,
    cifs_srv_zeroconf: true,
    cifs_srv_hostlookup: true,
    cifs_srv_min_protocol: '',
    cifs_srv_max_protocol: 'SMB3',
    cifs_srv_allow_execute_always: true,
    cifs_srv_obey_pam_restrictions: true,
    cifs_srv_bindip: [],
    cifs_srv_admin_group: '',
    cifs_srv_enable_smb1: false,
    cifs_srv_ntlmv1_auth: false,
    cifs_SID: null,
  });
  const {
    ftp_port,
    ftp_clients,
    ftp_anonpath,
    ftp_filemask,
    ftp_tls_policy,
    ftp_ssltls_certfile,
    ftp_ssltls_certificate,
  } = draft.only(ftpSettings);
  assert.deepEqual(
    [ftp_port, ftp_clients, ftp_anonpath, ftp_filemask, ftp_tls_policy, ftp_ssltls_certfile, ftp_ssltls_certificate],
    [21, 32, null, '077', 'on', '', null],
  );
});

test('alternative spellings of values are accepted', () => {
  const { sent, issues } = readSent(
    cifsSettings.fields,
    {
      cifs_srv_loglevel: 3,
      cifs_srv_unixcharset: 'GB2312',
      cifs_srv_bindip: '10.0.0.1',
      cifs_srv_nullpw: 'True',
      cifs_hostname_lookup: true,
      cifs_SID: 'x',
    },
    'update',
  );
  assert.deepEqual(issues, {});
  assert.deepEqual(sent, {
    cifs_srv_loglevel: '3',
    cifs_srv_unixcharset: 'gb2312',
    cifs_srv_bindip: ['10.0.0.1'],
    cifs_srv_nullpw: true,
  });
});

test('all invalid names, masks, accounts and character sets are reported together', () => {
  const { issues } = readSent(
    cifsSettings.fields,
    {
      cifs_srv_netbiosname: 'A name with blanks',
      cifs_srv_workgroup: '50%h',
      cifs_srv_guest: 'root',
      cifs_srv_filemask: '12000',
      cifs_srv_doscharset: 'KLINGON',
      cifs_srv_smb_options: '[evil]\npath = /',
    },
    'update',
  );
  assert.deepEqual(Object.keys(issues), [
    'cifs_srv_netbiosname',
    'cifs_srv_workgroup',
    'cifs_srv_doscharset',
    'cifs_srv_guest',
    'cifs_srv_filemask',
    'cifs_srv_smb_options',
  ]);
});

test('the NetBIOS name must differ from the workgroup, ignoring case', () => {
  assert.deepEqual(cifsIssues({ cifs_srv_netbiosname: 'workgroup' }), {
    cifs_srv_netbiosname: ['cifs_srv_netbiosname must differ from cifs_srv_workgroup.'],
  });
});

test('cifs_srv_max_protocol below the lowest protocol is refused', () => {
  assert.deepEqual(cifsIssues({ cifs_srv_max_protocol: 'NT1' }), {
    cifs_srv_max_protocol: ['Expected SMB2_02, the lowest protocol, or a later one, got NT1.'],
  });
  assert.deepEqual(cifsIssues({ cifs_srv_max_protocol: 'NT1', cifs_srv_enable_smb1: true }), {});
  assert.deepEqual(cifsIssues({ cifs_srv_min_protocol: 'SMB3', cifs_srv_max_protocol: 'SMB3' }), {});
  assert.deepEqual(Object.keys(cifsIssues({ cifs_srv_min_protocol: 'SMB3_11', cifs_srv_max_protocol: 'SMB2' })), [
    'cifs_srv_max_protocol',
  ]);
});

test('an account or a group that does not exist is refused', () => {
  assert.deepEqual(Object.keys(cifsIssues({ cifs_srv_guest: 'unknown', cifs_srv_admin_group: 'unknowns' })), [
    'cifs_srv_guest',
    'cifs_srv_admin_group',
  ]);
});

test('ftp_anonpath must be a folder on a volume when anonymous clients may log in', () => {
  assert.deepEqual(ftpIssues({ ftp_onlyanonymous: true }), {
    ftp_anonpath: ['ftp_anonpath is required when ftp_onlyanonymous is true.'],
  });
  assert.deepEqual(Object.keys(ftpIssues({ ftp_anonpath: '/mnt/nowhere/pub' })), ['ftp_anonpath']);
  assert.deepEqual(Object.keys(ftpIssues({ ftp_anonpath: '/mnt/tank/%{env:HOME}' })), ['ftp_anonpath']);
  assert.deepEqual(ftpIssues({ ftp_onlyanonymous: true, ftp_anonpath: '/mnt/tank/pub' }), {});
});

test('the passive ports are both 0, or an ascending range', () => {
  assert.deepEqual(ftpIssues({ ftp_passiveportsmin: 2000 }), {
    ftp_passiveportsmax: ['Expected both passive ports to be 0, or neither.'],
  });
  assert.deepEqual(ftpIssues({ ftp_passiveportsmax: 2000 }), {
    ftp_passiveportsmin: ['Expected both passive ports to be 0, or neither.'],
  });
  assert.deepEqual(ftpIssues({ ftp_passiveportsmin: 2000, ftp_passiveportsmax: 2000 }), {
    ftp_passiveportsmax: ['ftp_passiveportsmax must be greater than ftp_passiveportsmin.'],
  });
  assert.deepEqual(readSent(ftpSettings.fields, { ftp_passiveportsmin: 80 }, 'update').issues, {
    ftp_passiveportsmin: ['Expected 0, or a port from 1024 to 65535.'],
  });
});

test('ftp_tls requires a certificate and the matching private key', () => {
  const [certificate = '', key = ''] = rsaPair.split(/(?=-----BEGIN PRIVATE KEY-----)/);
  const [, otherKey = ''] = ecPair.split(/(?=-----BEGIN PRIVATE KEY-----)/);
  assert.deepEqual(ftpIssues({ ftp_tls: true }), {
    ftp_tls: [
      'TLS requires a certificate: set ftp_ssltls_certificate to the id of one, or send one and its private key, both in PEM, as ftp_ssltls_certfile.',
    ],
  });
  assert.deepEqual(ftpIssues({ ftp_tls: true, ftp_ssltls_certfile: key }), {
    ftp_ssltls_certfile: ['Expected a certificate in PEM.'],
  });
  assert.deepEqual(ftpIssues({ ftp_tls: true, ftp_ssltls_certfile: certificate }), {
    ftp_ssltls_certfile: ['Expected an unencrypted private key in PEM.'],
  });
  assert.deepEqual(ftpIssues({ ftp_tls: true, ftp_ssltls_certfile: certificate + otherKey }), {
    ftp_ssltls_certfile: ['The private key does not belong to the certificate.'],
  });
  for (const pair of [rsaPair, ecPair]) assert.deepEqual(ftpIssues({ ftp_tls: true, ftp_ssltls_certfile: pair }), {});
});

test('a TLS policy for each account requires a policy that allows sessions without TLS', () => {
  const tls = { ftp_tls: true, ftp_ssltls_certfile: rsaPair, ftp_tls_opt_allow_per_user: true };
  assert.deepEqual(Object.keys(ftpIssues({ ...tls, ftp_tls_policy: 'ctrl+data' })), ['ftp_tls_opt_allow_per_user']);
  assert.deepEqual(ftpIssues({ ...tls, ftp_tls_policy: 'data' }), {});
});

test('ftp_ssltls_certfile is a secret field', () => {
  assert.equal(ftpSettings.fields.ftp_ssltls_certfile.secret, true);
});
