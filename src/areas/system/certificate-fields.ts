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
  wordsOf,
} from './x509.ts';

/** Names that stand for something else where the issuer of a certificate is told. */
export const issuers = {
  external: 'external',
  itself: 'self-signed',
  pending: 'external - signature pending',
} as const;

// Requests -----------------------------------------------------------------------------------------------------------

/** A certificate lives this long at most: X.509 ends with the year 9999, and most programs long before. */
const longestLife = 36_500;

const name = required(
  refine(
    text({
      description: 'What it is called here.',
      max: 120,
      pattern: /^[A-Za-z0-9_-]+$/,
      rule: 'A name has letters, digits, underscores and hyphens only.',
    }),
    (value) =>
      Object.values<string>(issuers).includes(value) ? `${quote(value)} stands for something else.` : undefined,
  ),
);

const subjectFields = {
  cert_name: name,
  cert_common: required(text({ description: 'Common name: the host, or the authority.', max: 64 })),
  cert_city: required(text({ description: 'City.', max: 120 })),
  cert_state: required(text({ description: 'State or province.', max: 120 })),
  cert_country: required(
    text({
      description: 'Country, as two letters.',
      max: 2,
      pattern: /^[A-Z]{2}$/,
      rule: 'A country has two capital letters, as US.',
    }),
  ),
  cert_email: required(
    text({
      description: 'Mail address.',
      max: 120,
      pattern: /^[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9.-]+$/,
      rule: 'A mail address is wanted, as admin@example.com.',
    }),
  ),
  cert_organization: required(text({ description: 'Organization.', max: 64 })),
  cert_san: refine(
    text({ description: 'Further names: host names, addresses and mail addresses, separated by blanks.', max: 2048 }),
    (value) => {
      const invalid = wordsOf(value).find(
        (word) =>
          isIP(word) === 0 && !/^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?(@[A-Za-z0-9.-]+)?$/.test(word),
      );
      return invalid === undefined ? undefined : `${quote(invalid)} is no host name, address or mail address.`;
    },
  ),
  cert_digest_algorithm: required(
    choice(digests, {
      description: 'Digest of the signature. SHA1 is weak: programs of today do not trust what is signed with it.',
    }),
  ),
  cert_key_length: required(
    refine(
      integer({
        description: 'Bits of the new key: 1024, 2048 or 4096. 1024 are weak: programs of today do not trust them.',
      }),
      (value) =>
        keyLengths.some((length) => length === value)
          ? undefined
          : `A key has ${keyLengths.join(', ')} bits, not ${value}.`,
    ),
  ),
};

const lifetime = integer({ description: 'Days that it is valid.', min: 1, max: longestLife });

/** What a certificate of our own is made of. */
export const ownFields = { ...subjectFields, cert_lifetime: required(lifetime) };

/** A request has no lifetime of its own: who signs it decides. One that is sent is not looked at (gaps 15). */
export const requestFields = subjectFields;

export const importFields = {
  cert_name: name,
  cert_certificate: required(
    text({
      description: 'The certificate in PEM, and those that have signed it, one behind the other.',
      max: 262_144,
      multiline: true,
    }),
  ),
  cert_privatekey: secret(text({ description: 'Its private key in PEM.', max: 65_536, multiline: true })),
  cert_passphrase: secret(
    text({ description: 'What the private key opens with, when it is encrypted.', max: 1024, untrimmed: true }),
  ),
  cert_passphrase2: secret(text({ description: 'The same again, when it is sent.', max: 1024, untrimmed: true })),
  cert_serial: integer({
    description: 'A serial number. A certificate carries its own; an authority goes on above this one when it signs.',
    min: 0,
  }),
};

/** The subject of a request whose required fields are there. */
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
  /** In PEM, opened. */
  readonly key: string | null;
}

/** The certificate and key of an import, or every objection to them at once. */
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
    issues['cert_passphrase2'] = ['The two passphrases are not the same.'];
  if (typeof key === 'string') issues['cert_privatekey'] = [key];
  else if (key !== undefined && key.asymmetricKeyType === 'rsa' && (keyLengthOf(key) ?? 0) < 1024)
    issues['cert_privatekey'] = ['A key of fewer than 1024 bits protects nothing.'];
  else if (key !== undefined && typeof chain === 'object' && !belongsTo(chain.chain[0] ?? '', key))
    issues['cert_privatekey'] = [
      'The private key does not belong to the certificate: their public keys are different.',
    ];
  if (Object.keys(issues).length > 0 || typeof chain === 'string' || typeof key === 'string') throw invalid(issues);
  return { chain: chain.chain, key: key === undefined ? null : pemOfKey(key) };
}

// Records ------------------------------------------------------------------------------------------------------------

const told = (description: string) => readOnly(nullable(text({ description, max: 300_000, multiline: true })));

/** A number, or its digits when JSON's numbers do not reach that far. */
const serial: Field<number | string | null, 'plain'> = field<number | string | null>({
  description: "Its serial number among the signer's, or its digits when it is greater than 2^53.",
  initial: null,
  schema: { type: ['integer', 'string', 'null'] },
  read: (sent) =>
    typeof sent === 'number' || typeof sent === 'string' ? good(sent) : wrong('A serial number is wanted.'),
});

/** What the records of authorities and of certificates have in common. All of it is read from the certificate itself. */
export const recordFields = {
  cert_name: readOnly(text({ description: 'What it is called here.', max: 120 })),
  cert_common: told('Common name.'),
  cert_city: told('City.'),
  cert_state: told('State or province.'),
  cert_country: told('Country.'),
  cert_email: told('Mail address.'),
  cert_organization: told('Organization.'),
  // Programs read a list here (clients-need V16).
  cert_san: readOnly(
    list(text({ description: 'A name.', max: 2048 }), {
      description: 'Further names: host names, addresses and mail addresses.',
    }),
  ),
  cert_digest_algorithm: told('Digest of its signature.'),
  cert_lifetime: readOnly(nullable(integer({ description: 'Days from its beginning to its end.' }))),
  cert_key_length: readOnly(nullable(integer({ description: 'Bits of its public key.' }))),
  cert_serial: readOnly(serial),
  cert_certificate: told('The certificate in PEM; an imported one with those that came along.'),
  cert_privatekey: secret(told('Its private key in PEM.')),
  cert_CSR: told('The signing request in PEM.'),
  cert_type: readOnly(
    integer({
      description:
        '1 and 2 are authorities, imported and internal, 4 an intermediate one; 8 and 16 are certificates, imported and internal, 32 is a request.',
    }),
  ),
  cert_DN: told('Distinguished name, as /C=../ST=../L=../O=../CN=../emailAddress=...'),
  cert_from: told('When it begins, in UTC.'),
  cert_until: told('When it ends, in UTC.'),
  cert_issuer: told('Name of the authority that signed it; external, self-signed, or external - signature pending.'),
  cert_chain: readOnly(flag(false, { description: 'Whether it was imported with those that have signed it.' })),
};

/** The record's fields that a certificate tells. */
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
