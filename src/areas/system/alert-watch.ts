import type { Engine, Log } from '../../engine/engine.ts';
import { messageOf } from '../../lib/text.ts';
import { user } from '../account/users.ts';
import { alertNote, alertsOf, noticeAlertId } from './alert.ts';
import { emailSettings } from './email.ts';
import { sendMail } from './mail.ts';
import { notice } from './notice.ts';

/** Milliseconds between two looks, and how many looks before the machine itself is asked for drift. */
const interval = 60_000;
const looksPerInspection = 10;

/** Milliseconds after which a notice that somebody has dismissed is forgotten. */
const forgotten = 7 * 86_400_000;

const context = { actor: 'holdfast', request: '' };

/** Looks for alerts, mails each that is new once, and forgets the notes of those whose cause has gone. */
export class AlertWatch {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  readonly #stop: () => void;
  #soon: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #looks = 0;
  /** Alerts that were mailed, which could not be written down. */
  readonly #unnoted = new Set<string>();

  constructor(engine: Engine, log: Log) {
    this.#engine = engine;
    this.#log = log;
    this.#timer = setInterval(() => this.#look(), interval);
    this.#timer.unref();
    // What happens together is told in one letter.
    this.#stop = engine.events.listen(({ name, payload }) => {
      const isNotice = name === 'record.changed' && payload.resource === notice.path && payload.what === 'created';
      if (!isNotice && name !== 'subsystem.degraded' && name !== 'job.ended' && name !== 'subsystem.recovered') return;
      clearTimeout(this.#soon);
      this.#soon = setTimeout(() => this.#look(), 500);
      this.#soon.unref();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#stop();
    await this.#looking;
  }

  #look(): void {
    this.#looking = this.#looking
      .then(() => this.look())
      .catch((error: unknown) => this.#log.error({ error: messageOf(error) }, 'could not look for alerts'));
  }

  async look(): Promise<void> {
    const engine = this.#engine;
    this.#looks += 1;
    if (this.#looks % looksPerInspection === 0) await engine.inspect();
    const { view } = engine.glance(['storage', 'condition']);
    const alerts = alertsOf(engine.world, engine.health);
    const gone = view.all(alertNote).filter(({ alert }) => !alerts.some(({ id }) => id === alert));
    const seen = view
      .all(notice)
      .filter(
        (one) =>
          engine.health.now - one.at > forgotten &&
          view.find(alertNote, 'alert', noticeAlertId(one))?.dismissed === true,
      );
    for (const id of this.#unnoted) if (!alerts.some((one) => one.id === id)) this.#unnoted.delete(id);
    const fresh = alerts.filter(
      ({ id }) =>
        !this.#unnoted.has(id) &&
        view.find(alertNote, 'alert', id)?.mailed !== true &&
        view.find(alertNote, 'alert', id)?.dismissed !== true,
    );
    const settings = view.only(emailSettings);
    const isSent = settings.em_outgoingserver !== '' && fresh.length > 0 && (await this.#mail(fresh));
    if (isSent) for (const { id } of fresh) this.#unnoted.add(id);
    // A full disk must not become a mail every minute.
    const mailed = alerts.map(({ id }) => id).filter((id) => this.#unnoted.has(id));
    if (gone.length === 0 && seen.length === 0 && mailed.length === 0) return;
    await engine.change('note what was told of alerts', context, (draft) => {
      for (const { id } of gone) if (draft.get(alertNote, id) !== undefined) draft.remove(alertNote, id);
      for (const { id } of seen) if (draft.get(notice, id) !== undefined) draft.remove(notice, id);
      for (const id of mailed) {
        const note = draft.find(alertNote, 'alert', id);
        if (note === undefined) draft.create(alertNote, { alert: id, mailed: true });
        else draft.update(alertNote, note.id, { mailed: true });
      }
    });
    for (const id of mailed) this.#unnoted.delete(id);
  }

  /** Whether the letter was taken. One that was not is tried again at the next look. */
  async #mail(alerts: readonly { readonly level: string; readonly message: string }[]): Promise<boolean> {
    const { view } = this.#engine.world;
    const settings = view.only(emailSettings);
    const to = view.get(user, 1)?.bsdusr_email || settings.em_fromemail;
    const [first] = alerts;
    const subject =
      alerts.length === 1
        ? `[Holdfast] ${first?.level}: ${first?.message.slice(0, 100)}`
        : `[Holdfast] ${alerts.length} alerts`;
    try {
      await sendMail(settings, {
        to,
        subject,
        text: alerts.map(({ level, message }) => `${level}: ${message}\n`).join('\n'),
      });
      return true;
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'could not mail alerts');
      return false;
    }
  }
}
