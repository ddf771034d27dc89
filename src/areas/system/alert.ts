import { createHash } from 'node:crypto';
import { flag, live, required, text } from '../../engine/declare/fields.ts';
import {
  action,
  collection,
  type Health,
  hosted,
  type Operations,
  type RecordOf,
  type Scope,
  type View,
  type World,
} from '../../engine/declare/resource.ts';
import { showSize } from '../../lib/size.ts';
import { sentenceList } from '../../lib/text.ts';
import { domainSettings } from '../directoryservice/activedirectory.ts';
import { isMember } from '../directoryservice/domain-access.ts';
import { isOn } from '../services/services.ts';
import { upsSettings } from '../services/ups.ts';
import { certificate } from './certificate.ts';
import { certificateAuthority } from './certificateauthority.ts';
import { type Notice, notice } from './notice.ts';

/** What is known of an alert besides its cause, as long as the cause is there. */
export const alertNote = collection('system/alertnote', {
  title: 'note about an alert',
  description: 'Whether an alert was dismissed, and whether it was mailed.',
  verbs: [],
  ofMachine: true,
  fields: {
    alert: required(text({ description: 'Id of the alert.' })),
    dismissed: flag(false, { description: 'Whether somebody dismissed it.' }),
    mailed: flag(false, { description: 'Whether it was mailed.' }),
  },
});

export interface Alert {
  readonly id: string;
  readonly level: 'WARN' | 'CRIT';
  readonly message: string;
}

/** The same for the same cause, whatever the message says of it: `kind` is what happened, `subject` to what. */
export function alertId(kind: string, subject: string): string {
  return createHash('sha256').update(`${kind} ${subject}`).digest('hex').slice(0, 32);
}

const day = 86_400_000;

/** Shares of a pool or disk that may be used before it is told. */
const fullness = { warn: 0.8, critical: 0.9 } as const;

/** Shares of the machine's own file systems that are still free when it is reported. */
const room = { warn: 0.1, critical: 0.05 } as const;

/** Seconds by which a clock is off before it is told. */
const farOff = 5;

/** What should be looked at now. Each alert is there as long as its cause is, and no longer. */
export function alertsOf({ view, facts }: World, health: Health): readonly Alert[] {
  const alerts: Alert[] = [];
  const raise = (level: Alert['level'], kind: string, subject: string, message: string) =>
    void alerts.push({ id: alertId(kind, subject), level, message });
  for (const { name, health: state, size, allocated, groups } of facts.storage.pools.values()) {
    if (state !== 'ONLINE')
      raise(state === 'DEGRADED' ? 'WARN' : 'CRIT', 'pool', name, `The volume ${name} is ${state}.`);
    for (const { disk, guid, errors } of groups.flatMap(({ devices }) => devices)) {
      const { read, write, checksum } = errors;
      if (read + write + checksum > 0)
        raise(
          'WARN',
          'errors',
          `${name} ${guid}`,
          `The disk ${disk} of the volume ${name} errs: ${read} reads and ${write} writes failed, and ${checksum} times it gave what was never written. Replace it; if it was its cable, zpool clear forgets the errors.`,
        );
    }
    const used = size > 0 ? allocated / size : 0;
    if (used > fullness.warn)
      raise(
        used > fullness.critical ? 'CRIT' : 'WARN',
        'capacity',
        name,
        `The volume ${name} is ${Math.floor(used * 100)} % full. Writing becomes slow above ${fullness.warn * 100} %.`,
      );
  }
  const { failingDisks, clockOffset, updates } = facts.condition;
  for (const name of failingDisks)
    raise('CRIT', 'smart', name, `The disk ${name} tells by SMART that it fails: replace it before it does.`);
  if (clockOffset !== undefined && Math.abs(clockOffset) >= farOff)
    raise(
      'WARN',
      'clock',
      'offset',
      `The clock is ${Math.round(Math.abs(clockOffset))} seconds off, by its time servers. Directory services do not let such a machine in for long.`,
    );
  if (updates > 0)
    raise(
      'WARN',
      'update',
      'packages',
      `${updates === 1 ? 'A newer package is' : `${updates} newer packages are`} to be had: POST /system/update/update/ installs ${updates === 1 ? 'it' : 'them'}.`,
    );
  const domain = view.only(domainSettings);
  if (domain.ad_enable && !isMember(domain, facts))
    raise(
      'CRIT',
      'domain',
      domain.ad_domainname,
      `The machine is not ${domain.ad_netbiosname_a} of the domain ${domain.ad_domainname}, as its settings say: send ad_enable true to directoryservice/activedirectory, with the password of the account where it is not kept, and it joins.`,
    );
  for (const { subsystem, reason } of health.degraded)
    raise('CRIT', 'subsystem', subsystem, `The machine is not what the configuration says (${subsystem}): ${reason}`);
  for (const subsystem of health.drifted)
    raise(
      'WARN',
      'drift',
      subsystem,
      `The machine was changed by other hands (${subsystem}); /api/holdfast/v1/drift tells how.`,
    );
  for (const { id, title, error } of health.failedJobs)
    raise('CRIT', 'job', String(id), `A task failed: ${title}. ${error ?? ''}`.trim());
  if (health.obstacle !== undefined) raise('CRIT', 'obstacle', 'state', health.obstacle);
  for (const { path, holds, free, total } of health.fileSystems) {
    const left = total > 0 ? free / total : 1;
    if (left >= room.warn) continue;
    const what =
      holds === 'configuration'
        ? `The file system of ${path}, where the configuration is kept,`
        : `The file system of ${path}`;
    const then =
      holds === 'configuration' ? 'When it is full, nothing can be changed.' : 'When it is full, services fail.';
    raise(
      left < room.critical ? 'CRIT' : 'WARN',
      'space',
      holds === 'configuration' ? 'state' : path,
      `${what} is almost full: ${showSize(free)} of ${showSize(total)} are free. ${then} Remove what is not needed.`,
    );
  }
  if (health.loginAttack !== undefined) {
    const { account, refused, address } = health.loginAttack;
    raise(
      'WARN',
      'login',
      account,
      `Somebody guesses the password of ${account}: ${refused} logins were refused, the last from ${address}. Known programs are let in as before. Keep the interface from networks that do not need it.`,
    );
  }
  for (const record of view.all(certificateAuthority))
    certificateAlerts(record, `${certificateAuthority.path}/${record.id}`, health.now, raise);
  for (const record of view.all(certificate))
    certificateAlerts(record, `${certificate.path}/${record.id}`, health.now, raise);
  for (const one of view.all(notice))
    if (holds(one, view, health.now)) alerts.push({ id: noticeAlertId(one), level: one.level, message: one.message });
  return alerts;
}

/**
 * Of a UPS nobody says that it is over while nobody watches. That it does not answer is said again and again; a upsmon that
 * was started anew says nothing when it does answer.
 */
function holds({ source, kind, at }: Notice, view: View, now: number): boolean {
  if (source === 'smartd') return true;
  const repeated = (view.only(upsSettings).ups_nocommwarntime ?? 300) * 1000;
  return isOn(view, 'ups') && (kind !== 'contact' || now - at < 2 * repeated + 60_000);
}

/** The alert of what a program said. */
export function noticeAlertId({ source, subject, kind }: Pick<Notice, 'source' | 'subject' | 'kind'>): string {
  return alertId(`${source} ${kind}`, subject);
}

interface Certified {
  readonly cert_name: string;
  readonly cert_until: string | null;
  readonly cert_digest_algorithm: string | null;
  readonly cert_key_length: number | null;
  readonly cert_CSR: string | null;
}

function certificateAlerts(
  record: Certified,
  subject: string,
  now: number,
  raise: (level: Alert['level'], kind: string, subject: string, message: string) => void,
): void {
  const { cert_name: name, cert_until: until, cert_digest_algorithm: digest, cert_key_length: bits } = record;
  const left = until === null ? undefined : Date.parse(`${until} GMT`) - now;
  if (left !== undefined && left < 0) raise('CRIT', 'expired', subject, `The certificate ${name} has expired.`);
  else if (left !== undefined && left < 30 * day)
    raise('WARN', 'expires', subject, `The certificate ${name} expires in ${Math.ceil(left / day)} days.`);
  // Keys of elliptic curves are short and strong.
  const weak = [
    ...(digest === 'SHA1' ? ['the digest SHA1'] : []),
    ...(bits !== null && bits > 521 && bits < 2048 ? [`a key of ${bits} bits`] : []),
  ];
  if (weak.length > 0)
    raise(
      'WARN',
      'weak',
      subject,
      `The certificate ${name} has ${sentenceList(weak)}: programs of today do not trust it.`,
    );
}

interface Shown extends Alert {
  readonly note: RecordOf<typeof alertNote.fields> | undefined;
}

export const alert = hosted(
  'system/alert',
  {
    title: 'alert',
    description: 'Something about the appliance that a person should look at.',
    key: { name: 'id', slashes: false },
    shows: ['storage', 'condition'],
    fields: {
      id: live(text({ description: 'The same as long as the cause is there.' })),
      level: live(text({ description: 'WARN, or CRIT for what cannot wait.' })),
      message: live(text({ description: 'What it is.', max: 10_000 })),
      dismissed: live(flag(false, { description: 'Whether somebody has seen it and wants to hear no more.' })),
    },
    list: shown,
    find: (scope, key) => shown(scope).find(({ id }) => id === key),
    present: ({ id, level, message, note }: Shown) => ({ id, level, message, dismissed: note?.dismissed ?? false }),
  },
  [
    // The manual dismisses by a GET (gaps 14.2), later programs by a PUT with true or false.
    action({
      method: 'GET',
      segment: 'dismiss',
      title: 'Dismisses the alert; it stays in the list.',
      answers: 'nothing',
      perform: ({ target, operations }) => dismiss(target.id, true, operations),
    }),
    action({
      method: 'PUT',
      segment: 'dismiss',
      title: 'Dismisses the alert, or with false takes that back.',
      items: flag(true, { description: 'Whether it is dismissed.' }),
      bare: true,
      answers: 'nothing',
      perform: ({ target, items, operations }) => dismiss(target.id, items[0] ?? true, operations),
    }),
  ],
);

function shown({ view, facts, health }: Scope): readonly Shown[] {
  return alertsOf({ view, facts }, health).map((one) => ({ ...one, note: view.find(alertNote, 'alert', one.id) }));
}

async function dismiss(id: string, dismissed: boolean, operations: Operations): Promise<void> {
  await operations.change(`${dismissed ? 'dismiss' : 'bring back'} the alert ${id}`, (draft) => {
    const note = draft.find(alertNote, 'alert', id);
    if (note === undefined) draft.create(alertNote, { alert: id, dismissed });
    else draft.update(alertNote, note.id, { dismissed });
  });
}
