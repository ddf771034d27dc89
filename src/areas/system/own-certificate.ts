import { isIP } from 'node:net';
import { hidden, integer, list, readOnly, refine, secret, text } from '../../engine/declare/fields.ts';
import {
  type Collection,
  collection,
  type Draft,
  type Operations,
  type RecordOf,
  type World,
} from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import type { Pair } from '../certificates/certificate.ts';
import { certificateProblems } from '../certificates/certificate-problems.ts';
import { hostName, isRenewalDue, ownChain } from '../certificates/own.ts';
import { describe, sanEntry, untilOf } from '../certificates/x509.ts';
import { clusterSettings } from '../cluster/settings.ts';
import { ownNames } from './own-names.ts';

export const furtherNames = list(
  refine(text({ description: 'A host name or an IP address.', max: 253 }), (value) =>
    isIP(value) !== 0 || hostName.test(value)
      ? undefined
      : `Expected a host name or an IP address, got ${quote(value)}.`,
  ),
  { description: 'Names and addresses for the certificate, in addition to those of the machine.', max: 100 },
);

const pem = (description: string) => readOnly(text({ description, max: 16_384, multiline: true }));
const key = (description: string) => hidden(secret(text({ description, max: 16_384, multiline: true })));

const fields = {
  authority: pem('Certificate of the authority.'),
  authority_key: key('Private key of the authority.'),
  serial: readOnly(integer({ description: 'Last serial number of the authority.', initial: 0 })),
  certificate: pem('Certificate of the machine.'),
  key: key('Private key of the certificate.'),
  further_names: readOnly(furtherNames),
} as const;

type OwnCertificate = RecordOf<typeof fields>;

/**
 * The certificate that the interface has by itself, and the authority that signs it: one record, or none. It is outside of
 * `system/certificate`, whose records are those that clients made.
 */
export const ownCertificate: Collection<typeof fields> = collection('holdfast/owncertificate', {
  title: 'own certificate',
  description: 'The certificate for HTTPS that Holdfast makes itself.',
  verbs: [],
  ofMachine: true,
  fields,
  problems: (records, { now }) =>
    certificateProblems(
      'holdfast/owncertificate',
      records.map((record) => ({
        ...{ id: record.id, cert_name: 'that Holdfast makes for HTTPS', cert_until: untilOf(record.certificate) },
        ...{ cert_digest_algorithm: null, cert_key_length: null },
      })),
      now,
    ),
  scheduled: {
    when: () => ({ minute: '23', hour: '*', daymonth: '*', month: '*', dayweek: '*' }),
    quiet: true,
    task: (record, { at, view, facts }) =>
      isDue(record, { view, facts }, at)
        ? {
            title: 'renew the certificate of HTTPS',
            subject: `holdfast/owncertificate/${record.id}`,
            async run(work) {
              await work.change((draft) => renew(draft, at));
              return {};
            },
          }
        : undefined,
  },
  // A machine has one from its first start, a virtual host when a request makes one.
  async atStart(operations: Operations) {
    const { world } = operations;
    const now = operations.now();
    const [record] = world.view.all(ownCertificate);
    if (record === undefined ? world.facts.host !== 'linux' : !isDue(record, world, now)) return;
    await operations.change('make a certificate for HTTPS', (draft) => renew(draft, now));
  },
});

/** Makes the certificate, and the authority if there is none. */
export function renew(draft: Draft, now: number, sent?: readonly string[]): OwnCertificate {
  const [before] = draft.all(ownCertificate);
  const further_names = sent ?? before?.further_names ?? [];
  // Of a pair, each machine adds its names when it first has the pool. The one without it serves with this certificate too.
  const isOfPair = before !== undefined && draft.all(clusterSettings).length > 0;
  const sentBefore = before?.further_names.map(sanEntry) ?? [];
  const ofBoth = isOfPair ? describe(before.certificate).san.filter((name) => !sentBefore.includes(name)) : [];
  const names = [...namesFor(draft, further_names), ...ofBoth];
  const chain = ownChain(before, [...new Set(names)], now);
  const { authority, authority_key, serial, certificate } = chain;
  const values = { authority, authority_key, serial, certificate, key: chain.key, further_names };
  return before === undefined
    ? draft.create(ownCertificate, {}, values)
    : draft.update(ownCertificate, before.id, {}, values);
}

/** The certificate and its key for a TLS server. */
export function ownPair(view: Pick<World['view'], 'all'>): Pair | undefined {
  const [record] = view.all(ownCertificate);
  return record && { chain: record.certificate, key: record.key };
}

function isDue(record: OwnCertificate, world: World, now: number): boolean {
  return isRenewalDue(record, namesFor({ view: world.view, facts: world.facts }, record.further_names), now);
}

/** The host name first. */
function namesFor(of: World | Draft, further: readonly string[]): readonly string[] {
  const world = 'view' in of ? of : { view: of, facts: of.facts };
  const addresses = world.facts.network.links.flatMap((link) => link.addresses.map((one) => one.split('/')[0] ?? ''));
  const names = [...ownNames(world), ...further, 'localhost'].filter((name) => hostName.test(name) || isIP(name) !== 0);
  return [...new Set([...names, ...addresses, '127.0.0.1', '::1'])].filter((name) => name !== '');
}
