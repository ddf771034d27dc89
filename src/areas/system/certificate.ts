import { isIP } from 'node:net';
import { flag, hidden, live, nullable, reference, required } from '../../engine/declare/fields.ts';
import { action, collection, type View } from '../../engine/declare/resource.ts';
import {
  fieldsOf,
  importFields,
  issuers,
  ownFields,
  readImport,
  recordFields,
  requestFields,
  subjectOf,
} from './certificate-fields.ts';
import {
  path as authorityPath,
  certificateAuthority,
  forgetOne,
  signedBy,
  signedByAuthority,
} from './certificateauthority.ts';
import { distinguishedName, isSelfSigned, issue, newKey, request, type Subject, wordsOf } from './x509.ts';

/** `cert_type` of certificates (gaps 15). */
const types = { existing: 8, internal: 16, request: 32 } as const;

export const certificate = collection(
  'system/certificate',
  {
    title: 'certificate',
    description: 'A certificate with its key, or a request for one, made here or imported.',
    verbs: ['list', 'read', 'remove'],
    order: ['cert_name'],
    unique: [{ fields: ['cert_name'], description: 'A certificate of this name is there already.' }],
    fields: {
      ...recordFields,
      // Records do not show who signed it (gaps 15); cert_issuer names it.
      cert_signedby: hidden(
        nullable(
          reference(authorityPath, {
            description: 'The authority here that signed it. It goes when that one goes.',
            onRemove: 'remove',
          }),
        ),
      ),
      cert_type_existing: live(flag(false, { description: 'Whether it was imported.' })),
      cert_type_internal: live(flag(false, { description: 'Whether it was made here.' })),
      cert_type_CSR: live(flag(false, { description: 'Whether it is a signing request.' })),
    },
    present: ({ cert_type }) => ({
      cert_type_existing: cert_type === types.existing,
      cert_type_internal: cert_type === types.internal,
      cert_type_CSR: cert_type === types.request,
    }),
    onRemove({ draft, record }) {
      if (record.cert_signedby !== null) forgetOne(draft, record.cert_signedby);
    },
  },
  [
    action({
      segment: 'internal',
      on: 'resource',
      title: 'Makes a certificate that an authority here signs.',
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
        await operations.change(`create the certificate ${cert_name}`, (draft) => {
          const signed = signedByAuthority(draft, cert_signedby, (signer, serial) =>
            issue({
              subject: metUnderItsName(subjectOf(sent)),
              key,
              signer,
              isAuthority: false,
              digest,
              serial,
              from: operations.now(),
              days,
            }),
          );
          return draft.create(
            certificate,
            {},
            { ...signed, cert_name, cert_privatekey: key, cert_type: types.internal, cert_signedby },
          );
        });
        return 'Certificate created.';
      },
    }),
    action({
      segment: 'csr',
      on: 'resource',
      title: 'Makes a key, and a request that an authority elsewhere signs.',
      status: 201,
      fields: requestFields,
      async perform({ sent, operations }) {
        const { cert_name = '', cert_key_length = 0, cert_digest_algorithm: digest = 'SHA256' } = sent;
        const key = await newKey(cert_key_length);
        const subject = metUnderItsName(subjectOf(sent));
        const { country, state, city, organization, common, email, san } = subject;
        await operations.change(`create the signing request ${cert_name}`, (draft) =>
          draft.create(
            certificate,
            {},
            {
              cert_name,
              cert_common: common,
              cert_city: city,
              cert_state: state,
              cert_country: country,
              cert_email: email,
              cert_organization: organization,
              cert_san: wordsOf(san),
              cert_digest_algorithm: digest,
              cert_key_length,
              cert_privatekey: key,
              cert_CSR: request({ subject, key, digest }),
              cert_type: types.request,
              cert_DN: distinguishedName(subject, wordsOf(san)),
              cert_issuer: issuers.pending,
              cert_chain: false,
            },
          ),
        );
        return 'Certificate Signing Request created.';
      },
    }),
    action({
      segment: 'import',
      on: 'resource',
      title: 'Takes over a certificate with its private key.',
      status: 201,
      fields: { ...importFields, cert_privatekey: required(importFields.cert_privatekey) },
      async perform({ sent, operations }) {
        const { cert_name = '' } = sent;
        const { chain, key } = readImport(sent);
        await operations.change(`import the certificate ${cert_name}`, (draft) =>
          draft.create(
            certificate,
            {},
            {
              ...fieldsOf(chain),
              cert_name,
              cert_privatekey: key,
              cert_type: types.existing,
              cert_issuer: issuers.external,
            },
          ),
        );
        return 'Certificate imported.';
      },
    }),
  ],
);

/** Clients of today look for the host among the further names only, never at the common name (RFC 9525). */
function metUnderItsName(subject: Subject): Subject {
  const { common, san } = subject;
  const isHost =
    isIP(common) !== 0 ||
    /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/.test(common);
  return san === '' && isHost ? { ...subject, san: common } : subject;
}

/** What a program that serves TLS is given. */
export interface Pair {
  /** The certificate, followed by the intermediate authorities up to the one that answers for itself, in PEM. */
  readonly chain: string;
  /** In PEM. */
  readonly key: string;
}

/** The certificate of this id for a program that serves TLS, or what it lacks for that. */
export function pairOf(view: View, id: number): Pair | string {
  const record = view.get(certificate, id);
  if (record === undefined) return `No certificate has the id ${id}.`;
  const { cert_certificate: own, cert_privatekey: key, cert_name: name } = record;
  if (own === null) return `${name} is a signing request: it serves nobody until an authority has signed it.`;
  if (key === null) return `The certificate ${name} has no private key here.`;
  const chain = [own];
  let signer = record.cert_signedby;
  while (signer !== null) {
    const authority = view.get(certificateAuthority, signer);
    if (authority?.cert_certificate == null || isSelfSigned(authority.cert_certificate)) break;
    chain.push(authority.cert_certificate);
    signer = authority.cert_signedby;
  }
  return { chain: chain.join(''), key };
}
