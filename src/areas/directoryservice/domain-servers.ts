import { invalid } from '../../engine/declare/errors.ts';
import type { Work } from '../../engine/declare/resource.ts';
import { hostAndPort } from './domain-access.ts';
import type { DomainSent, domainFields } from './domain-fields.ts';

/** A server of the domain that must answer. */
export interface Probe {
  readonly field: keyof typeof domainFields;
  readonly host: string;
  readonly port: number;
}

/** Gaps 3.1: a configured server must answer, even while the machine is not a member of a domain. */
export function probesOf({ ad_dcname, ad_gcname, ad_ssl }: DomainSent): readonly Probe[] {
  const tls = ad_ssl === 'on';
  return [
    ...(ad_dcname ? [{ field: 'ad_dcname' as const, ...hostAndPort(ad_dcname, tls ? 636 : 389) }] : []),
    ...(ad_gcname ? [{ field: 'ad_gcname' as const, ...hostAndPort(ad_gcname, tls ? 3269 : 3268) }] : []),
  ];
}

export async function mustAnswer(work: Work, { field, host: name, port }: Probe, seconds: number): Promise<void> {
  const answers = await work.ask(`connect to ${name}, port ${port}`, ({ domain }) =>
    domain.answers({ host: name, port }, seconds),
  );
  if (!answers) throw invalid({ [field]: [`No answer from ${name}, port ${port}.`] });
}
