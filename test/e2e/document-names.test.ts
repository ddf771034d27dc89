import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { exampleCertificate, exampleKey } from '../support/certificates.ts';

/** Names and values that the document has where the public interface has others, and values that name something. */

let nas: Appliance;
before(async () => {
  nas = await appliance();
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});
after(() => nas[Symbol.asyncDispose]());

test('names that only the document has are read, and answers have the public ones', async () => {
  const { api } = nas;
  const ldap = await api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_has_smb_schema: true });
  assert.deepEqual([ldap['ldap_has_samba_schema'], 'ldap_has_smb_schema' in ldap], [true, false]);
  const ad = await api.expect(200, 'PUT', 'directoryservice/activedirectory/', { ad_disable_appliance_cache: true });
  assert.equal(ad['ad_disable_freenas_cache'], true);
  const dataset = await api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'notes', comment: 'of the team' });
  assert.equal(dataset['comments'], 'of the team');
  const rsync = await api.expect(201, 'POST', 'tasks/rsync/', {
    rsync_path: '/mnt/tank',
    rsync_user: 'root',
    rsync_remotehost: 'backup',
    rsync_remotemodule: 'tank',
    extra: '--bwlimit=1000',
  });
  assert.equal(rsync['rsync_extra'], '--bwlimit=1000');
  const initiator = await api.expect(201, 'POST', 'services/iscsi/authorizedinitiator/', {
    scsi_target_initiator_comment: 'hypervisors',
  });
  assert.equal(initiator['iscsi_target_initiator_comment'], 'hypervisors');
  const map = await api.expect(201, 'POST', 'directoryservice/idmap/nss/', { idmap_nss_range_low: 1000 });
  assert.equal(map['idmap_ad_range_low'], 1000);
});

test('case_sensitivity may be on, off or inherit', async () => {
  for (const [value, property] of [
    ['on', 'sensitive'],
    ['off', 'insensitive'],
    ['inherit', 'sensitive'],
    ['mixed', 'mixed'],
  ] as const) {
    await nas.api.expect(201, 'POST', 'storage/dataset/tank/', { name: `case-${value}`, case_sensitivity: value });
    const dataset = (await nas.host.zfs.datasets()).find(({ name }) => name === `tank/case-${value}`);
    assert.equal(dataset?.properties.casesensitivity ?? 'sensitive', property, value);
  }
});

test('ftp_ssltls_certfile is the name of a certificate or PEM, and the two fields of the certificate agree', async () => {
  const { api } = nas;
  for (const name of ['first', 'second'])
    await api.expect(201, 'POST', 'system/certificate/import/', {
      cert_name: name,
      cert_certificate: exampleCertificate,
      cert_privatekey: exampleKey,
    });
  const put = async (body: object) => {
    const { ftp_ssltls_certfile, ftp_ssltls_certificate } = await api.expect(200, 'PUT', 'services/ftp/', body);
    return [ftp_ssltls_certfile, ftp_ssltls_certificate];
  };
  assert.deepEqual(await put({ ftp_ssltls_certfile: 'second' }), ['second', 2]);
  assert.deepEqual(await put({ ftp_banner: 'hello' }), ['second', 2]);
  assert.deepEqual(await put({ ftp_ssltls_certfile: 'first', ftp_tls: true }), ['first', 1]);
  assert.deepEqual(await put({ ftp_ssltls_certificate: 2 }), ['', 2]);
  assert.deepEqual(await put({ ftp_ssltls_certfile: 'first', ftp_ssltls_certificate: null }), ['first', 1]);
  assert.deepEqual(await put({ ftp_ssltls_certfile: '', ftp_tls: false }), ['', null]);
  const refused = await api.put('services/ftp/', { ftp_ssltls_certfile: 'third' });
  assert.deepEqual(refused.json, {
    ftp_ssltls_certfile: [
      'Expected the name of a certificate, or a certificate and its private key in PEM, got "third".',
    ],
  });
});

test('an address to listen on must be one of the machine, and the problem is reported under the field', async () => {
  for (const [path, name] of [
    ['services/afp', 'afp_srv_bindip'],
    ['services/cifs', 'cifs_srv_bindip'],
    ['services/nfs', 'nfs_srv_bindip'],
    ['services/tftp', 'tftp_host'],
    ['system/settings', 'stg_guiaddress'],
    ['system/settings', 'stg_guiv6address'],
  ] as const) {
    const [elsewhere, here] = name === 'stg_guiv6address' ? ['2001:db8::99', '::1'] : ['198.51.100.99', '192.0.2.7'];
    const refused = await nas.api.put(`${path}/`, { [name]: elsewhere });
    assert.deepEqual([refused.status, Object.keys(Object(refused.json))], [409, [name]], path);
    await nas.api.expect(200, 'PUT', `${path}/`, { [name]: here });
  }
});
