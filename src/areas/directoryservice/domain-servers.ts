import { invalid } from '../../engine/declare/errors.ts';
import type { Work } from '../../engine/declare/resource.ts';
import { placeOf } from './domain-access.ts';
import type { DomainSent, domainFields } from './domain-fields.ts';

/** A server of the domain that has to answer. */
export interface Probe {
  readonly field: keyof typeof domainFields;
  readonly host: string;
  readonly port: number;
}

/** Gaps 3.1: a server that is given has to answer, also while the machine is in no domain. */
export function probesOf({ ad_dcname, ad_gcname, ad_ssl }: DomainSent): readonly Probe[] {
  const tls = ad_ssl === 'on';
  return [
    ...(ad_dcname ? [{ field: 'ad_dcname' as const, ...placeOf(ad_dcname, tls ? 636 : 389) }] : []),
    ...(ad_gcname ? [{ field: 'ad_gcname' as const, ...placeOf(ad_gcname, tls ? 3269 : 3268) }] : []),
  ];
}

export async function mustAnswer(work: Work, { field, host: name, port }: Probe, seconds: number): Promise<void> {
  await work.step({
    title: `look for ${name} at the port ${port}`,
    async perform(host) {
      if (!(await host.domain.answers({ host: name, port }, seconds)))
        throw invalid({ [field]: [`Nobody answers at ${name}, port ${port}.`] });
    },
    undo: async () => {},
  });
}
