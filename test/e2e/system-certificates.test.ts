import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { appliance } from '../support/appliance.ts';
import { certificateRequest, exampleCertificate, exampleKey } from '../support/certificates.ts';

const authorities = 'system/certificateauthority/';
const certificates = 'system/certificate/';

test('an authority, one below it and what that signs: openssl trusts it, and the records tell it', async () => {
  await using one = await appliance();
  const { api } = one;
  for (const [path, name, sentence] of [
    [`${authorities}internal/`, { cert_name: 'root' }, 'Certificate Authority created.'],
    [`${authorities}intermediate/`, { cert_name: 'middle', cert_signedby: 1 }, 'Certificate Authority created.'],
    [`${certificates}internal/`, { cert_name: 'nas', cert_signedby: '2' }, 'Certificate created.'],
    [`${certificates}csr/`, { cert_name: 'wish' }, 'Certificate Signing Request created.'],
  ] as const) {
    const answer = await api.post(path, { ...certificateRequest, ...name });
    assert.deepEqual([answer.status, answer.text], [201, sentence]);
  }
  const [middle, root] = await api.list(authorities);
  assert.deepEqual(
    [root, middle].map((record) => [
      record?.['cert_name'],
      record?.['cert_serial'],
      record?.['cert_issuer'],
      record?.['cert_ncertificates'],
      record?.['cert_type'],
      record?.['cert_internal'],
    ]),
    [
      ['root', 1, 'self-signed', 1, 2, 'YES'],
      ['middle', 2, 'root', 1, 4, 'YES'],
    ],
  );
  const nas = (await api.get(`${certificates}1/`)).json;
  assert.partialDeepStrictEqual(nas, {
    cert_name: 'nas',
    cert_serial: 1,
    cert_issuer: 'middle',
    cert_san: ['nas.example.com'],
    cert_DN:
      '/C=US/ST=Tennessee/L=Nashville/O=Example/CN=nas.example.com/emailAddress=admin@example.com/subjectAltName=DNS:nas.example.com',
    cert_type_internal: true,
    cert_type_CSR: false,
    cert_CSR: null,
    cert_chain: false,
  });
  assert.partialDeepStrictEqual((await api.get(`${certificates}2/`)).json, {
    cert_certificate: null,
    cert_from: null,
    cert_until: null,
    cert_serial: null,
    cert_issuer: 'external - signature pending',
    cert_type: 32,
  });
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-certificates-'));
  try {
    for (const [name, record] of Object.entries({ root, middle, nas }))
      writeFileSync(join(folder, name), String(Object(record).cert_certificate));
    const words = [
      'verify',
      '-x509_strict',
      '-purpose',
      'sslserver',
      '-verify_hostname',
      'nas.example.com',
      '-CAfile',
      'root',
      '-untrusted',
      'middle',
      'nas',
    ];
    assert.equal(spawnSync('openssl', words, { cwd: folder, encoding: 'utf8' }).stdout, 'nas: OK\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('private keys are answered, and sealed where they are kept', async () => {
  await using one = await appliance();
  await one.api.expect(201, 'POST', `${certificates}import/`, {
    cert_name: 'mine',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
    cert_serial: null,
  });
  const [record] = await one.api.list(certificates);
  assert.equal(record?.['cert_privatekey'], exampleKey);
  assert.equal(record['cert_issuer'], 'external');
  const piece = exampleKey.split('\n')[5] ?? '';
  const files = globSync('**/*', { cwd: one.folder, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(files.length > 0);
  for (const file of files)
    assert.ok(!readFileSync(join(file.parentPath, file.name), 'latin1').includes(piece), `${file.name} holds the key`);
  assert.ok(!(await one.api.get('/api/holdfast/v1/revisions')).text.includes(piece));
});

test('what cannot be is refused with every reason at once', async () => {
  await using one = await appliance();
  const { api } = one;
  await api.expect(201, 'POST', `${authorities}internal/`, { ...certificateRequest, cert_name: 'root' });
  const other = (await api.list(authorities))[0];
  const wrong: readonly (readonly [string, object, object])[] = [
    [
      `${certificates}import/`,
      { cert_name: 'x', cert_certificate: exampleCertificate },
      { cert_privatekey: ['This field is required.'] },
    ],
    [
      `${certificates}import/`,
      { cert_name: 'x', cert_certificate: exampleCertificate, cert_privatekey: other?.['cert_privatekey'] },
      { cert_privatekey: ['The private key does not belong to the certificate: their public keys differ.'] },
    ],
    [
      `${certificates}import/`,
      { cert_name: 'x', cert_certificate: 'none', cert_privatekey: 'none' },
      { cert_certificate: ['Expected a certificate in PEM.'], cert_privatekey: ['Expected a private key in PEM.'] },
    ],
    [
      `${certificates}internal/`,
      { ...certificateRequest, cert_name: 'x', cert_signedby: 7 },
      { cert_signedby: ['Certificate authority 7 does not exist.'] },
    ],
    [
      `${authorities}internal/`,
      { ...certificateRequest, cert_name: 'root' },
      { cert_name: ['An authority with this name already exists.'] },
    ],
    [
      `${authorities}internal/`,
      { ...certificateRequest, cert_name: 'self-signed', cert_country: 'USA', cert_key_length: 1023 },
      {
        cert_name: ['The name "self-signed" is reserved.'],
        cert_country: ['Expected at most 2 characters, got 3.'],
        cert_key_length: ['Expected one of 1024, 2048, 4096, got 1023.'],
      },
    ],
  ];
  for (const [path, body, issues] of wrong) {
    const answer = await api.post(path, body);
    assert.deepEqual([answer.status, answer.json], [400, issues]);
  }
  assert.equal((await api.list(certificates)).length, 0);
});

test('an authority without its key is kept but signs nothing; one with its key goes on above the number it is given', async () => {
  await using one = await appliance();
  const { api } = one;
  await api.expect(201, 'POST', `${authorities}import/`, { cert_name: 'known', cert_certificate: exampleCertificate });
  assert.deepEqual(
    (await api.post(`${certificates}internal/`, { ...certificateRequest, cert_name: 'x', cert_signedby: 1 })).json,
    {
      cert_signedby: ['The authority known cannot sign: its private key is not stored here.'],
    },
  );
  await api.expect(201, 'POST', `${authorities}import/`, {
    cert_name: 'able',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
    cert_serial: 4710,
  });
  await api.expect(201, 'POST', `${certificates}internal/`, {
    ...certificateRequest,
    cert_name: 'below',
    cert_signedby: 2,
  });
  assert.equal((await api.list(certificates))[0]?.['cert_serial'], 4711);
});

test('with an authority goes what it has signed, but not while a service holds on to it', async () => {
  await using one = await appliance();
  const { api, host } = one;
  await api.expect(201, 'POST', `${authorities}internal/`, { ...certificateRequest, cert_name: 'root' });
  await api.expect(201, 'POST', `${authorities}intermediate/`, {
    ...certificateRequest,
    cert_name: 'middle',
    cert_signedby: 1,
  });
  await api.expect(201, 'POST', `${certificates}internal/`, {
    ...certificateRequest,
    cert_name: 'nas',
    cert_signedby: 2,
  });
  await api.expect(201, 'POST', `${certificates}csr/`, { ...certificateRequest, cert_name: 'wish' });
  assert.deepEqual((await api.put('services/ftp/', { ftp_tls: true, ftp_ssltls_certificate: 2 })).json, {
    ftp_ssltls_certificate: ['Expected a signed certificate: wish is a certificate signing request.'],
  });
  await api.expect(200, 'PUT', 'services/ftp/', { ftp_tls: true, ftp_ssltls_certificate: 1 });
  const [middle] = await api.list(authorities);
  const [nas] = await api.list(certificates);
  assert.equal(await host.files.read('/etc/proftpd/holdfast-chain.pem'), middle?.['cert_certificate']);
  assert.match(
    (await host.files.read('/etc/proftpd/proftpd.conf')) ?? '',
    /^ {2}TLSCertificateChainFile \/etc\/proftpd\/holdfast-chain\.pem$/m,
  );
  assert.equal(
    await host.files.read('/etc/proftpd/holdfast.pem'),
    `${nas?.['cert_certificate']}${middle?.['cert_certificate']}${nas?.['cert_privatekey']}`,
  );
  for (const path of [`${authorities}1/`, `${authorities}2/`, `${certificates}1/`]) {
    const answer = await api.delete(path);
    assert.deepEqual(
      [answer.status, answer.json],
      [
        400,
        'The FTP server uses this certificate for TLS. Before you delete it, set ftp_ssltls_certificate to another certificate or ftp_tls to false.',
      ],
    );
  }
  assert.equal((await api.list(authorities)).length, 2);
  await api.expect(200, 'PUT', 'services/ftp/', { ftp_tls: false });
  assert.equal((await api.delete(`${authorities}1/`)).status, 204);
  assert.deepEqual(await api.list(authorities), []);
  assert.deepEqual(
    (await api.list(certificates)).map((record) => record['cert_name']),
    ['wish'],
  );
  assert.equal(Object((await api.get('services/ftp/')).json).ftp_ssltls_certificate, null);
});
