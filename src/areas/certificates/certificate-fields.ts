import { isIP } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import {
  choice,
  type Field,
  field,
  flag,
  good,
  integer,
  list,
  nullable,
  readOnly,
  refine,
  required,
  secret,
  text,
  titled,
  wrong,
} from '../../engine/declare/fields.ts';
import type { SentOf } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import {
  belongsTo,
  type Description,
  describe,
  digests,
  keyLengthOf,
  keyLengths,
  pemOfKey,
  readChain,
  readKey,
  type Subject,
  sanEntries,
} from './x509.ts';

/** Values of `cert_issuer` that are not the name of an authority. */
export const issuers = {
  external: 'external',
  itself: 'self-signed',
  pending: 'external - signature pending',
} as const;

// Requests -----------------------------------------------------------------------------------------------------------

/** Highest lifetime in days. X.509 dates end in the year 9999, and most programs support less. */
const longestLife = 36_500;

const name = required(
  refine(
    text({
      description: 'Name of the record.',
      max: 120,
      pattern: /^[A-Za-z0-9_-]+$/,
      rule: 'Expected letters, digits, underscores and hyphens only.',
    }),
    (value) => (Object.values<string>(issuers).includes(value) ? `The name ${quote(value)} is reserved.` : undefined),
  ),
);

const subjectFields = {
  cert_name: name,
  cert_common: titled(
    'Common name',
    required(text({ description: 'Common name: the host name, or the name of the authority.', max: 64 })),
  ),
  cert_city: required(text({ description: 'City.', max: 120 })),
  cert_state: required(text({ description: 'State or province.', max: 120 })),
  cert_country: required(
    text({
      description: 'Country: two capital letters, as US.',
      max: 2,
      pattern: /^[A-Z]{2}$/,
      rule: 'Expected two capital letters, as US.',
    }),
  ),
  cert_email: required(
    text({
      description: 'Email address.',
      max: 120,
      pattern: /^[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9.-]+$/,
      rule: 'Expected an email address, as admin@example.com.',
    }),
  ),
  cert_organization: required(text({ description: 'Organization.', max: 64 })),
  cert_san: refine(
    text({
      description: 'Subject alternative names: host names, IP addresses and email addresses, separated by spaces.',
      max: 2048,
    }),
    (value) => {
      const invalid = sanEntries(value).find(
        (entry) =>
          isIP(entry) === 0 && !/^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?(@[A-Za-z0-9.-]+)?$/.test(entry),
      );
      return invalid === undefined
        ? undefined
        : `Expected a host name, an IP address or an email address, got ${quote(invalid)}.`;
    },
  ),
  cert_digest_algorithm: required(
    choice(digests, {
      description: 'Digest of the signature. SHA1 is weak: current programs do not trust such signatures.',
    }),
  ),
  cert_key_length: required(
    refine(
      integer({
        description: 'Bits of the new key: 1024, 2048 or 4096. 1024 is weak: current programs do not trust such keys.',
      }),
      (value) =>
        keyLengths.some((length) => length === value)
          ? undefined
          : `Expected one of ${keyLengths.join(', ')}, got ${value}.`,
    ),
  ),
};

const lifetime = integer({ description: 'Days that the certificate is valid.', min: 1, max: longestLife });

/** Fields of a certificate that Holdfast signs. */
export const ownFields = { ...subjectFields, cert_lifetime: required(lifetime) };

/**
 * A signing request has no lifetime: the signing authority chooses it. A lifetime in the request is ignored (gaps 15).
 */
export const requestFields = subjectFields;

export const importFields = {
  cert_name: name,
  cert_certificate: required(
    text({
      description: 'The certificate in PEM, followed by its intermediate certificates.',
      max: 262_144,
      multiline: true,
    }),
  ),
  cert_privatekey: secret(text({ description: 'Private key in PEM.', max: 65_536, multiline: true })),
  cert_passphrase: secret(
    text({ description: 'Passphrase of the private key, if it is encrypted.', max: 1024, untrimmed: true }),
  ),
  cert_passphrase2: titled(
    'Passphrase again',
    secret(text({ description: 'The passphrase again; optional.', max: 1024, untrimmed: true })),
  ),
  cert_serial: titled(
    'Serial number',
    integer({
      description:
        'Serial number. An authority numbers its next certificates above this one; for other certificates it is ignored.',
      min: 0,
    }),
  ),
};

/** The subject of a request; its required fields are already validated. */
export function subjectOf(sent: SentOf<typeof subjectFields>): Subject {
  const {
    cert_country = '',
    cert_state = '',
    cert_city = '',
    cert_organization = '',
    cert_common = '',
    cert_email = '',
    cert_san = '',
  } = sent;
  return {
    country: cert_country,
    state: cert_state,
    city: cert_city,
    organization: cert_organization,
    common: cert_common,
    email: cert_email,
    san: cert_san,
  };
}

export interface Imported {
  readonly chain: readonly string[];
  /** Decrypted, in PEM. */
  readonly key: string | null;
}

/** The certificate and key of an import. Throws all problems at once. */
export function readImport(sent: SentOf<typeof importFields>): Imported {
  const {
    cert_certificate: certificate = '',
    cert_privatekey: keyText = '',
    cert_passphrase: passphrase = '',
    cert_passphrase2: again,
  } = sent;
  const issues: Record<string, string[]> = {};
  const chain = readChain(certificate);
  if (typeof chain === 'string') issues['cert_certificate'] = [chain];
  const key = keyText === '' ? undefined : readKey(keyText, passphrase);
  if (again !== undefined && again !== '' && again !== passphrase)
    issues['cert_passphrase2'] = ['cert_passphrase2 must be the same as cert_passphrase.'];
  if (typeof key === 'string') issues['cert_privatekey'] = [key];
  else if (key !== undefined && key.asymmetricKeyType === 'rsa' && (keyLengthOf(key) ?? 0) < 1024)
    issues['cert_privatekey'] = ['Expected a key of at least 1024 bits.'];
  else if (key !== undefined && typeof chain === 'object' && !belongsTo(chain.chain[0] ?? '', key))
    issues['cert_privatekey'] = ['The private key does not belong to the certificate: their public keys differ.'];
  if (Object.keys(issues).length > 0 || typeof chain === 'string' || typeof key === 'string') throw invalid(issues);
  return { chain: chain.chain, key: key === undefined ? null : pemOfKey(key) };
}

// Records ------------------------------------------------------------------------------------------------------------

const readOnlyText = (description: string) => readOnly(nullable(text({ description, max: 300_000, multiline: true })));

/** A number, or its digits as a text when it exceeds the range of JSON numbers. */
const serial: Field<number | string | null, 'plain'> = field<number | string | null>({
  description: 'Serial number, or its digits as a text when it is greater than 2^53.',
  initial: null,
  schema: { type: ['integer', 'string', 'null'] },
  read: (sent) =>
    typeof sent === 'number' || typeof sent === 'string' ? good(sent) : wrong('Expected a serial number.'),
});

/** Common fields of authorities and certificates. The values come from the certificate itself. */
export const recordFields = {
  cert_name: readOnly(text({ description: 'Name of the record.', max: 120 })),
  cert_common: titled('Common name', readOnlyText('Common name.')),
  cert_city: readOnlyText('City.'),
  cert_state: readOnlyText('State or province.'),
  cert_country: readOnlyText('Country.'),
  cert_email: readOnlyText('Email address.'),
  cert_organization: readOnlyText('Organization.'),
  // Clients read a list here (clients-need V16).
  cert_san: readOnly(
    list(text({ description: 'A name.', max: 2048 }), {
      description: 'Subject alternative names: host names, IP addresses and email addresses.',
    }),
  ),
  cert_digest_algorithm: readOnlyText('Digest of the signature.'),
  cert_lifetime: readOnly(nullable(integer({ description: 'Days of validity.' }))),
  cert_key_length: readOnly(nullable(integer({ description: 'Bits of the public key.' }))),
  cert_serial: readOnly(serial),
  cert_certificate: readOnlyText('The certificate in PEM; an imported one with its intermediate certificates.'),
  cert_privatekey: titled('Private key', secret(readOnlyText('Private key in PEM.'))),
  cert_CSR: readOnlyText('Certificate signing request in PEM.'),
  cert_type: readOnly(
    integer({
      description:
        'Imported authority (1), internal authority (2), intermediate authority (4), imported certificate (8), internal certificate (16) or certificate signing request (32).',
    }),
  ),
  cert_DN: titled(
    'Distinguished name',
    readOnlyText('Distinguished name, as /C=../ST=../L=../O=../CN=../emailAddress=...'),
  ),
  cert_from: titled('Valid from', readOnlyText('Beginning of the validity, in UTC.')),
  cert_until: titled('Valid until', readOnlyText('End of the validity, in UTC.')),
  cert_issuer: readOnlyText(
    'Name of the authority that signed it, or external, self-signed, or external - signature pending.',
  ),
  cert_chain: titled(
    'With intermediate certificates',
    readOnly(flag(false, { description: 'Whether it was imported with intermediate certificates.' })),
  ),
};

/** The fields of a record that follow from its certificate. */
export function fieldsOf(chain: readonly string[]) {
  const own = chain[0] ?? '';
  return { ...named(describe(own)), cert_certificate: chain.join(''), cert_chain: chain.length > 1 };
}

function named(of: Description) {
  return {
    cert_common: of.common,
    cert_city: of.city,
    cert_state: of.state,
    cert_country: of.country,
    cert_email: of.email,
    cert_organization: of.organization,
    cert_san: of.san,
    cert_digest_algorithm: of.digest,
    cert_lifetime: of.lifetime,
    cert_key_length: of.keyLength,
    cert_serial: of.serial,
    cert_DN: of.distinguishedName,
    cert_from: of.from,
    cert_until: of.until,
  };
}
