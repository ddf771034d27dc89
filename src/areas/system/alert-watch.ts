import { type Problem, problemId } from '../../engine/declare/problem.ts';
import type { Engine, Log } from '../../engine/engine.ts';
import type { Mail } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { user } from '../account/users.ts';
import { measuredDatasets } from '../services/iscsi/thresholds.ts';
import { alertNote, levels } from './alert.ts';
import { emailSettings } from './email.ts';
import { causeOf, notice } from './notice.ts';

/** Milliseconds between two checks, and the number of checks between two inspections of the machine for drift. */
const interval = 60_000;
const checksPerInspection = 10;

/** Milliseconds before mail that failed is sent again: the first pause, which doubles, and the longest. */
const firstPause = 60_000;
const longestPause = 3_600_000;

/** The maximum number of alerts in one message. */
const mostInMail = 100;

/** Milliseconds after which a dismissed notice is removed. */
const noticeLifetime = 7 * 86_400_000;

const context = { actor: 'holdfast', request: '' };

/** Mails each new problem once, stores a note about it, and removes the notes of problems that have ended. */
export class AlertWatch {
  readonly #engine: Engine;
  readonly #mailer: Mail;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  readonly #stop: () => void;
  #soon: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #checks = 0;
  #pause = 0;
  /** When mail may be sent again after a failure, in milliseconds since 1970. */
  #mailFrom = 0;
  /** The settings that the last mail was sent with: new ones are tried at once. */
  #triedWith: object | undefined;
  /** Alerts that were mailed but whose note could not be stored. */
  readonly #unstored = new Set<string>();

  constructor(engine: Engine, mailer: Mail, log: Log) {
    this.#engine = engine;
    this.#mailer = mailer;
    this.#log = log;
    this.#timer = setInterval(() => this.#look(), interval);
    this.#timer.unref();
    // A short delay collects simultaneous alerts in one message.
    this.#stop = engine.events.listen(({ name }) => {
      if (name !== 'problem.began' && name !== 'problem.ended') return;
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
      .catch((error: unknown) => this.#log.error({ error: messageOf(error) }, 'alerts: check failed'));
  }

  async look(): Promise<void> {
    const engine = this.#engine;
    this.#checks += 1;
    // A difference that was found ends soon after it was corrected.
    if (this.#checks % checksPerInspection === 0 || engine.isDrifted) await engine.inspect();
    const { view, facts } = engine.glance(['condition']);
    // The state and the space of pools are problems, and the space of few datasets. To read all of a thousand datasets
    // each minute would keep an idle machine busy.
    engine.glanceAtStorage([
      ...[...facts.storage.pools.keys()].map((pool) => ({ pool })),
      ...measuredDatasets(view, facts.storage).map((dataset) => ({ dataset })),
    ]);
    const { problems } = engine;
    const now = engine.now();
    const gone = view.all(alertNote).filter(({ alert }) => !problems.some(({ id }) => id === alert));
    const seen = view
      .all(notice)
      .filter(
        (record) =>
          now - record.at > noticeLifetime &&
          view.find(alertNote, 'alert', problemId(causeOf(record)))?.dismissed === true,
      );
    for (const id of this.#unstored) if (!problems.some((one) => one.id === id)) this.#unstored.delete(id);
    const fresh = problems.filter(
      ({ id, severity }) =>
        severity !== 'info' &&
        !this.#unstored.has(id) &&
        view.find(alertNote, 'alert', id)?.mailed !== true &&
        view.find(alertNote, 'alert', id)?.dismissed !== true &&
        (view.find(alertNote, 'alert', id)?.snoozed_until ?? 0) <= now,
    );
    const settings = view.only(emailSettings);
    const isDue =
      settings.em_outgoingserver !== '' && fresh.length > 0 && (now >= this.#mailFrom || settings !== this.#triedWith);
    const isSent = isDue && (await this.#mail(fresh));
    if (isDue) {
      this.#triedWith = settings;
      this.#pause = isSent ? 0 : Math.min(longestPause, Math.max(firstPause, 2 * this.#pause));
      this.#mailFrom = now + this.#pause;
    }
    if (isSent) for (const { id } of fresh) this.#unstored.add(id);
    // When notes cannot be stored, as on a full disk, the set prevents a message every minute.
    const mailed = problems.map(({ id }) => id).filter((id) => this.#unstored.has(id));
    const begun =
      engine.obstacle === undefined ? problems.filter(({ id }) => view.find(alertNote, 'alert', id) === undefined) : [];
    if (gone.length === 0 && seen.length === 0 && mailed.length === 0 && begun.length === 0) return;
    await engine.change('store the state of alerts', context, (draft) => {
      for (const { id } of gone) if (draft.get(alertNote, id) !== undefined) draft.remove(alertNote, id);
      for (const { id } of seen) if (draft.get(notice, id) !== undefined) draft.remove(notice, id);
      for (const { id, since } of begun)
        if (draft.find(alertNote, 'alert', id) === undefined) draft.create(alertNote, { alert: id, since });
      for (const id of mailed) {
        const note = draft.find(alertNote, 'alert', id);
        if (note !== undefined) draft.update(alertNote, note.id, { mailed: true });
      }
    });
    for (const id of mailed) this.#unstored.delete(id);
  }

  /** Whether the mail server accepted the message. If not, a later check tries again. */
  async #mail(problems: readonly Problem[]): Promise<boolean> {
    const { view } = this.#engine.world;
    const settings = view.only(emailSettings);
    const to = view.get(user, 1)?.bsdusr_email || settings.em_fromemail;
    const alerts = problems.map(({ severity, message }) => ({ level: levels[severity], message }));
    const [first] = alerts;
    const subject =
      alerts.length === 1
        ? `[Holdfast] ${first?.level}: ${first?.message.slice(0, 100)}`
        : `[Holdfast] ${alerts.length} alerts`;
    try {
      const lines = alerts.slice(0, mostInMail).map(({ level, message }) => `${level}: ${message}\n`);
      const more = alerts.length - lines.length;
      const text = [
        ...lines,
        ...(more > 0 ? [`There are ${more} more. GET /api/holdfast/v1/problems lists them.\n`] : []),
      ].join('\n');
      await this.#mailer.send({ to, subject, text });
      return true;
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'alerts: mail failed');
      return false;
    }
  }
}
