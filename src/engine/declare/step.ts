import type { Host } from '../../host/ports/index.ts';
import type { Medium } from '../../host/ports/network.ts';
import type { Facts, Topic, Touched } from '../facts/facts.ts';

/** What a step is done to, as the journal keeps it: names, never keys. */
export type Texts<Name extends string = string> = Readonly<Record<Name, string>>;

/** What the machine was before a step. The journal has it before anything changes. */
export interface Found {
  /** Whether the machine was so already; undefined where that is not looked at. */
  readonly was: boolean | undefined;
  /** What has to be known to take the step back; empty where its texts are enough. */
  readonly before: string;
}

/** What the machine is after steps that are planned and not performed, as far as it is known beforehand. */
export interface Outlook {
  readonly facts: Facts;
  /** The media that steps set, by network interface. They are no facts, because they are slow to read. */
  readonly media: ReadonlyMap<string, Medium>;
}

/** What a step does, for the details of a dry run. */
export interface Shown {
  /** What it is done to, such as `file /etc/motd`. */
  readonly subjects: readonly string[];
  readonly files: readonly FileChange[];
  readonly services: readonly { readonly service: string; readonly action: ServiceAction }[];
  /** Sessions of clients that end with it. */
  readonly sessions: readonly string[];
}

export type ServiceAction = 'start' | 'stop' | 'restart' | 'reload';

/** A file before and after a step, undefined where there is none. */
export interface FileChange {
  readonly path: string;
  /** `hidden` for a file that not every account may read, or that is not text. */
  readonly texts: { readonly from: string | undefined; readonly to: string | undefined } | 'hidden';
}

/** What a step has while it is performed. */
export interface Running {
  /** Aborted when a user aborts the job, or when the daemon stops. */
  readonly signal: AbortSignal;
  /** Sets the progress that is shown for the job; `done` is its share, from 0 to 1, if that is known. */
  progress(sentence: string, done?: number): void;
}

/** A job as those see it who perform its steps. */
export interface JobRun extends Running {
  /** Steps that are known before they begin. */
  expect(steps: readonly Step[]): void;
  /** A step begins, unless a user has aborted the job. Returns what ends the step. */
  begin(step: Step): (state: 'done' | 'failed') => void;
  /** It waits until other work has ended; undefined when it goes on. */
  waitsFor(what: string | undefined): void;
  /** A step could not be taken back. */
  leavesSomething(): void;
}

/** A part of the machine whose facts stay as they are, or a subsystem. */
export type Claim = Topic | { readonly subsystem: string };

/**
 * One step of a plan, a frozen value. `plan/steps.ts` makes the three kinds of them:
 *
 * - `check` asks the host and changes nothing.
 * - `ensure` can be taken back.
 * - `act` cannot be taken back, so it comes last, and alone.
 *
 * `own` is what the daemon does by itself between changes, such as a repair. The next start does it again.
 *
 * `R` is what the machine answers, such as the output of a program.
 */
export interface Step<R = unknown> {
  readonly nature: 'check' | 'ensure' | 'act' | 'own';
  /** Whether a start that finds it begun takes it back, so that others of the same plan may come after it. */
  readonly returns: boolean;
  /** The name in the journal; empty for steps that the journal does not keep. */
  readonly kind: string;
  readonly of: Texts;
  /** Appears in the log, as progress and in the dry run. */
  readonly title: string;
  /** The facts that change with it and must be read again. */
  readonly touches: readonly Touched[];
  /** What it works on in addition to `touches`. No other change works on that at the same time. */
  readonly claims: readonly Claim[] | 'everything';
  /**
   * Whether what comes after it depends on what the machine answers, such as the key of another machine. A dry run goes
   * on as far as it can, and then ends with this step.
   */
  readonly decides: boolean;
  /** Whether it may stay when another step fails, although it is an act: it is set right by a repetition, and no data is lost. */
  readonly mayStay?: boolean;
  /** Whether it ends when its job is aborted, although it is an act. */
  readonly aborts: boolean;
  /** Logged once it has changed the machine, if the request may not have meant it. */
  readonly warning?: string | undefined;
  /** What the machine is afterwards, for the dry run of what follows. */
  foresee(outlook: Outlook): Outlook;
  /** What it does to the machine as that is now. */
  show(host: Host): Promise<Shown>;
  /** Whether the machine is so already, so that a dry run leaves the step out. Absent for steps that it always names. */
  isMade?(host: Host): Promise<boolean>;
  look(host: Host): Promise<Found>;
  /** What the journal keeps of `before`. */
  kept(found: Found): string;
  perform(host: Host, found: Found, running: Running): Promise<R>;
  /** Whether a step that failed changed the machine all the same: its answer may have been lost. */
  remains(host: Host, found: Found): Promise<boolean>;
  undo(host: Host, found: Found): Promise<void>;
}
