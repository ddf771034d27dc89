import { invalid } from '../../engine/declare/errors.ts';
import type { Sequel, View, Work } from '../../engine/declare/resource.ts';
import type { DomainAccess, Inquiry } from '../../host/ports/domain.ts';
import { accessOf, joiningOf } from './domain-access.ts';
import type { DomainSettings } from './domain-fields.ts';
import { endMembership, joinDomain, type leaving } from './steps.ts';

interface Membership {
  readonly view: View;
  readonly log: (line: string) => void;
}

export async function join(
  work: Work,
  { settings, view, isMember, log }: Membership & { readonly settings: DomainSettings; readonly isMember: boolean },
): Promise<Partial<DomainSettings>> {
  const access = accessOf(settings, view);
  const inquiry = await inquire(work, access);
  if (!inquiry.found) throw invalid({ __all__: [objectionOf(inquiry, access)] });
  const { workgroup } = inquiry;
  if (workgroup.toLowerCase() === settings.ad_netbiosname_a.toLowerCase())
    throw invalid({
      ad_netbiosname_a: [`ad_netbiosname_a must differ from the NetBIOS name of the domain, ${workgroup}.`],
    });
  log(`The domain ${access.domain} accepts the account. Its NetBIOS name is ${workgroup}.`);
  const fill = { ad_workgroup: workgroup, ad_siteservers: inquiry.siteServers.join(' ') };
  if (isMember) return fill;
  const joining = joiningOf({ ...settings, ...fill }, view);
  await work.step(joinDomain({ domain: access.domain, joining, log }));
  return fill;
}

/**
 * Leaves the domain and returns whether that succeeded. When the domain does not answer or refuses the account,
 * `farewell` leaves it after the settings are stored.
 */
export async function leave(
  work: Work,
  {
    was,
    view,
    log,
    leaveDomain,
  }: Membership & { readonly was: DomainSettings; readonly leaveDomain: ReturnType<typeof leaving> },
): Promise<boolean> {
  const joining = joiningOf(was, view);
  const inquiry = await inquire(work, joining);
  if (!inquiry.found) {
    log(objectionOf(inquiry, joining));
    return false;
  }
  await work.step(leaveDomain({ domain: joining.domain, joining, log }));
  return true;
}

/**
 * Leaves a domain after the settings no longer describe it, because a backup was restored or the domain did not answer.
 * The membership always ends on this machine; when leaving the domain fails, the machine account remains there.
 */
export function farewell(was: DomainSettings, view: View): Sequel {
  const joining = joiningOf(was, view);
  return {
    title: `end the membership in the domain ${joining.domain}`,
    subject: 'directoryservice/activedirectory',
    steps: [endMembership({ domain: joining.domain, joining })],
  };
}

function inquire(work: Work, access: DomainAccess): Promise<Inquiry> {
  return work.ask(`contact the domain ${access.domain}`, ({ domain }) => domain.inquire(access));
}

function objectionOf(
  { objection, said: detail }: Extract<Inquiry, { found: false }>,
  { domain, account, server, site, seconds }: DomainAccess,
): string {
  const name = 'principal' in account ? account.principal : account.name;
  switch (objection) {
    case 'unreachable':
      return `No controller of the domain ${domain} was reachable${server === undefined ? '' : ` at ${server}`} within ${seconds} seconds: ${detail}`;
    case 'account':
      return `The domain ${domain} has no account ${name}.`;
    case 'password':
      return `The domain ${domain} refused the account ${name} or its password.`;
    case 'expired':
      return `The domain ${domain} refused the account ${name}: it is locked, or its password has expired.`;
    case 'clock':
      return `The clock of this machine differs too much from the clock of the domain ${domain}.`;
    case 'site':
      return `The domain ${domain} has no site ${site ?? ''}.`;
    case 'other':
      return `The domain ${domain} refused the request: ${detail}`;
  }
}
