import { isIP } from 'node:net';
import { flag, hidden, live, nullable, reference, required, titled } from '../../engine/declare/fields.ts';
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
import { certificateProblems } from './certificate-problems.ts';
import {
  path as authorityPath,
  certificateAuthority,
  decrementSigned,
  signedBy,
  signedByAuthority,
} from './certificateauthority.ts';
import { distinguishedName, isSelfSigned, issue, newKey, request, type Subject, sanEntries } from './x509.ts';

/** `cert_type` of certificates (gaps 15). */
const types = { existing: 8, internal: 16, request: 32 } as const;

export const certificate = collection(
  'system/certificate',
  {
    shortName: 'certificate',
    title: 'certificate',
    description: 'A certificate with its key, or a certificate signing request. It is created here or imported.',
    verbs: ['list', 'read', 'remove'],
    order: ['cert_name'],
    problems: (records, { now }) => certificateProblems('system/certificate', records, now),
    unique: [{ fields: ['cert_name'], description: 'A certificate with this name already exists.' }],
    fields: {
      ...recordFields,
      // Answers do not contain the signing authority (gaps 15); cert_issuer holds its name.
      cert_signedby: titled(
        'Signed by',
        hidden(
          nullable(
            reference(authorityPath, {
              description: 'Id of the authority that signed it. Removing the authority removes the certificate.',
              onRemove: 'remove',
            }),
          ),
        ),
      ),
      // Its authority issues it by ACME.
      is_renewed: hidden(flag(false, { description: 'Whether it is renewed by itself.' })),
      cert_type_existing: live(flag(false, { description: 'Whether it was imported.' })),
      cert_type_internal: live(flag(false, { description: 'Whether it was created here.' })),
      cert_type_CSR: live(flag(false, { description: 'Whether it is a certificate signing request.' })),
    },
    present: ({ cert_type }) => ({
      cert_type_existing: cert_type === types.existing,
      cert_type_internal: cert_type === types.internal,
      cert_type_CSR: cert_type === types.request,
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
      title: 'Creates a certificate, signed by an authority of Holdfast.',
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
              subject: withHostInSan(subjectOf(sent)),
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
      verb: 'create-csr',
      on: 'resource',
      title: 'Creates a key and a certificate signing request for an external authority.',
      status: 201,
      fields: requestFields,
      async perform({ sent, operations }) {
        const { cert_name = '', cert_key_length = 0, cert_digest_algorithm: digest = 'SHA256' } = sent;
        const key = await newKey(cert_key_length);
        const subject = withHostInSan(subjectOf(sent));
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
              cert_san: sanEntries(san),
              cert_digest_algorithm: digest,
              cert_key_length,
              cert_privatekey: key,
              cert_CSR: request({ subject, key, digest }),
              cert_type: types.request,
              cert_DN: distinguishedName(subject, sanEntries(san)),
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
      title: 'Imports a certificate with its private key.',
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

/** The record of a certificate that an authority has issued by ACME, with its key in PEM. */
export function renewedCertificate(name: string, chain: readonly string[], key: string) {
  return {
    ...fieldsOf(chain),
    cert_name: name,
    cert_privatekey: key,
    cert_type: types.existing,
    cert_issuer: issuers.external,
    is_renewed: true,
  };
}

/** Adds the common name to the subject alternative names: clients compare the host with these only (RFC 9525). */
function withHostInSan(subject: Subject): Subject {
  const { common, san } = subject;
  const isHost =
    isIP(common) !== 0 ||
    /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/.test(common);
  return san === '' && isHost ? { ...subject, san: common } : subject;
}

/** A certificate chain and a private key for a TLS server. */
export interface Pair {
  /** The certificate, then the intermediate authorities, without the self-signed root, in PEM. */
  readonly chain: string;
  /** In PEM. */
  readonly key: string;
}

/** The chain and key of a certificate for a TLS server, or a problem message. */
export function pairOf(view: View, id: number): Pair | string {
  const record = view.get(certificate, id);
  if (record === undefined) return `Certificate ${id} does not exist.`;
  const { cert_certificate: own, cert_privatekey: key, cert_name: name } = record;
  if (own === null) return `Expected a signed certificate: ${name} is a certificate signing request.`;
  if (key === null) return `Expected a certificate with a private key: ${name} has none.`;
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
