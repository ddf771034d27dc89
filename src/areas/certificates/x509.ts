/**
 * Creates and reads certificates. Node generates keys and signatures; @peculiar/asn1-x509 encodes the ASN.1 structures.
 * All functions are pure, apart from the generated keys.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { promisify } from 'node:util';
import { Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import { parseIp, showIp } from '../../lib/ip.ts';
import { messageOf } from '../../lib/text.ts';

export const digests = ['SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'] as const;
export type Digest = (typeof digests)[number];

export const keyLengths = [1024, 2048, 4096] as const;

/** The subject of a certificate, with its subject alternative names. */
export interface Subject {
  readonly country: string;
  readonly state: string;
  readonly city: string;
  readonly organization: string;
  readonly common: string;
  readonly email: string;
  /** Host names, IP addresses and email addresses, separated by spaces. */
  readonly san: string;
}

/** Certificate and private key of the signing authority. */
export interface Signer {
  readonly certificate: string;
  readonly key: string;
}

const signatures: Readonly<Record<Digest, string>> = {
  SHA1: '1.2.840.113549.1.1.5',
  SHA224: '1.2.840.113549.1.1.14',
  SHA256: '1.2.840.113549.1.1.11',
  SHA384: '1.2.840.113549.1.1.12',
  SHA512: '1.2.840.113549.1.1.13',
};

const ecSignatures: Readonly<Record<Digest, string>> = {
  SHA1: '1.2.840.10045.4.1',
  SHA224: '1.2.840.10045.4.3.1',
  SHA256: '1.2.840.10045.4.3.2',
  SHA384: '1.2.840.10045.4.3.3',
  SHA512: '1.2.840.10045.4.3.4',
};

const extensionRequest = '1.2.840.113549.1.9.14';
const ed25519 = '1.3.101.112';
/** DER of NULL: the parameters of every RSA signature. */
const nothing = new Uint8Array([5, 0]).buffer;

const parts = {
  country: '2.5.4.6',
  state: '2.5.4.8',
  city: '2.5.4.7',
  organization: '2.5.4.10',
  common: '2.5.4.3',
  email: '1.2.840.113549.1.9.1',
} as const;

// Creating -----------------------------------------------------------------------------------------------------------

/** A new RSA key in PEM. A long key takes seconds; Node generates it on another thread. */
export async function newKey(bits: number): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: bits });
  return pemOfKey(privateKey);
}

/** A new key of the curve P-256 in PEM. It takes a millisecond. */
export function newEcKey(): string {
  return pemOfKey(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey);
}

export function pemOfKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export interface Issuing {
  readonly subject: Subject;
  /** The private key of the subject. */
  readonly key: string;
  /** Undefined for a self-signed authority. */
  readonly signer: Signer | undefined;
  readonly isAuthority: boolean;
  readonly digest: Digest;
  readonly serial: number;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly days: number;
}

/** Signs a certificate and returns it in PEM. */
export function issue({ subject, key, signer, isAuthority, digest, serial, from, days }: Issuing): string {
  const publicKey = publicPart(key);
  const issuer =
    signer === undefined ? undefined : AsnConvert.parse(new X509Certificate(signer.certificate).raw, Certificate);
  const signingKey = createPrivateKey(signer?.key ?? key);
  const algorithm = signatureOf(signingKey, digest);
  const own = keyIdentifier(publicKey);
  const theirs =
    issuer === undefined ? own : (identifierIn(issuer) ?? keyIdentifier(issuer.tbsCertificate.subjectPublicKeyInfo));
  const uses = isAuthority
    ? KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign
    : KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment;
  const extensions = [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: isAuthority }), true),
    extension(id_ce_keyUsage, new KeyUsage(uses), true),
    ...(isAuthority ? [] : [extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth, id_kp_clientAuth]))]),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(own)),
    extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(theirs) })),
    ...namesExtension(subject.san),
  ];
  // Dates in certificates have a resolution of one second.
  const begin = Math.floor(from / 1000) * 1000;
  const content = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialBytes(serial),
    signature: algorithm,
    issuer: issuer?.tbsCertificate.subject ?? nameOf(subject),
    validity: new Validity({ notBefore: new Date(begin), notAfter: new Date(begin + days * 86_400_000) }),
    subject: nameOf(subject),
    subjectPublicKeyInfo: publicKey,
    extensions: new Extensions(extensions),
  });
  const signatureValue = signed(AsnConvert.serialize(content), signingKey, digest);
  return pem(
    'CERTIFICATE',
    AsnConvert.serialize(new Certificate({ tbsCertificate: content, signatureAlgorithm: algorithm, signatureValue })),
  );
}

/** Creates a certificate signing request in PEM. */
export function request({ subject, key, digest }: Pick<Issuing, 'subject' | 'key' | 'digest'>): string {
  const signingKey = createPrivateKey(key);
  const names = namesExtension(subject.san);
  const attributes =
    names.length === 0
      ? []
      : [new Attribute({ type: extensionRequest, values: [AsnConvert.serialize(new Extensions(names))] })];
  const content = new CertificationRequestInfo({
    subject: nameOf(subject),
    subjectPKInfo: publicPart(key),
    attributes: new Attributes(attributes),
  });
  const whole = new CertificationRequest({
    certificationRequestInfo: content,
    signatureAlgorithm: signatureOf(signingKey, digest),
    signature: signed(AsnConvert.serialize(content), signingKey, digest),
  });
  return pem('CERTIFICATE REQUEST', AsnConvert.serialize(whole));
}

function publicPart(key: string): SubjectPublicKeyInfo {
  return AsnConvert.parse(
    createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' }),
    SubjectPublicKeyInfo,
  );
}

function signatureOf(key: KeyObject, digest: Digest): AlgorithmIdentifier {
  if (key.asymmetricKeyType === 'ed25519') return new AlgorithmIdentifier({ algorithm: ed25519 });
  if (key.asymmetricKeyType === 'ec') return new AlgorithmIdentifier({ algorithm: ecSignatures[digest] });
  return new AlgorithmIdentifier({ algorithm: signatures[digest], parameters: nothing });
}

function signed(content: ArrayBuffer, key: KeyObject, digest: Digest): ArrayBuffer {
  return copied(sign(key.asymmetricKeyType === 'ed25519' ? null : digest, new Uint8Array(content), key));
}

function nameOf(subject: Subject): Name {
  const values = [
    [parts.country, new AttributeValue({ printableString: subject.country })],
    [parts.state, new AttributeValue({ utf8String: subject.state })],
    [parts.city, new AttributeValue({ utf8String: subject.city })],
    [parts.organization, new AttributeValue({ utf8String: subject.organization })],
    [parts.common, new AttributeValue({ utf8String: subject.common })],
    [parts.email, new AttributeValue({ ia5String: subject.email })],
  ] as const;
  // Most parts may not be empty (X.520).
  return new Name(
    values
      .filter(([, value]) => value.toString() !== '')
      .map(([type, value]) => new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value })])),
  );
}

function extension(extnID: string, value: object, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function namesExtension(san: string): Extension[] {
  const names = sanEntries(san).map((text) => {
    const entry = sanEntry(text);
    if (isIP(entry) !== 0) return new GeneralName({ iPAddress: entry });
    return entry.includes('@') ? new GeneralName({ rfc822Name: entry }) : new GeneralName({ dNSName: entry });
  });
  return names.length === 0 ? [] : [extension(id_ce_subjectAltName, new SubjectAlternativeName(names))];
}

/**
 * A subject alternative name as a certificate has it: an address in its shortest form, without a zone, which names a link
 * of one machine. The library would read the decimals of ::ffff:192.0.2.1 as one group.
 */
export function sanEntry(text: string): string {
  const address = parseIp(text.replace(/%.*$/, ''));
  return address === undefined ? text : showIp(address);
}

/** The subject alternative names in a text, separated by spaces. */
export function sanEntries(san: string): readonly string[] {
  return san.split(' ').filter((entry) => entry !== '');
}

/**
 * SHA-1 of the bits of the public key, the common method (RFC 5280, 4.2.1.2). It is an identifier, not a protection.
 */
function keyIdentifier({ subjectPublicKey }: SubjectPublicKeyInfo): ArrayBuffer {
  return copied(createHash('sha1').update(new Uint8Array(subjectPublicKey)).digest());
}

function identifierIn({ tbsCertificate }: Certificate): ArrayBuffer | undefined {
  const found = tbsCertificate.extensions?.find(({ extnID }) => extnID === id_ce_subjectKeyIdentifier);
  return found && AsnConvert.parse(found.extnValue, SubjectKeyIdentifier).buffer;
}

/** Big endian, with a first bit of zero, because DER integers are signed. */
function serialBytes(serial: number): ArrayBuffer {
  const hex = serial.toString(16);
  const even = hex.length % 2 === 0 ? hex : `0${hex}`;
  return copied(Buffer.from(Number.parseInt(even.slice(0, 2), 16) > 0x7f ? `00${even}` : even, 'hex'));
}

function copied(bytes: Buffer): ArrayBuffer {
  const whole = new ArrayBuffer(bytes.length);
  new Uint8Array(whole).set(bytes);
  return whole;
}

function pem(label: string, der: ArrayBuffer): string {
  const text = Buffer.from(der).toString('base64').replaceAll(/.{64}/g, '$&\n').trim();
  return `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;
}

// Reading ------------------------------------------------------------------------------------------------------------

/** The contents of a certificate. Absent values are null. */
export interface Description {
  readonly country: string | null;
  readonly state: string | null;
  readonly city: string | null;
  readonly organization: string | null;
  readonly common: string | null;
  readonly email: string | null;
  readonly san: readonly string[];
  readonly digest: Digest | null;
  readonly keyLength: number | null;
  /** A number, or its digits as a text when it exceeds the range of JSON numbers. */
  readonly serial: number | string;
  readonly distinguishedName: string;
  /** Days. */
  readonly lifetime: number;
  /** As `Sat Nov 21 09:30:00 2026`, in UTC. */
  readonly from: string;
  readonly until: string;
}

export function describe(certificatePem: string): Description {
  const certificate = new X509Certificate(certificatePem);
  const { tbsCertificate, signatureAlgorithm } = AsnConvert.parse(certificate.raw, Certificate);
  const { subject, validity, extensions } = tbsCertificate;
  const part = (type: string) =>
    subject
      .flatMap((names) => [...names])
      .find((attribute) => attribute.type === type)
      ?.value.toString() ?? null;
  const named = Object.freeze({
    country: part(parts.country),
    state: part(parts.state),
    city: part(parts.city),
    organization: part(parts.organization),
    common: part(parts.common),
    email: part(parts.email),
  });
  const alternative = extensions?.find(({ extnID }) => extnID === id_ce_subjectAltName);
  const san =
    alternative === undefined
      ? []
      : [...AsnConvert.parse(alternative.extnValue, SubjectAlternativeName)].map(sanEntryOf);
  const [begin, end] = [validity.notBefore.getTime(), validity.notAfter.getTime()];
  const serial = BigInt(`0x${certificate.serialNumber}`);
  return {
    ...named,
    san,
    digest:
      digests.find((digest) => [signatures[digest], ecSignatures[digest]].includes(signatureAlgorithm.algorithm)) ??
      null,
    keyLength: keyLengthOf(certificate.publicKey),
    serial: serial <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(serial) : String(serial),
    distinguishedName: distinguishedName(named, san),
    lifetime: Math.round((end.getTime() - begin.getTime()) / 86_400_000),
    from: timeText(begin),
    until: timeText(end),
  };
}

/** When it ends, as in its description, which takes longer to read. */
export function untilOf(certificatePem: string): string {
  return timeText(new X509Certificate(certificatePem).validToDate);
}

/** As `/C=../ST=../L=../O=../CN=../emailAddress=..`, without absent parts (gaps 15). */
export function distinguishedName(
  of: { readonly [K in keyof typeof parts]: string | null },
  san: readonly string[],
): string {
  const named = [
    ['C', of.country],
    ['ST', of.state],
    ['L', of.city],
    ['O', of.organization],
    ['CN', of.common],
    ['emailAddress', of.email],
  ] as const;
  const present = named.flatMap(([name, value]) => (value === null || value === '' ? [] : [`/${name}=${value}`]));
  const names = san.map(
    (entry) => `${isIP(entry) === 0 ? (entry.includes('@') ? 'email' : 'DNS') : 'IP Address'}:${entry}`,
  );
  return `${present.join('')}${names.length === 0 ? '' : `/subjectAltName=${names.join(', ')}`}`;
}

function sanEntryOf({ dNSName, iPAddress, rfc822Name, uniformResourceIdentifier, registeredID }: GeneralName): string {
  return dNSName ?? iPAddress ?? rfc822Name ?? uniformResourceIdentifier ?? registeredID ?? 'other';
}

export function keyLengthOf(key: KeyObject): number | null {
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined) return modulusLength;
  if (key.asymmetricKeyType === 'ed25519') return 256;
  return namedCurve === undefined ? null : (curveBits[namedCurve] ?? null);
}

const curveBits: Readonly<Record<string, number>> = { prime256v1: 256, secp256k1: 256, secp384r1: 384, secp521r1: 521 };

function timeText(at: Date): string {
  const [day = '', date = '', month = '', year = '', time = ''] = at.toUTCString().replace(',', '').split(' ');
  return `${day} ${month} ${date} ${time} ${year}`;
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export interface Read {
  /** The certificates in PEM: the first is the imported one, and each other one has signed the one before it. */
  readonly chain: readonly string[];
}

/** The certificates in a text of PEM, or a problem message. */
export function readChain(text: string): Read | string {
  const chain: X509Certificate[] = [];
  for (const certificatePem of text.match(block) ?? []) {
    const certificate = attempt(() => new X509Certificate(certificatePem));
    if (certificate === undefined || attempt(() => describe(certificatePem)) === undefined)
      return 'Expected valid certificates in PEM; one of them cannot be parsed.';
    chain.push(certificate);
  }
  if (chain.length === 0) return 'Expected a certificate in PEM.';
  const broken = chain.findIndex((certificate, index) => {
    const signer = chain[index + 1];
    return signer !== undefined && !(certificate.checkIssued(signer) && certificate.verify(signer.publicKey));
  });
  if (broken !== -1)
    return `Expected each certificate to have signed the one before it; certificate ${broken + 2} has not.`;
  return { chain: chain.map((certificate) => `${certificate.toString().trim()}\n`) };
}

/** The private key in a text of PEM, or a problem message. */
export function readKey(text: string, passphrase: string): KeyObject | string {
  const key = attempt(() =>
    createPrivateKey({ key: text, format: 'pem', ...(passphrase === '' ? {} : { passphrase }) }),
  );
  if (key !== undefined) return key;
  if (!/ENCRYPTED/.test(text)) return 'Expected a private key in PEM.';
  return passphrase === ''
    ? 'cert_passphrase is required: the private key is encrypted.'
    : 'The passphrase does not decrypt the private key.';
}

export function belongsTo(certificatePem: string, key: KeyObject): boolean {
  return new X509Certificate(certificatePem).checkPrivateKey(key);
}

/** Whether the certificate may sign others. */
export function isAuthorityCertificate(certificatePem: string): boolean {
  return new X509Certificate(certificatePem).ca;
}

export function isSelfSigned(certificatePem: string): boolean {
  const certificate = new X509Certificate(certificatePem);
  return certificate.checkIssued(certificate);
}

/**
 * Why the TLS servers of the machine would refuse a certificate and its key, or undefined. Debian's OpenSSL uses
 * security level 2; the OpenSSL of Node accepts weaker digests, so they are checked here.
 */
export function tlsProblem(chain: string, key: string): string | undefined {
  if (new X509Certificate(chain).publicKey.asymmetricKeyType === 'rsa' && (describe(chain).keyLength ?? 0) < 2048)
    return 'Expected an RSA key of at least 2048 bits, which TLS requires.';
  if (describe(chain).digest === 'SHA1' && !isSelfSigned(chain))
    return 'Expected a signature with SHA224 or a stronger digest, which TLS requires, got SHA1.';
  try {
    createSecureContext({ cert: chain, key });
    return undefined;
  } catch (error) {
    return `TLS refuses this certificate: ${messageOf(error)}`;
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
