import { invalid } from '../../engine/declare/errors.ts';
import {
  flag,
  hidden,
  integer,
  live,
  nullable,
  readOnly,
  reference,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { action, collection, type Draft } from '../../engine/declare/resource.ts';
import {
  fieldsOf,
  importFields,
  issuers,
  ownFields,
  readImport,
  recordFields,
  subjectOf,
} from './certificate-fields.ts';
import { certificateProblems } from './certificate-problems.ts';
import { isAuthorityCertificate, isSelfSigned, issue, newKey, type Signer } from './x509.ts';

export const path = 'system/certificateauthority';

/** `cert_type` of authorities (gaps 15). */
const types = { existing: 1, internal: 2, intermediate: 4 } as const;

/** A plain number in requests; records hold a reference to the authority, or null. */
export const signedBy = integer({
  description: 'Id of the signing authority. Its private key must be stored here.',
  min: 1,
});

export const certificateAuthority = collection(
  path,
  {
    shortName: 'ca',
    title: 'certificate authority',
    description: 'An authority that signs certificates. It is created here or imported.',
    verbs: ['list', 'read', 'remove'],
    order: ['cert_name'],
    problems: (records, { now }) => certificateProblems(path, records, now),
    unique: [{ fields: ['cert_name'], description: 'An authority with this name already exists.' }],
    fields: {
      ...recordFields,
      cert_signedby: titled(
        'Signed by',
        readOnly(
          nullable(
            reference(path, {
              description: 'Id of the authority that signed it. Removing that authority removes this one.',
              onRemove: 'remove',
            }),
          ),
        ),
      ),
      cert_ncertificates: titled(
        'Certificates signed',
        readOnly(
          integer({
            description: 'Number of stored certificates that it has signed, including intermediate authorities.',
            initial: 0,
          }),
        ),
      ),
      cert_internal: titled(
        'Made here',
        live(text({ description: 'YES when its key was created here, otherwise NO.' })),
      ),
      CA_type_existing: live(flag(false, { description: 'Whether it was imported.' })),
      CA_type_intermediate: live(flag(false, { description: 'Whether another authority of Holdfast signed it.' })),
      CA_type_internal: live(flag(false, { description: 'Whether it was created here and is self-signed.' })),
      // Stored so that no serial number is used twice, even when its certificate has been removed.
      last_serial: hidden(integer({ description: 'Highest serial number that it has used.', initial: 0 })),
    },
    present: ({ cert_type }) => ({
      cert_internal: cert_type === types.existing ? 'NO' : 'YES',
      CA_type_existing: cert_type === types.existing,
      CA_type_intermediate: cert_type === types.intermediate,
      CA_type_internal: cert_type === types.internal,
    }),
    onRemove({ draft, record }) {
      if (record.cert_signedby !== null) decrementSigned(draft, record.cert_signedby);
    },
  },
  [
    action({
      segment: 'internal',
      verb: 'create',
      on: 'resource',
      title: 'Creates a self-signed authority.',
      status: 201,
      fields: ownFields,
      async perform({ sent, operations }) {
        const {
          cert_name = '',
          cert_key_length = 0,
          cert_digest_algorithm: digest = 'SHA256',
          cert_lifetime: days = 0,
        } = sent;
        const key = await newKey(cert_key_length);
        const made = issue({
          subject: subjectOf(sent),
          key,
          signer: undefined,
          isAuthority: true,
          digest,
          serial: 1,
          from: operations.now(),
          days,
        });
        await operations.change(`create the certificate authority ${cert_name}`, (draft) =>
          draft.create(
            certificateAuthority,
            {},
            {
              ...fieldsOf([made]),
              cert_name,
              cert_privatekey: key,
              cert_type: types.internal,
              cert_issuer: issuers.itself,
              last_serial: 1,
            },
          ),
        );
        return 'Certificate Authority created.';
      },
    }),
    action({
      segment: 'intermediate',
      verb: 'create-intermediate',
      on: 'resource',
      title: 'Creates an intermediate authority, signed by another authority.',
      status: 201,
      fields: { ...ownFields, cert_signedby: required(signedBy) },
      async perform({ sent, operations }) {
        const {
          cert_name = '',
          cert_key_length = 0,
          cert_digest_algorithm: digest = 'SHA256',
          cert_lifetime: days = 0,
          cert_signedby = 0,
        } = sent;
        const key = await newKey(cert_key_length);
        await operations.change(`create the certificate authority ${cert_name}`, (draft) => {
          const signed = signedByAuthority(draft, cert_signedby, (signer, serial) =>
            issue({
              subject: subjectOf(sent),
              key,
              signer,
              isAuthority: true,
              digest,
              serial,
              from: operations.now(),
              days,
            }),
          );
          return draft.create(
            certificateAuthority,
            {},
            { ...signed, cert_name, cert_privatekey: key, cert_type: types.intermediate, cert_signedby },
          );
        });
        return 'Certificate Authority created.';
      },
    }),
    action({
      segment: 'import',
      on: 'resource',
      title: 'Imports an authority. It can sign certificates only with its private key.',
      status: 201,
      fields: importFields,
      async perform({ sent, operations }) {
        const { cert_name = '', cert_serial = 0 } = sent;
        const { chain, key } = readImport(sent);
        const own = chain[0] ?? '';
        if (!isAuthorityCertificate(own))
          throw invalid({
            cert_certificate: [
              'Expected the certificate of an authority: the basic constraints of this one do not permit it to sign others.',
            ],
          });
        const imported = fieldsOf(chain);
        const ownSerial = isSelfSigned(own) && typeof imported.cert_serial === 'number' ? imported.cert_serial : 0;
        await operations.change(`import the certificate authority ${cert_name}`, (draft) =>
          draft.create(
            certificateAuthority,
            {},
            {
              ...imported,
              cert_name,
              cert_privatekey: key,
              cert_type: types.existing,
              cert_issuer: issuers.external,
              last_serial: Math.max(cert_serial, ownSerial),
            },
          ),
        );
        return 'Certificate Authority imported.';
      },
    }),
  ],
);

/**
 * Signs a certificate with an authority and returns the fields of the new record. The change also updates the
 * authority: its count of certificates and its last serial number.
 */
export function signedByAuthority(draft: Draft, id: number, sign: (signer: Signer, serial: number) => string) {
  const authority = draft.get(certificateAuthority, id);
  if (authority === undefined) throw invalid({ cert_signedby: [`Certificate authority ${id} does not exist.`] });
  const {
    cert_privatekey: key,
    cert_certificate: certificate,
    cert_name: cert_issuer,
    last_serial,
    cert_ncertificates,
  } = authority;
  if (key === null || certificate === null)
    throw invalid({ cert_signedby: [`The authority ${cert_issuer} cannot sign: its private key is not stored here.`] });
  const serial = last_serial + 1;
  const made = sign({ certificate, key }, serial);
  draft.update(certificateAuthority, id, {}, { last_serial: serial, cert_ncertificates: cert_ncertificates + 1 });
  return { ...fieldsOf([made]), cert_issuer };
}

/** Decrements the count of certificates of an authority; the authority may be removed by the same change. */
export function decrementSigned(draft: Draft, id: number): void {
  const signer = draft.get(certificateAuthority, id);
  if (signer !== undefined)
    draft.update(certificateAuthority, id, {}, { cert_ncertificates: Math.max(0, signer.cert_ncertificates - 1) });
}
