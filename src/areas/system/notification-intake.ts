import { problemId } from '../../engine/declare/problem.ts';
import type { View } from '../../engine/declare/resource.ts';
import type { Engine, Log } from '../../engine/engine.ts';
import type { Mail, MailMessage } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { networkSettings } from '../network/globalconfiguration.ts';
import { smartSettings } from '../services/smart.ts';
import { upsSettings } from '../services/ups.ts';
import { alertNote } from './alert.ts';
import { emailSettings } from './email.ts';
import { causeOf, type Meaning, meaningOf, type Notification, notice, readNotification } from './notice.ts';

/** The maximum number of notices of one program; the oldest are dropped. */
const mostOfSource = 100;

/**
 * Receives notifications of smartd and upsmon. Each becomes an alert, and a message to the recipients in the settings
 * of the program. Without recipients, or when sending fails, the alert is mailed to the recipient of all other alerts.
 */
export class NotificationIntake {
  readonly #engine: Engine;
  readonly #mailer: Mail;
  readonly #log: Log;
  readonly #now: () => number;
  #sending: Promise<void> = Promise.resolve();

  constructor(engine: Engine, mailer: Mail, log: Log, now: () => number) {
    this.#engine = engine;
    this.#mailer = mailer;
    this.#log = log;
    this.#now = now;
  }

  /** Stores the notification, then sends the message in the background. Returns a problem message, or undefined. */
  async take(value: unknown): Promise<string | undefined> {
    const notification = readNotification(value);
    const meaning = notification === undefined ? undefined : meaningOf(notification);
    if (notification === undefined || meaning === undefined) return 'Expected an event of smartd or upsmon.';
    const { source, subject } = notification;
    const { view } = this.#engine.world;
    const mail =
      view.only(emailSettings).em_outgoingserver === ''
        ? undefined
        : messageTo(view, notification, meaning, new Date(this.#now()));
    const alert = problemId(causeOf({ source, subject, kind: meaning.kind }));
    await this.#engine.change(
      `store the event ${notification.event} of ${source} for ${subject}`,
      { actor: source, request: '' },
      (draft) => {
        for (const previous of draft.all(notice))
          if (previous.source === source && previous.subject === subject && previous.kind === meaning.kind)
            draft.remove(notice, previous.id);
        // A new event is a new alert, even when the previous one was dismissed.
        const note = draft.find(alertNote, 'alert', alert);
        if (note !== undefined) draft.remove(alertNote, note.id);
        if (meaning.level === 'ends') return;
        // A faulty program must not fill the store and the list of alerts.
        const ofSource = draft
          .all(notice)
          .filter((known) => known.source === source)
          .toSorted((a, b) => a.at - b.at || a.id - b.id);
        for (const { id } of ofSource.slice(0, Math.max(0, ofSource.length - mostOfSource + 1)))
          draft.remove(notice, id);
        draft.create(notice, {
          source,
          subject,
          kind: meaning.kind,
          level: meaning.level,
          message: meaning.message,
          at: this.#now(),
        });
        // The alert counts as mailed, so that the alert watch does not mail it a second time.
        if (mail !== undefined) draft.create(alertNote, { alert, mailed: true });
      },
    );
    if (mail !== undefined) this.#sending = this.#sending.then(() => this.#send(mail, alert));
    return undefined;
  }

  /** Waits until all messages are sent. */
  async close(): Promise<void> {
    await this.#sending;
  }

  /** Removes notices from before the boot: a booted machine has power, but upsmon reports only changes that it sees. */
  async begin(bootedAt: number): Promise<void> {
    const old = this.#engine.world.view
      .all(notice)
      .filter(({ source, kind, at }) => source === 'ups' && kind !== 'battery' && at < bootedAt);
    if (old.length === 0) return;
    await this.#engine.change(
      'remove notices about the UPS from before the boot',
      { actor: 'holdfast', request: 'start' },
      (draft) => {
        for (const { id } of old) draft.remove(notice, id);
      },
    );
  }

  async #send(mail: MailMessage, alert: string): Promise<void> {
    try {
      await this.#mailer.send(mail);
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'notification: mail failed');
      // The alert watch mails the alert instead.
      await this.#engine
        .change('mark the alert as not mailed', { actor: 'holdfast', request: '' }, (draft) => {
          const note = draft.find(alertNote, 'alert', alert);
          if (note !== undefined) draft.update(alertNote, note.id, { mailed: false });
        })
        .catch((failure: unknown) =>
          this.#log.error({ error: messageOf(failure) }, 'notification: marking the alert as not mailed failed'),
        );
    }
  }
}

/** The message to the recipients in the settings of the program; undefined without recipients. */
export function messageTo(
  view: View,
  { source, subject }: Notification,
  { message }: Meaning,
  at: Date,
): MailMessage | undefined {
  const { gc_hostname: host } = view.only(networkSettings);
  if (source === 'smartd') {
    const { smart_email } = view.only(smartSettings);
    return smart_email === ''
      ? undefined
      : { to: smart_email, subject: `[Holdfast] ${host}: problem with the disk ${subject}`, text: `${message}\n` };
  }
  const { ups_emailnotify, ups_toemail, ups_subject } = view.only(upsSettings);
  if (!ups_emailnotify || ups_toemail === '') return undefined;
  const day = at.toISOString().slice(0, 16).replace('T', ' ');
  const title = ups_subject.replaceAll('%h', () => host).replaceAll('%d', `${day} UTC`);
  return { to: ups_toemail.replaceAll(';', ','), subject: title, text: `${day} UTC\n${message}\n` };
}
