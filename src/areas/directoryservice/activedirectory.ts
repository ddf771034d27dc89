import { singleton, type Updating, type View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { taskOf } from '../../engine/plan/sequel.ts';
import { check, type StepKind } from '../../engine/plan/steps.ts';
import { mustBeManaged } from '../../engine/upkeep/takeover.ts';
import { cifsSettings } from '../services/cifs.ts';
import { serviceSwitch } from '../services/services.ts';
import { isMember, joiningOf } from './domain-access.ts';
import { type DomainSent, type DomainSettings, domainFields } from './domain-fields.ts';
import { farewell, join, leave } from './domain-membership.ts';
import { domainProblems } from './domain-problems.ts';
import { mustAnswer, probesOf } from './domain-servers.ts';
import { addSambaDomain } from './ldap-bind.ts';
import { endMembership, joinDomain, leaving, logOf } from './steps.ts';

export const domainSettings = singleton('directoryservice/activedirectory', {
  shortName: 'directory/ad',
  title: 'Active Directory settings',
  description: 'Membership of this machine in an Active Directory domain.',
  fields: domainFields,
  seed: () => ({ ad_netbiosname_a: 'holdfast' }),
  around,
  problems: (domain, { facts }) =>
    domain.ad_enable && !isMember(domain, facts)
      ? [
          {
            kind: 'domain',
            about: 'directoryservice/activedirectory',
            detail: domain.ad_domainname,
            severity: 'critical',
            message: `The machine is not a member of the domain ${domain.ad_domainname} as ${domain.ad_netbiosname_a}, although ad_enable is true. To join it again, send ad_enable true to directoryservice/activedirectory, with the password of the account if it is not stored.`,
            remedy: {
              method: 'PUT',
              path: '/api/v1.0/directoryservice/activedirectory/',
              body: { ad_enable: true },
            },
          },
        ]
      : [],
  complete({ record, before, sent, draft }) {
    const cifs = draft.only(cifsSettings);
    return {
      ad_bindpw: sent.ad_bindpw === '' && before !== undefined ? before.ad_bindpw : record.ad_bindpw,
      ad_netbiosname_a: sent.ad_netbiosname_a || cifs.cifs_srv_netbiosname,
      ad_netbiosalias: sent.ad_netbiosalias === undefined ? cifs.cifs_srv_netbiosalias : sent.ad_netbiosalias,
    };
  },
  check({ record, before, draft, facts, issues }) {
    // A restored configuration may lack the password. It is not used to join; a request to join must send the password.
    const isRestored = record === before;
    for (const { name, sentence } of domainProblems(record, membershipOf(before, facts), draft))
      if (!isRestored || name !== 'ad_bindpw') issues.add(name, sentence);
  },
  onSave({ draft, facts, record, before, sent }) {
    const was = membershipOf(before, facts);
    // An update without ad_enable comes from a restored configuration, and the domain has not been left for it yet.
    if (was !== undefined && sent.ad_enable === undefined && !isMember(record, facts))
      draft.plan.afterwards(farewell(was, draft));
    const cifs = draft.only(cifsSettings);
    const names = { cifs_srv_netbiosname: record.ad_netbiosname_a, cifs_srv_netbiosalias: record.ad_netbiosalias };
    if (
      names.cifs_srv_netbiosname !== cifs.cifs_srv_netbiosname ||
      names.cifs_srv_netbiosalias !== cifs.cifs_srv_netbiosalias
    )
      draft.update(cifsSettings, cifs.id, names);
    // Gaps 3.1: the service runs in the domain, and stops with it.
    const service = draft.find(serviceSwitch, 'srv_service', 'cifs');
    if (service !== undefined && record.ad_enable !== (before?.ad_enable ?? false))
      draft.update(serviceSwitch, service.id, { srv_enable: record.ad_enable });
  },
});

/** Contacts the domain before the settings are stored: joins or leaves, and undoes that when the change fails. */
async function around({ title, sent, before, operations, make }: Updating<typeof domainFields>): Promise<void> {
  const { view, facts } = operations.world;
  const was = membershipOf(before, facts);
  const next = merged(sent, before, view);
  const contactsDomain = next.ad_enable && (was === undefined || changesAccess(next, was));
  const leaves = was !== undefined && !next.ad_enable;
  const probes = probesOf(sent);
  if (domainProblems(next, was, view).length > 0 || (!contactsDomain && !leaves && probes.length === 0)) {
    await operations.change(title, (draft) => make(draft));
    return;
  }
  if (contactsDomain || leaves) mustBeManaged(view, ['samba', 'directory', 'kerberos']);
  const job = leaves
    ? `leave the domain ${before.ad_domainname}`
    : contactsDomain
      ? `${was === undefined ? 'join' : 'contact'} the domain ${next.ad_domainname}`
      : title;
  await operations.work(job, ['directoryservice/activedirectory'], async (work) => {
    const log = logOf(work);
    for (const probe of probes) await mustAnswer(work, probe, next.ad_timeout);
    const fill = contactsDomain ? await join(work, { settings: next, view, isMember: was !== undefined, log }) : {};
    const hasLeft = leaves && (await leave(work, { was, view, log, leaveDomain }));
    await work.change((draft) => make(draft, fill));
    if (hasLeft)
      await work.step(
        check({
          title: 'check that the machine is no longer a member',
          holds: async () => {},
          touches: ['membership'],
        }),
      );
    else if (leaves) operations.background(taskOf(farewell(was, view)));
  });
}

const leaveDomain = leaving(async ({ host, operations }) => {
  const { view } = operations.world;
  await host.domain.join(joiningOf(view.only(domainSettings), view), () => {});
});

export const directoryStepKinds: readonly StepKind[] = [joinDomain, leaveDomain, endMembership, addSambaDomain].map(
  ({ stepKind }) => stepKind,
);

/** The settings of the current membership; undefined while the machine is not a member. */
function membershipOf(settings: DomainSettings | undefined, facts: Facts): DomainSettings | undefined {
  return settings !== undefined && isMember(settings, facts) ? settings : undefined;
}

/** Whether a change requires contacting the domain again: of the account, the controllers or the encryption. */
function changesAccess(settings: DomainSettings, before: DomainSettings): boolean {
  return (
    [
      'ad_bindname',
      'ad_bindpw',
      'ad_kerberos_principal',
      'ad_kerberos_realm',
      'ad_dcname',
      'ad_site',
      'ad_ssl',
      'ad_certificate',
    ] as const
  ).some((name) => settings[name] !== before[name]);
}

function merged(sent: DomainSent, before: DomainSettings, view: View): DomainSettings {
  const { ad_bindpw: password, ...others } = sent;
  const cifs = view.only(cifsSettings);
  const name = sent.ad_netbiosname_a || cifs.cifs_srv_netbiosname;
  return {
    ...before,
    ...others,
    ad_netbiosname_a: name,
    ...(password === undefined || password === '' ? {} : { ad_bindpw: password }),
  };
}
