import { isIP } from 'node:net';
import { failed } from '../../engine/declare/errors.ts';
import {
  choice,
  createOnly,
  field,
  good,
  hidden,
  integer,
  list,
  nullable,
  raw,
  readOnly,
  reference,
  refine,
  required,
  secret,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import {
  type Collection,
  collection,
  type Draft,
  type RecordOf,
  type Task,
  type View,
} from '../../engine/declare/resource.ts';
import { messageOf, quote } from '../../lib/text.ts';
import { orderByAcme } from './acme-steps.ts';
import { certificate, renewedCertificate } from './certificate.ts';
import { hostName, nowhere } from './own.ts';
import { trustedAuthorities } from './trust.ts';
import { newEcKey, readChain, request } from './x509.ts';

const path = 'holdfast/acmecertificate';

/** What a client sets of a certificate that is ordered by ACME. */
export const acmeFields = {
  name: createOnly(
    required(
      text({
        description: 'Name of the certificate in system/certificate.',
        max: 120,
        pattern: /^[A-Za-z0-9_-]+$/,
        rule: 'Expected letters, digits, underscores and hyphens only.',
      }),
    ),
  ),
  names: required(
    refine(
      list(text({ description: 'A host name, with *. in front for a wildcard, or an IP address.', max: 253 }), {
        description: 'Names that the certificate is for. The authority checks that they lead to this machine.',
        max: 100,
      }),
      (names) => {
        if (names.length === 0) return 'At least one name is required.';
        const invalid = names.find((name) => !hostName.test(name) && isIP(name) === 0);
        return invalid === undefined ? undefined : `Expected host names or IP addresses, got ${quote(invalid)}.`;
      },
    ),
  ),
  directory: refine(
    text({
      description: 'Address of the directory of the authority.',
      max: 1024,
      initial: 'https://acme-v02.api.letsencrypt.org/directory',
    }),
    (value) =>
      URL.canParse(value) && new URL(value).protocol === 'https:' && new URL(value).username === ''
        ? undefined
        : `Expected an address with https, got ${quote(value)}.`,
  ),
  contact: text({ description: 'Mail address for messages of the authority.', max: 254 }),
  terms_agreed: required(
    field<true>({
      description: 'That you agree to the terms of the authority, which its directory names.',
      initial: undefined,
      blank: undefined,
      schema: { type: 'boolean', enum: [true] },
      read: (sent) =>
        sent === true ? good(true) : wrong('Expected true: an authority issues only who agrees to its terms.'),
    }),
  ),
  challenge: choice(['http-01', 'dns-01'], {
    description:
      'How the names are proven: http-01 by an answer to HTTP on port 80, dns-01 by a record that the hook sets, which wildcards require.',
    initial: 'http-01',
  }),
  hook: raw(
    refine(
      list(text({ description: 'The path of a program, then its arguments.', max: 1024, untrimmed: true }), {
        description:
          'Program for dns-01 and its arguments. Root starts it with set or remove, the name of the TXT record, and its value; when it ends, name servers have the record.',
        max: 50,
      }),
      ([program]) =>
        program === undefined || program.startsWith('/')
          ? undefined
          : `Expected the absolute path of a program first, got ${quote(program)}.`,
    ),
  ),
  http_port: port({
    description: 'TCP port at which requests to port 80 arrive, if something in front of the machine translates it.',
    initial: 80,
  }),
} as const;

const fields = {
  ...acmeFields,
  certificate: readOnly(
    nullable(
      reference(certificate.path, {
        description: 'Id of the certificate; null until there is one.',
        onRemove: { becomes: null },
      }),
    ),
  ),
  account_key: hidden(secret(text({ description: 'Private key of the account.', max: 4096, multiline: true }))),
  failure: readOnly(text({ description: 'Why the last attempt failed; empty if it did not.', max: 4096 })),
  failed: readOnly(nullable(text({ description: 'When the first of these attempts failed.', max: 40 }))),
  failures: readOnly(integer({ description: 'Attempts that failed since the last success.', initial: 0 })),
  next: readOnly(text({ description: 'No attempt before this time.', max: 40 })),
} as const;

export type AcmeCertificate = RecordOf<typeof fields>;

const hour = 3_600_000;

/** Certificates that an authority issues by ACME, and that are renewed by themselves. */
export const acmeCertificate: Collection<typeof fields> = collection(path, {
  title: 'ACME certificate',
  description: 'A certificate that is ordered by ACME and renewed.',
  verbs: [],
  order: ['name'],
  unique: [{ fields: ['name'], description: 'Another certificate by ACME has this name.' }],
  fields,
  check({ record, issues, view }) {
    const { name, names, challenge, hook } = record;
    const other = view.find(certificate, 'cert_name', name);
    if (other !== undefined && other.id !== record.certificate)
      issues.add('name', 'A certificate with this name already exists.');
    const wildcard = names.find((one) => one.startsWith('*.'));
    if (challenge === 'http-01' && wildcard !== undefined)
      issues.add(
        'challenge',
        `Expected dns-01 for the wildcard ${wildcard}: authorities do not accept http-01 for it.`,
      );
    const address = names.find((one) => isIP(one) !== 0);
    if (challenge === 'dns-01' && address !== undefined)
      issues.add('challenge', `Expected http-01 for the address ${address}: it has no records.`);
    if (challenge === 'dns-01' && hook.length === 0) issues.add('hook', 'hook is required when challenge is dns-01.');
  },
  problems: (records) =>
    records.flatMap(({ id, name, directory, failure, failed }) =>
      failed === null
        ? []
        : [
            {
              kind: 'not issued',
              about: `${path}/${id}`,
              severity: 'warning' as const,
              message: `The certificate ${name} could not be ordered from ${new URL(directory).host}. ${failure}`,
              since: Date.parse(failed),
              remedy: { method: 'POST' as const, path: `/api/holdfast/v1/acme/${id}/renew` },
            },
          ],
    ),
  scheduled: {
    when: () => ({ minute: '*/10', hour: '*', daymonth: '*', month: '*', dayweek: '*' }),
    quiet: true,
    task: (record, { at, view }) =>
      isDue(record, view.get(certificate, record.certificate ?? 0), at)
        ? { ...orderTask(record, view, at), alone: true }
        : undefined,
  },
});

/** A third of the life before its end, as authorities recommend; after failures, later each time. */
function isDue(
  record: AcmeCertificate,
  current: RecordOf<typeof certificate.fields> | undefined,
  now: number,
): boolean {
  if (record.next !== '' && now < Date.parse(record.next)) return false;
  if (current === undefined || record.names.some((name) => !current.cert_san.includes(name))) return true;
  const [from, until] = [current.cert_from, current.cert_until].map((time) => Date.parse(`${time} GMT`));
  if (from === undefined || until === undefined) return true;
  return now >= until - (until - from) / 3;
}

/** Orders the certificate and puts it in the place of the former one, which all that uses it then has. */
export function orderTask(record: AcmeCertificate, view: View, now: number): Task {
  const { id, name, names, directory, contact, challenge, hook, http_port, account_key } = record;
  return {
    title: `order the certificate ${name}`,
    subject: `${path}/${id}`,
    locks: [`${path}/${id}`],
    async run(work) {
      try {
        const key = newEcKey();
        const subject = { ...nowhere, common: names.find((one) => one.length <= 64) ?? '', san: names.join(' ') };
        const ordered = await work.step(
          orderByAcme({
            ...{ name, hook, port: http_port, trust: await trustedAuthorities(view) },
            account: { directory, contact, key: account_key },
            order: { names, challenge, csr: request({ subject, key, digest: 'SHA256' }) },
          }),
        );
        const read = readChain(ordered ?? '');
        if (typeof read === 'string') throw new Error(`The answer of the authority cannot be used. ${read}`);
        return { certificate: await work.change((draft) => keepIssued(draft, id, read.chain, key)) };
      } catch (error) {
        // An abort says nothing about the authority.
        if (!work.signal.aborted) await work.change((draft) => noteFailure(draft, id, messageOf(error), now));
        throw error;
      }
    },
  };
}

/** The id of the certificate. */
function keepIssued(draft: Draft, id: number, chain: readonly string[], key: string): number {
  const record = draft.get(acmeCertificate, id);
  if (record === undefined) throw failed('The certificate by ACME was removed while it was ordered.');
  const values = renewedCertificate(record.name, chain, key);
  const former = record.certificate ?? 0;
  const made =
    draft.get(certificate, former) === undefined
      ? draft.create(certificate, {}, values)
      : draft.update(certificate, former, {}, values);
  draft.update(acmeCertificate, id, {}, { certificate: made.id, ...withoutFailure });
  return made.id;
}

/** What a record says that has not failed. */
export const withoutFailure = { failure: '', failed: null, failures: 0, next: '' } as const;

function noteFailure(draft: Draft, id: number, failure: string, now: number): void {
  const record = draft.get(acmeCertificate, id);
  if (record === undefined) return;
  const failures = record.failures + 1;
  const wait = Math.min(24 * hour, hour * 2 ** (failures - 1));
  const since = record.failed ?? timeText(now);
  const next = timeText(now + wait);
  draft.update(acmeCertificate, id, {}, { failure: failure.slice(0, 4096), failed: since, failures, next });
}

const timeText = (at: number) => new Date(at).toISOString();
