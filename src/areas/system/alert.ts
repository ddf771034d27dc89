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
import { ineffectiveSettings } from './ineffective.ts';
import { type Notice, notice } from './notice.ts';

/** The state of an alert beyond its cause. It is kept while the cause lasts. */
export const alertNote = collection('system/alertnote', {
  title: 'note about an alert',
  description: 'Whether an alert is dismissed, and whether it was mailed.',
  verbs: [],
  ofMachine: true,
  fields: {
    alert: required(text({ description: 'Id of the alert.' })),
    dismissed: flag(false, { description: 'Whether a user dismissed the alert.' }),
    mailed: flag(false, { description: 'Whether the alert was mailed.' }),
  },
});

export interface Alert {
  readonly id: string;
  readonly level: 'WARN' | 'CRIT';
  readonly message: string;
}

/** The id of an alert depends on its cause only, not on its message: `kind` is the problem, `subject` the object. */
export function alertId(kind: string, subject: string): string {
  return createHash('sha256').update(`${kind} ${subject}`).digest('hex').slice(0, 32);
}

const day = 86_400_000;

/** Used share of a pool from which an alert is raised. */
const fullness = { warn: 0.8, critical: 0.9 } as const;

/** Free share of a system file system below which an alert is raised. */
const room = { warn: 0.1, critical: 0.05 } as const;

/** Clock offset in seconds from which an alert is raised. */
const maximumClockOffset = 5;

/** The current alerts. An alert exists exactly while its cause does. */
export function alertsOf({ view, facts }: World, health: Health): readonly Alert[] {
  const alerts: Alert[] = [];
  const raise = (level: Alert['level'], kind: string, subject: string, message: string) =>
    void alerts.push({ id: alertId(kind, subject), level, message });
  for (const { name, health: state, size, allocated, groups } of facts.storage.pools.values()) {
    if (state !== 'ONLINE') raise('CRIT', 'pool', name, `The volume ${name} is ${state}.`);
    if (facts.storage.datasets.get(name)?.key === 'unavailable')
      raise(
        'WARN',
        'locked',
        name,
        `The volume ${name} is locked, and nothing on it is served. POST /storage/volume/${name}/unlock/ unlocks it.`,
      );
    for (const { disk, guid, errors } of groups.flatMap(({ devices }) => devices)) {
      const { read, write, checksum } = errors;
      if (read + write + checksum > 0)
        raise(
          'WARN',
          'errors',
          `${name} ${guid}`,
          `The disk ${disk} of the volume ${name} has errors: ${read} read, ${write} write and ${checksum} checksum errors. Replace the disk. If the cable was the cause, reset the counters with zpool clear.`,
        );
    }
    const used = size > 0 ? allocated / size : 0;
    if (used > fullness.warn)
      raise(
        used > fullness.critical ? 'CRIT' : 'WARN',
        'capacity',
        name,
        `The volume ${name} is ${Math.floor(used * 100)} % full. Writes become slow above ${fullness.warn * 100} %.`,
      );
  }
  const { failingDisks, clockOffset, updates } = facts.condition;
  for (const name of failingDisks)
    raise('CRIT', 'smart', name, `The disk ${name} reports by SMART that it is failing. Replace it.`);
  if (clockOffset !== undefined && Math.abs(clockOffset) >= maximumClockOffset)
    raise(
      'WARN',
      'clock',
      'offset',
      `The clock differs from the time servers by ${Math.round(Math.abs(clockOffset))} seconds. Directory services refuse a machine with a wrong clock.`,
    );
  if (updates > 0)
    raise(
      'WARN',
      'update',
      'packages',
      `${updates === 1 ? 'A package update is' : `${updates} package updates are`} available. POST /system/update/update/ installs ${updates === 1 ? 'it' : 'them'}.`,
    );
  const domain = view.only(domainSettings);
  if (domain.ad_enable && !isMember(domain, facts))
    raise(
      'CRIT',
      'domain',
      domain.ad_domainname,
      `The machine is not a member of the domain ${domain.ad_domainname} as ${domain.ad_netbiosname_a}, although ad_enable is true. To join it again, send ad_enable true to directoryservice/activedirectory, with the password of the account if it is not stored.`,
    );
  for (const { field, message } of ineffectiveSettings(view)) raise('WARN', 'ineffective', field, message);
  for (const { subsystem, reason } of health.degraded)
    raise('CRIT', 'subsystem', subsystem, `Subsystem ${subsystem}: apply failed: ${reason}`);
  for (const subsystem of health.drifted)
    raise(
      'WARN',
      'drift',
      subsystem,
      `Subsystem ${subsystem} was changed outside of Holdfast. GET /api/holdfast/v1/drift lists the differences.`,
    );
  for (const { id, title, error } of health.failedJobs)
    raise('CRIT', 'job', String(id), `A job failed: ${title}. ${error ?? ''}`.trim());
  if (health.obstacle !== undefined) raise('CRIT', 'obstacle', 'state', health.obstacle);
  for (const { path, holds, free, total } of health.fileSystems) {
    const left = total > 0 ? free / total : 1;
    if (left >= room.warn) continue;
    const what =
      holds === 'configuration'
        ? `The file system of ${path}, which stores the configuration,`
        : `The file system of ${path}`;
    const then =
      holds === 'configuration' ? 'When it is full, Holdfast refuses all changes.' : 'When it is full, services fail.';
    raise(
      left < room.critical ? 'CRIT' : 'WARN',
      'space',
      holds === 'configuration' ? 'state' : path,
      `${what} is almost full: ${showSize(free)} of ${showSize(total)} are free. ${then} Remove files that are not needed.`,
    );
  }
  if (health.loginAttack !== undefined) {
    const { account, refused, address } = health.loginAttack;
    raise(
      'WARN',
      'login',
      account,
      `Many failed logins as ${account}: ${refused} were refused, the last from ${address}. Clients that logged in before are still accepted. Restrict the networks that can reach Holdfast.`,
    );
  }
  for (const record of view.all(certificateAuthority))
    certificateAlerts(record, `${certificateAuthority.path}/${record.id}`, health.now, raise);
  for (const record of view.all(certificate))
    certificateAlerts(record, `${certificate.path}/${record.id}`, health.now, raise);
  for (const record of view.all(notice))
    if (isCurrent(record, view, health.now))
      alerts.push({ id: noticeAlertId(record), level: record.level, message: record.message });
  return alerts;
}

/**
 * Whether a notice still counts. A notice about a UPS ends with the service ups, because then upsmon no longer reports
 * the end of a problem. upsmon repeats that a UPS does not answer, but after a restart of upsmon it does not report
 * that the UPS answers again; so a notice about contact ends when it has not been repeated for two intervals.
 */
function isCurrent({ source, kind, at }: Notice, view: View, now: number): boolean {
  if (source === 'smartd') return true;
  const repeated = (view.only(upsSettings).ups_nocommwarntime ?? 300) * 1000;
  return isOn(view, 'ups') && (kind !== 'contact' || now - at < 2 * repeated + 60_000);
}

/** Id of the alert of a notice. */
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
  // Keys of up to 521 bits are elliptic curve keys, which are strong.
  const weak = [
    ...(digest === 'SHA1' ? ['the digest SHA1'] : []),
    ...(bits !== null && bits > 521 && bits < 2048 ? [`a key of ${bits} bits`] : []),
  ];
  if (weak.length > 0)
    raise(
      'WARN',
      'weak',
      subject,
      `The certificate ${name} has ${sentenceList(weak)}: current programs do not trust it.`,
    );
}

interface Shown extends Alert {
  readonly note: RecordOf<typeof alertNote.fields> | undefined;
}

export const alert = hosted(
  'system/alert',
  {
    title: 'alert',
    description: 'A problem of the machine that requires attention.',
    key: { name: 'id', slashes: false },
    shows: ['storage', 'condition'],
    fields: {
      id: live(text({ description: 'Id; it stays the same while the cause lasts.' })),
      level: live(text({ description: 'WARN, or CRIT for urgent problems.' })),
      message: live(text({ description: 'The message.', max: 10_000 })),
      dismissed: live(flag(false, { description: 'Whether a user dismissed the alert.' })),
    },
    list: shown,
    find: (scope, key) => shown(scope).find(({ id }) => id === key),
    present: ({ id, level, message, note }: Shown) => ({ id, level, message, dismissed: note?.dismissed ?? false }),
  },
  [
    // The manual documents a GET (gaps 14.2); later clients send a PUT with true or false.
    action({
      method: 'GET',
      segment: 'dismiss',
      title: 'Dismisses the alert. It stays in the list.',
      answers: 'nothing',
      perform: ({ target, operations }) => dismiss(target.id, true, operations),
    }),
    action({
      method: 'PUT',
      segment: 'dismiss',
      title: 'Dismisses the alert; with false, restores it.',
      items: flag(true, { description: 'Whether the alert is dismissed.' }),
      bare: true,
      answers: 'nothing',
      perform: ({ target, items, operations }) => dismiss(target.id, items[0] ?? true, operations),
    }),
  ],
);

function shown({ view, facts, health }: Scope): readonly Shown[] {
  return alertsOf({ view, facts }, health).map((current) => ({
    ...current,
    note: view.find(alertNote, 'alert', current.id),
  }));
}

async function dismiss(id: string, dismissed: boolean, operations: Operations): Promise<void> {
  await operations.change(`${dismissed ? 'dismiss' : 'restore'} the alert ${id}`, (draft) => {
    const note = draft.find(alertNote, 'alert', id);
    if (note === undefined) draft.create(alertNote, { alert: id, dismissed });
    else draft.update(alertNote, note.id, { dismissed });
  });
}
