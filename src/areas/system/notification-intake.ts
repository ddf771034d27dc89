import type { View } from '../../engine/declare/resource.ts';
import type { Engine, Log } from '../../engine/engine.ts';
import { messageOf } from '../../lib/text.ts';
import { networkSettings } from '../network/globalconfiguration.ts';
import { smartSettings } from '../services/smart.ts';
import { upsSettings } from '../services/ups.ts';
import { alertNote, noticeAlertId } from './alert.ts';
import { emailSettings } from './email.ts';
import { type MailMessage, sendMail } from './mail.ts';
import { type Meaning, meaningOf, notice, readTold, type Told } from './notice.ts';

/**
 * Takes what smartd and upsmon have to say: it becomes an alert, and a letter to those whom their settings name. When
 * they name nobody, or the letter cannot be sent, whoever is told of alerts is told of this one.
 */
export class NotificationIntake {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #now: () => number;
  #writing: Promise<void> = Promise.resolve();

  constructor(engine: Engine, log: Log, now: () => number) {
    this.#engine = engine;
    this.#log = log;
    this.#now = now;
  }

  /** Keeps what was said; the letter goes afterwards. Answers what was wrong with it, if something was. */
  async take(message: unknown): Promise<string | undefined> {
    const told = readTold(message);
    const meaning = told === undefined ? undefined : meaningOf(told);
    if (told === undefined || meaning === undefined) return 'This is no event of smartd or upsmon.';
    const { source, subject } = told;
    const { view } = this.#engine.world;
    const mail =
      view.only(emailSettings).em_outgoingserver === ''
        ? undefined
        : letterOf(view, told, meaning, new Date(this.#now()));
    const alert = noticeAlertId({ source, subject, kind: meaning.kind });
    await this.#engine.change(
      `note that ${source} said ${told.event} of ${subject}`,
      { actor: source, request: '' },
      (draft) => {
        for (const one of draft.all(notice))
          if (one.source === source && one.subject === subject && one.kind === meaning.kind)
            draft.remove(notice, one.id);
        // What happens anew is another alert, though the one before was dismissed.
        const note = draft.find(alertNote, 'alert', alert);
        if (note !== undefined) draft.remove(alertNote, note.id);
        if (meaning.level === 'ends') return;
        draft.create(notice, {
          source,
          subject,
          kind: meaning.kind,
          level: meaning.level,
          message: meaning.message,
          at: this.#now(),
        });
        // The letter is on its way, so that nobody else writes one.
        if (mail !== undefined) draft.create(alertNote, { alert, mailed: true });
      },
    );
    if (mail !== undefined) this.#writing = this.#writing.then(() => this.#write(mail, alert));
    return undefined;
  }

  /** Waits for the letters that are on their way. */
  async close(): Promise<void> {
    await this.#writing;
  }

  /** A machine that was started anew has power: upsmon tells of changes only, and there was none that it saw. */
  async begin(bootedAt: number): Promise<void> {
    const old = this.#engine.world.view
      .all(notice)
      .filter(({ source, kind, at }) => source === 'ups' && kind !== 'battery' && at < bootedAt);
    if (old.length === 0) return;
    await this.#engine.change(
      'forget what was said of the UPS before the start',
      { actor: 'holdfast', request: 'start' },
      (draft) => {
        for (const { id } of old) draft.remove(notice, id);
      },
    );
  }

  async #write(mail: MailMessage, alert: string): Promise<void> {
    try {
      await sendMail(this.#engine.world.view.only(emailSettings), mail);
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'could not mail what a program said');
      // Whoever is told of alerts is told of it instead.
      await this.#engine
        .change('note that a letter did not go', { actor: 'holdfast', request: '' }, (draft) => {
          const note = draft.find(alertNote, 'alert', alert);
          if (note !== undefined) draft.update(alertNote, note.id, { mailed: false });
        })
        .catch((failure: unknown) =>
          this.#log.error({ error: messageOf(failure) }, 'could not note that a letter did not go'),
        );
    }
  }
}

/** Whom the settings of the program name, and what they are written. */
export function letterOf(
  view: View,
  { source, subject }: Told,
  { message }: Meaning,
  at: Date,
): MailMessage | undefined {
  const { gc_hostname: host } = view.only(networkSettings);
  if (source === 'smartd') {
    const { smart_email } = view.only(smartSettings);
    return smart_email === ''
      ? undefined
      : { to: smart_email, subject: `[Holdfast] ${host}: trouble with the disk ${subject}`, text: `${message}\n` };
  }
  const { ups_emailnotify, ups_toemail, ups_subject } = view.only(upsSettings);
  if (!ups_emailnotify) return undefined;
  const day = at.toISOString().slice(0, 16).replace('T', ' ');
  const title = ups_subject.replaceAll('%h', () => host).replaceAll('%d', `${day} UTC`);
  return { to: ups_toemail.replaceAll(';', ','), subject: title, text: `${day} UTC\n${message}\n` };
}
