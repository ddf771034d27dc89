import type { Problem } from '../../engine/declare/problem.ts';
import { sentenceList } from '../../lib/text.ts';

interface Certified {
  readonly id: number;
  readonly cert_name: string;
  readonly cert_until: string | null;
  readonly cert_digest_algorithm: string | null;
  readonly cert_key_length: number | null;
  readonly cert_lifetime?: number | null;
  /** Whether it is renewed when a third of its life is left. */
  readonly is_renewed?: boolean;
}

const day = 86_400_000;

/** Certificates that have expired or soon will, and those that current programs do not trust. */
export function certificateProblems(path: string, records: readonly Certified[], now: number): readonly Problem[] {
  return records.flatMap(({ id, ...certificate }) => {
    const about = `${path}/${id}`;
    return [...expiry(about, certificate, now), ...weakness(about, certificate)];
  });
}

type Unnumbered = Omit<Certified, 'id'>;

function expiry(about: string, certificate: Unnumbered, now: number): readonly Problem[] {
  const { cert_name: name, cert_until: until, is_renewed, cert_lifetime } = certificate;
  // One that is renewed may have a life of days: it is a problem when the renewal is late.
  const warned = is_renewed === true ? Math.min(30, (cert_lifetime ?? 0) / 4) * day : 30 * day;
  const left = until === null ? undefined : Date.parse(`${until} GMT`) - now;
  if (left === undefined || left >= warned) return [];
  return left < 0
    ? [
        {
          kind: 'expired',
          about,
          severity: 'critical',
          message: `The certificate ${name} has expired.`,
          since: now + left,
        },
      ]
    : [
        {
          kind: 'expires',
          about,
          severity: 'warning',
          message: `The certificate ${name} expires in ${Math.ceil(left / day)} days.`,
          since: now + left - warned,
        },
      ];
}

function weakness(
  about: string,
  { cert_name: name, cert_digest_algorithm: digest, cert_key_length: bits }: Unnumbered,
): readonly Problem[] {
  // Keys of up to 521 bits are elliptic curve keys, which are strong.
  const weak = [
    ...(digest === 'SHA1' ? ['the digest SHA1'] : []),
    ...(bits !== null && bits > 521 && bits < 2048 ? [`a key of ${bits} bits`] : []),
  ];
  if (weak.length === 0) return [];
  const message = `The certificate ${name} has ${sentenceList(weak)}: current programs do not trust it.`;
  return [{ kind: 'weak', about, severity: 'warning', message }];
}
