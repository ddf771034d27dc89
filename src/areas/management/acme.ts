import { missing } from '../../engine/declare/errors.ts';
import { integer } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import { flagOf, integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { type AcmeCertificate, acmeCertificate, acmeFields, orderTask, withoutFailure } from '../certificates/acme.ts';
import { certificate } from '../certificates/certificate.ts';
import { newEcKey } from '../certificates/x509.ts';
import { optionals, sentOf } from './rights.ts';

const answer = objectOf('AcmeCertificate', {
  id: integerOf('Id of the entry.'),
  name: stringOf('Name of the certificate in system/certificate.'),
  names: listOf(stringOf('A name or address.'), 'What the certificate is for.'),
  directory: stringOf('Address of the directory of the authority.'),
  contact: stringOf('Mail address for messages of the authority.'),
  terms_agreed: flagOf('Whether the terms of the authority were agreed to.'),
  challenge: stringOf('How the names are proven: http-01 or dns-01.'),
  hook: listOf(stringOf('One argument.'), 'The program for dns-01 and its arguments.'),
  http_port: integerOf('Port at which requests to port 80 arrive.'),
  certificate: orNull(integerOf('Id of the certificate in system/certificate; null until there is one.')),
  until: orNull(timeOf('When the certificate ends. It is renewed when a third of its life is left.')),
  failure: stringOf('Why the last attempt failed, in the words of the authority; empty if it did not.'),
  failed: orNull(timeOf('When the first of these attempts failed.')),
  failures: integerOf('Attempts that failed since the last success.'),
  next: orNull(timeOf('When the next attempt follows after a failure.')),
});

const params = { id: integer({ description: 'Id of the entry.', min: 1 }) };

const example = {
  name: 'website',
  names: ['nas.example.org'],
  directory: 'https://127.0.0.1:14000/dir',
  terms_agreed: true,
};

export const acme = section('acme', 'Certificates that an authority issues by ACME, renewed by themselves.', [
  operation({
    method: 'GET',
    path: 'acme',
    name: 'listAcmeCertificates',
    title: 'Lists the certificates by ACME.',
    answer: listOf(answer),
    run: ({ operations }) => operations.world.view.all(acmeCertificate).map((one) => shown(one, operations)),
  }),
  operation({
    method: 'POST',
    path: 'acme',
    name: 'createAcmeCertificate',
    title: 'Begins to order a certificate. A job does it; a problem in the list says why it could not be done.',
    body: acmeFields,
    status: 201,
    answer,
    example: { body: example },
    async run(call) {
      const { operations, body } = call;
      const id = await operations.change(`order the certificate ${body.name} by ACME`, (draft) => {
        // Authorities limit how many accounts one address may make.
        const known = draft.find(acmeCertificate, 'directory', body.directory)?.account_key;
        return draft.create(acmeCertificate, body, { account_key: known ?? newEcKey() }).id;
      });
      return started(call, id);
    },
  }),
  operation({
    method: 'GET',
    path: 'acme/{id}',
    name: 'getAcmeCertificate',
    title: 'Reads a certificate by ACME.',
    params,
    answer,
    run: ({ operations, params: { id } }) => shown(found(operations, id), operations),
  }),
  operation({
    method: 'PUT',
    path: 'acme/{id}',
    name: 'updateAcmeCertificate',
    title: 'Changes how a certificate is ordered, and orders it again. What is not sent stays.',
    params,
    body: optionals(acmeFields),
    answer,
    example: { body: { contact: 'admin@example.org' } },
    async run(call) {
      const { operations, body, params: sentParams } = call;
      const before = found(operations, sentParams.id);
      const sent = sentOf(body);
      if (!isSentOf(acmeCertificate.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      await operations.change(`change the certificate ${before.name} by ACME`, (draft) => {
        draft.update(acmeCertificate, before.id, sent, withoutFailure);
      });
      return started(call, before.id);
    },
  }),
  operation({
    method: 'DELETE',
    path: 'acme/{id}',
    name: 'removeAcmeCertificate',
    title: 'Ends the renewal. The certificate itself stays in system/certificate.',
    params,
    status: 204,
    answer: 'nothing',
    async run({ operations, params: { id } }) {
      const before = found(operations, id);
      await operations.onlyChange(`end the renewal of the certificate ${before.name}`, (draft) =>
        draft.remove(acmeCertificate, id),
      );
    },
  }),
  operation({
    method: 'POST',
    path: 'acme/{id}/renew',
    name: 'renewAcmeCertificate',
    title: 'Orders a certificate again, as a job.',
    params,
    status: 202,
    answer,
    run: (call) => started(call, found(call.operations, call.params.id).id),
  }),
]);

type Operations = OperationCall['operations'];

function started({ operations }: Pick<OperationCall, 'operations'>, id: number) {
  const record = found(operations, id);
  operations.background(orderTask(record, operations.world.view, operations.now()));
  return shown(record, operations);
}

function found({ world }: Operations, id: number): AcmeCertificate {
  const record = world.view.get(acmeCertificate, id);
  if (record === undefined)
    throw missing(`There is no certificate by ACME ${id}; GET /api/holdfast/v1/acme lists them.`);
  return record;
}

function shown({ account_key: _, next, ...record }: AcmeCertificate, { world }: Operations) {
  const until = record.certificate === null ? null : world.view.get(certificate, record.certificate)?.cert_until;
  return {
    ...record,
    until: until == null ? null : new Date(`${until} GMT`).toISOString(),
    next: next === '' ? null : next,
  };
}
