import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { hostName, isRenewalDue, ownChain } from '../../../src/areas/certificates/own.ts';
import {
  belongsTo,
  describe,
  digests,
  issue,
  newKey,
  readChain,
  readKey,
  request,
  tlsProblem,
  untilOf,
} from '../../../src/areas/certificates/x509.ts';
import { exampleCertificate, exampleKey } from '../../support/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-x509-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The exit status and output of openssl, run in a folder with these files. */
function openssl(argv: readonly string[], files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { status, stdout, stderr } = spawnSync('openssl', argv, { cwd: folder, encoding: 'utf8' });
  return `${status} ${stdout}${stderr}`;
}

const subject = (common: string, san = '') => ({
  country: 'US',
  state: 'Tennessee',
  city: 'Nashville',
  organization: 'Bücher & Söhne',
  common,
  email: 'admin@example.com',
  san,
});
const from = Date.parse('2026-01-02T03:04:05.678Z');
const issuing = { digest: 'SHA256', serial: 1, from: Date.now(), days: 3650 } as const;
const [rootKey, middleKey, key] = await Promise.all([newKey(2048), newKey(2048), newKey(2048)]);
const rootPem = issue({ ...issuing, subject: subject('Root'), key: rootKey, signer: undefined, isAuthority: true });
const root = { certificate: rootPem, key: rootKey };
const middle = {
  certificate: issue({
    ...issuing,
    subject: subject('Middle'),
    key: middleKey,
    signer: root,
    isAuthority: true,
    serial: 2,
  }),
  key: middleKey,
};

test('openssl trusts certificates of the authority and its intermediate with every digest', () => {
  for (const digest of digests) {
    for (const signer of [root, middle]) {
      const leaf = issue({
        ...issuing,
        subject: subject('nas.example.com', 'nas.example.com 192.0.2.7 2001:db8::1'),
        key,
        signer,
        isAuthority: false,
        digest,
        serial: 200,
      });
      const chain = { 'root.pem': rootPem, 'middle.pem': middle.certificate, 'leaf.pem': leaf };
      const argv = [
        'verify',
        '-x509_strict',
        '-purpose',
        'sslserver',
        '-CAfile',
        'root.pem',
        '-untrusted',
        'middle.pem',
      ];
      assert.match(
        openssl([...argv, '-verify_hostname', 'nas.example.com', 'leaf.pem'], chain),
        /^0 leaf.pem: OK/,
        digest,
      );
      assert.match(openssl([...argv, '-verify_ip', '2001:db8::1', 'leaf.pem'], chain), /^0 leaf.pem: OK/, digest);
      assert.doesNotMatch(openssl([...argv, '-verify_hostname', 'other.example.com', 'leaf.pem'], chain), /^0/);
      assert.equal(describe(leaf).digest, digest);
    }
  }
});

test('openssl does not trust a certificate that was signed by a leaf certificate', () => {
  const leaf = {
    certificate: issue({ ...issuing, subject: subject('leaf'), key, signer: root, isAuthority: false }),
    key,
  };
  const below = issue({ ...issuing, subject: subject('below'), key: middleKey, signer: leaf, isAuthority: false });
  assert.doesNotMatch(
    openssl(['verify', '-CAfile', 'root.pem', '-untrusted', 'leaf.pem', 'below.pem'], {
      'root.pem': rootPem,
      'leaf.pem': leaf.certificate,
      'below.pem': below,
    }),
    /^0/,
  );
});

test('openssl signs a signing request with its subject alternative names', () => {
  const text = request({ subject: subject('host', 'host.example.com 192.0.2.8'), key, digest: 'SHA512' });
  const said = openssl(['req', '-in', 'csr.pem', '-noout', '-verify', '-text'], { 'csr.pem': text });
  assert.match(said, /verify OK/);
  assert.match(said, /sha512WithRSAEncryption/);
  assert.match(said, /DNS:host.example.com, IP Address:192.0.2.8/);
});

test('describe returns the values that a certificate was issued with', () => {
  const made = issue({
    subject: subject('nas', 'nas.example.com 192.0.2.7 a@example.com'),
    key,
    signer: root,
    isAuthority: false,
    digest: 'SHA384',
    serial: 255,
    from,
    days: 30,
  });
  assert.deepEqual(describe(made), {
    ...subject('nas'),
    san: ['nas.example.com', '192.0.2.7', 'a@example.com'],
    digest: 'SHA384',
    keyLength: 2048,
    serial: 255,
    distinguishedName:
      '/C=US/ST=Tennessee/L=Nashville/O=Bücher & Söhne/CN=nas/emailAddress=admin@example.com/subjectAltName=DNS:nas.example.com, IP Address:192.0.2.7, email:a@example.com',
    lifetime: 30,
    from: 'Fri Jan 02 03:04:05 2026',
    until: 'Sun Feb 01 03:04:05 2026',
  });
});

test('a validity beyond 2050 is encoded as the standard requires', () => {
  const made = issue({ ...issuing, subject: subject('late'), key, signer: undefined, isAuthority: true, days: 36_500 });
  assert.match(
    openssl(['verify', '-x509_strict', '-CAfile', 'late.pem', 'late.pem'], { 'late.pem': made }),
    /^0 late.pem: OK/,
  );
});

test('a serial number beyond the range of JSON numbers is a text of digits', () => {
  assert.equal(typeof describe(exampleCertificate).serial, 'string');
  assert.match(String(describe(exampleCertificate).serial), /^\d{17,}$/);
});

test('a chain is accepted only when each certificate has signed the one before it', () => {
  const leaf = issue({ ...issuing, subject: subject('leaf'), key, signer: middle, isAuthority: false });
  assert.deepEqual(readChain(`Bag\n${leaf}\n${middle.certificate}${rootPem}`), {
    chain: [leaf, middle.certificate, rootPem],
  });
  assert.equal(
    readChain(leaf + rootPem),
    'Expected each certificate to have signed the one before it; certificate 2 has not.',
  );
  assert.equal(readChain('nothing'), 'Expected a certificate in PEM.');
  assert.equal(
    readChain('-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----'),
    'Expected valid certificates in PEM; one of them cannot be parsed.',
  );
});

test('an encrypted key requires its passphrase', () => {
  const closed = createPrivateKey(exampleKey)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' })
    .toString();
  assert.equal(readKey(closed, ''), 'cert_passphrase is required: the private key is encrypted.');
  assert.equal(readKey(closed, 'wrong'), 'The passphrase does not decrypt the private key.');
  assert.equal(readKey('nothing', ''), 'Expected a private key in PEM.');
  const opened = readKey(closed, 'open sesame');
  assert.ok(typeof opened === 'object' && belongsTo(exampleCertificate, opened));
});

test('certificates that OpenSSL refuses for TLS are reported', async () => {
  const short = await newKey(1024);
  const weak = issue({ ...issuing, subject: subject('weak'), key: short, signer: root, isAuthority: false });
  assert.equal(tlsProblem(weak, short), 'Expected an RSA key of at least 2048 bits, which TLS requires.');
  const old = issue({ ...issuing, subject: subject('old'), key, signer: root, isAuthority: false, digest: 'SHA1' });
  assert.equal(
    tlsProblem(old, key),
    'Expected a signature with SHA224 or a stronger digest, which TLS requires, got SHA1.',
  );
  assert.equal(tlsProblem(exampleCertificate, exampleKey), undefined);
});

test('a certificate of its own is renewed when it lacks a name, and when it or its authority ends soon', () => {
  const day = 86_400_000;
  const name = fc.oneof(
    fc.stringMatching(hostName).filter((one) => one.length < 64),
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV6().map((address) => `${address}%eth0`),
  );
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 6 }), name, (names, other) => {
      const chain = ownChain(undefined, names, from);
      assert.equal(untilOf(chain.certificate), describe(chain.certificate).until);
      assert.equal(isRenewalDue(chain, names, from), false);
      const lacks = !describe(chain.certificate).san.some((one) => one.toLowerCase() === other.toLowerCase());
      if (lacks && !other.includes(':')) assert.equal(isRenewalDue(chain, [...names, other], from), true);
      assert.equal(isRenewalDue(chain, names, from + 304 * day), false);
      assert.equal(isRenewalDue(chain, names, from + 306 * day), true);
    }),
    { numRuns: 100 },
  );
  const chain = ownChain(undefined, ['nas', '*.nas.example', '10.0.0.1', 'fd00::1'], from);
  for (const other of ['nas.example', 'a.nas.example', '10.0.0.2', 'fd00::2'])
    assert.equal(isRenewalDue(chain, [other], from), true, other);
  assert.equal(isRenewalDue(chain, ['FD00:0::1'], from), false);
  const odd = ownChain(undefined, ['::ffff:192.0.2.1', 'FE80::1%eth0'], from);
  assert.deepEqual(describe(odd.certificate).san, ['::ffff:c000:201', 'fe80::1']);
  assert.equal(isRenewalDue(odd, ['::FFFF:192.0.2.1', 'fe80::1%eth1'], from), false);
  const old = ownChain(undefined, ['nas'], from - 6900 * day);
  assert.equal(isRenewalDue({ ...chain, authority: old.authority }, ['nas'], from), true);
});
