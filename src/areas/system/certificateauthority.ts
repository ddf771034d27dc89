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
import { isAuthorityCertificate, isSelfSigned, issue, newKey, type Signer } from './x509.ts';

export const path = 'system/certificateauthority';

/** `cert_type` of authorities (gaps 15). */
const types = { existing: 1, internal: 2, intermediate: 4 } as const;

/** A number in requests; in records the authority, or null. */
export const signedBy = integer({
  description: 'Id of the authority that signs; it must have its private key here.',
  min: 1,
});

export const certificateAuthority = collection(
  path,
  {
    title: 'certificate authority',
    description: 'An authority that signs certificates, made here or imported.',
    verbs: ['list', 'read', 'remove'],
    order: ['cert_name'],
    unique: [{ fields: ['cert_name'], description: 'An authority of this name is there already.' }],
    fields: {
      ...recordFields,
      cert_signedby: readOnly(
        nullable(
          reference(path, {
            description: 'The authority here that signed it. It goes when that one goes.',
            onRemove: 'remove',
          }),
        ),
      ),
      cert_ncertificates: readOnly(
        integer({
          description: 'Certificates here that it has signed, intermediate authorities among them.',
          initial: 0,
        }),
      ),
      cert_internal: live(text({ description: 'YES when its key was made here, else NO.' })),
      CA_type_existing: live(flag(false, { description: 'Whether it was imported.' })),
      CA_type_intermediate: live(flag(false, { description: 'Whether another authority here signed it.' })),
      CA_type_internal: live(flag(false, { description: 'Whether it was made here and answers for itself.' })),
      // The highest serial number that it has given away, so that none is given twice, not even after a removal.
      last_serial: hidden(integer({ description: 'The highest serial number it has given.', initial: 0 })),
    },
    present: ({ cert_type }) => ({
      cert_internal: cert_type === types.existing ? 'NO' : 'YES',
      CA_type_existing: cert_type === types.existing,
      CA_type_intermediate: cert_type === types.intermediate,
      CA_type_internal: cert_type === types.internal,
    }),
    onRemove({ draft, record }) {
      if (record.cert_signedby !== null) forgetOne(draft, record.cert_signedby);
    },
  },
  [
    action({
      segment: 'internal',
      on: 'resource',
      title: 'Makes an authority that answers for itself.',
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
      on: 'resource',
      title: 'Makes an authority that another one signs.',
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
      title: 'Takes over an authority. Without its private key it signs nothing here.',
      status: 201,
      fields: importFields,
      async perform({ sent, operations }) {
        const { cert_name = '', cert_serial = 0 } = sent;
        const { chain, key } = readImport(sent);
        const own = chain[0] ?? '';
        if (!isAuthorityCertificate(own))
          throw invalid({
            cert_certificate: [
              'It is the certificate of no authority: its basic constraints do not say that it may sign others.',
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
 * What an authority signs in this change: the fields of the record, the signer's name among them. The authority notes
 * that it has signed one more and which number that got.
 */
export function signedByAuthority(draft: Draft, id: number, sign: (signer: Signer, serial: number) => string) {
  const authority = draft.get(certificateAuthority, id);
  if (authority === undefined) throw invalid({ cert_signedby: [`No certificate authority has the id ${id}.`] });
  const {
    cert_privatekey: key,
    cert_certificate: certificate,
    cert_name: cert_issuer,
    last_serial,
    cert_ncertificates,
  } = authority;
  if (key === null || certificate === null)
    throw invalid({ cert_signedby: [`The authority ${cert_issuer} has no private key here, so it cannot sign.`] });
  const serial = last_serial + 1;
  const made = sign({ certificate, key }, serial);
  draft.update(certificateAuthority, id, {}, { last_serial: serial, cert_ncertificates: cert_ncertificates + 1 });
  return { ...fieldsOf([made]), cert_issuer };
}

/** One that the authority had signed goes; the authority itself may be going with it. */
export function forgetOne(draft: Draft, id: number): void {
  const signer = draft.get(certificateAuthority, id);
  if (signer !== undefined)
    draft.update(certificateAuthority, id, {}, { cert_ncertificates: Math.max(0, signer.cert_ncertificates - 1) });
}
