import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { fingerprintOf } from '../certificates/own.ts';
import { describe, untilOf } from '../certificates/x509.ts';
import { furtherNames, ownCertificate, renew } from '../system/own-certificate.ts';
import { endpointsOf } from '../system/settings.ts';

const answer = objectOf('Https', {
  authority: orNull(stringOf('Certificate of the own authority in PEM, for clients to trust; null without one.')),
  fingerprint: orNull(stringOf('SHA-256 of the certificate of the authority.')),
  authority_until: orNull(timeOf('When the authority ends. It is renewed before, with the same key.')),
  names: listOf(stringOf('A name or address.'), 'The names and addresses in the own certificate.'),
  further_names: listOf(stringOf('A name or address.'), 'Those of them that a request added.'),
  until: orNull(timeOf('When the own certificate ends. It is renewed 60 days before.')),
  ports: listOf(integerOf('A port.'), 'The ports that serve HTTPS, with this certificate or another one.'),
});

export const https = section('https', 'HTTPS with a certificate of an authority of its own.', [
  operation({
    method: 'GET',
    path: 'https',
    name: 'getHttps',
    title: 'Shows the certificate that the interface has by itself, and its authority.',
    answer,
    run: shown,
  }),
  operation({
    method: 'PUT',
    path: 'https',
    name: 'renewHttps',
    alone: 'Its answer has the certificate, which is made when the change is carried out.',
    title: 'Makes a new certificate of the own authority, and the authority if there is none.',
    body: { further_names: furtherNames },
    answer,
    example: { body: { further_names: ['nas.example.org'] } },
    async run(call) {
      const { operations, body } = call;
      await operations.change('make a certificate for HTTPS', (draft) => {
        renew(draft, operations.now(), body.further_names);
      });
      return shown(call);
    },
  }),
]);

function shown({ operations }: Pick<OperationCall, 'operations'>) {
  const { view } = operations.world;
  const [own] = view.all(ownCertificate);
  const certificate = own && describe(own.certificate);
  const timeOfText = (until: string | undefined) =>
    until === undefined ? null : new Date(`${until} GMT`).toISOString();
  const endpoints = endpointsOf(view);
  return {
    authority: own?.authority ?? null,
    fingerprint: own === undefined ? null : fingerprintOf(own.authority),
    authority_until: timeOfText(own && untilOf(own.authority)),
    names: certificate?.san ?? [],
    further_names: own?.further_names ?? [],
    until: timeOfText(certificate?.until),
    ports: [...new Set(endpoints.flatMap(({ port, tls }) => (tls === undefined ? [] : [port])))],
  };
}
