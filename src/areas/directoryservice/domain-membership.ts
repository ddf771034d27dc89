import { invalid } from '../../engine/declare/errors.ts';
import type { Task, View, Work } from '../../engine/declare/resource.ts';
import type { DomainAccess, Inquiry } from '../../host/ports/domain.ts';
import { messageOf } from '../../lib/text.ts';
import { accessOf, joiningOf } from './domain-access.ts';
import type { DomainSettings } from './domain-fields.ts';

interface Membership {
  readonly view: View;
  readonly heard: (line: string) => void;
}

export async function join(
  work: Work,
  { wanted, view, isMember, heard }: Membership & { readonly wanted: DomainSettings; readonly isMember: boolean },
): Promise<Partial<DomainSettings>> {
  const access = accessOf(wanted, view);
  const inquiry = await inquire(work, access);
  if (!inquiry.found) throw invalid({ __all__: [objectionOf(inquiry, access)] });
  const { workgroup } = inquiry;
  if (workgroup.toLowerCase() === wanted.ad_netbiosname_a.toLowerCase())
    throw invalid({ ad_netbiosname_a: [`It must differ from the name of the domain, ${workgroup}.`] });
  heard(`The domain ${access.domain} is there, and knows the account. Its old name is ${workgroup}.`);
  const fill = { ad_workgroup: workgroup, ad_siteservers: inquiry.siteServers.join(' ') };
  if (isMember) return fill;
  const joining = joiningOf({ ...wanted, ...fill }, view);
  await work.step({
    title: `join the domain ${access.domain}`,
    perform: (host) => host.domain.join(joining, heard),
    left: async (host) => (await host.domain.membership())?.domain === access.domain.toLowerCase(),
    undo: (host) => host.domain.leave(joining, heard),
    touches: ['membership'],
  });
  return fill;
}

/**
 * Whether it was left. One that cannot be asked any more, or not by this account, is left once the settings are without
 * it: `farewell`. Facts are as they were until then: a change that fails is taken back to what a member is.
 */
export async function leave(
  work: Work,
  { was, view, heard }: Membership & { readonly was: DomainSettings },
): Promise<boolean> {
  const joining = joiningOf(was, view);
  const inquiry = await inquire(work, joining);
  if (!inquiry.found) {
    heard(objectionOf(inquiry, joining));
    return false;
  }
  await work.step({
    title: `leave the domain ${joining.domain}`,
    perform: (host) => host.domain.leave(joining, heard),
    left: async (host) => (await host.domain.membership()) === undefined,
    undo: (host) => host.domain.join(joining, heard),
  });
  return true;
}

/**
 * Leaves a domain that the settings do not tell of any more: those of a backup came in place of them, or the domain could
 * not be asked. One gets out all the same: where it refuses, it keeps the machine's account.
 */
export function farewell(was: DomainSettings, view: View): Task {
  const joining = joiningOf(was, view);
  return {
    title: `give up the membership in the domain ${joining.domain}`,
    subject: 'directoryservice/activedirectory',
    touches: ['membership'],
    async run({ host, progress }) {
      const heard = logOf({ progress });
      try {
        await host.domain.leave(joining, heard);
        return { told: true };
      } catch (error) {
        heard(`${messageOf(error)} So the domain was not told, and still has an account for ${joining.netbiosName}.`);
        await host.domain.forget();
        return { told: false };
      }
    },
  };
}

async function inquire(work: Work, access: DomainAccess): Promise<Inquiry> {
  const answer: { value?: Inquiry } = {};
  await work.step({
    title: `ask the domain ${access.domain}`,
    async perform(host) {
      answer.value = await host.domain.inquire(access);
    },
    undo: async () => {},
  });
  if (answer.value === undefined) throw new Error('the domain was not asked');
  return answer.value;
}

/** Every line stays readable in the job. */
export function logOf(work: Pick<Work, 'progress'>): (line: string) => void {
  const lines: string[] = [];
  return (line) => {
    lines.push(line);
    work.progress(lines.join('\n'));
  };
}

function objectionOf(
  { objection, said }: Extract<Inquiry, { found: false }>,
  { domain, account, server, site, seconds }: DomainAccess,
): string {
  const who = 'principal' in account ? account.principal : account.name;
  switch (objection) {
    case 'unreachable':
      return `No controller of the domain ${domain} can be reached${server === undefined ? '' : ` at ${server}`} within ${seconds} seconds: ${said}`;
    case 'account':
      return `The domain ${domain} does not know the account ${who}.`;
    case 'password':
      return `The domain ${domain} refuses the account ${who} or its password.`;
    case 'expired':
      return `The domain ${domain} refuses the account ${who}: it is locked, or its password has expired.`;
    case 'clock':
      return `The clocks of this machine and of the domain ${domain} are too far apart.`;
    case 'site':
      return `The domain ${domain} has no site ${site ?? ''}.`;
    case 'other':
      return `The domain ${domain} refuses: ${said}`;
  }
}
