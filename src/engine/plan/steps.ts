import type { Host } from '../../host/ports/index.ts';
import type { Operations } from '../declare/resource.ts';
import type { Claim, Found, Outlook, Running, Shown, Step, Texts } from '../declare/step.ts';
import type { Touched } from '../facts/facts.ts';
import { nothingShown, subjectsOf } from './details.ts';

export type { Step, Texts };

/**
 * The three kinds of steps. A step is declared once, as what is done to the machine; the maker that this returns is
 * called with what it is done to, and returns a frozen value. For example:
 *
 *     const createDataset = ensure({
 *       kind: 'create dataset',
 *       keeps: ['name'],
 *       title: ({ name }) => `create the dataset ${name}`,
 *       before: async () => newMark(),
 *       make: ({ zfs }, { name, settings }: NewDataset, _, mark) => zfs.createDataset(name, { ...settings, mark }),
 *       isBegun: ({ zfs }, { name }, mark) => zfs.isMade(name, mark),
 *       unmake: ({ zfs }, { name }) => zfs.destroyDataset(name),
 *       touches: ({ name }) => [{ dataset: name }],
 *     });
 *     draft.plan.first(createDataset({ name: 'tank/media', settings: {} }));
 *
 * `StepRunner` performs steps and takes them back, the journal keeps `kind` and the texts that `keeps` names, and a
 * start that finds them there finishes the plan or takes it back (`recovery.ts`).
 */
export type StepKind = EnsureKind | ActKind;

/** What can be taken back. */
export interface EnsureKind {
  readonly nature: 'ensure';
  readonly kind: string;
  /** What a start does that finds the step begun. */
  readonly afterCrash: 'take back' | 'keep' | 'go on';
  is(host: Host, of: Texts): Promise<boolean>;
  /** Whether the machine has at least a part of the step. */
  isBegun(host: Host, of: Texts, before: string): Promise<boolean>;
  unmake(host: Host, of: Texts, before: string): Promise<void>;
  goOn(host: Host, of: Texts): Promise<void>;
  /** Takes it back in place of `unmake`, once the machine is configured. */
  readonly restore: ((engine: Restoring, of: Texts, before: string) => Promise<void>) | undefined;
}

/** What cannot be taken back. */
export interface ActKind {
  readonly nature: 'act';
  readonly kind: string;
  isDone(host: Host, of: Texts): Promise<boolean>;
  perform(host: Host, of: Texts): Promise<void>;
}

/** What takes a step back once the machine is configured. */
export interface Restoring {
  readonly host: Host;
  readonly operations: Operations;
}

/** Makes steps of one kind. It carries the kind for the list in which the next start looks kinds up. */
export interface StepMaker<Args, R = unknown> {
  (args: Args): Step<R>;
  readonly stepKind: StepKind;
}

interface Spec<Name extends string, Args> {
  /** A name that stays the same between versions, for the journal has it. */
  readonly kind: string;
  /** Names of the arguments that the journal keeps, all that is needed to find the step's work again. */
  readonly keeps: readonly Name[];
  readonly title: (args: Args) => string;
  readonly touches?: (args: Args) => readonly Touched[];
  /**
   * What the step works on although its facts stay the same, such as `storage` for a file on a volume. A step with
   * neither `touches` nor `claims` may work on anything, so no other change runs at the same time.
   */
  readonly claims?: readonly Claim[];
  /** Whether what follows depends on what the machine answers. */
  readonly decides?: true;
  /** Whether it may stay when another request of the same transaction fails. */
  readonly mayStay?: true;
  /** Whether it watches the signal of its job, so that an act can be aborted. */
  readonly aborts?: true;
  /** What the machine is afterwards, where a plan goes on with it, as with the volume of a new pool. */
  readonly foresees?: (args: Args, outlook: Outlook) => Partial<Outlook>;
  /** What a dry run shows of it, in addition to what it touches. */
  readonly shows?: (args: Args) => Partial<Shown>;
  /** A warning for the log once it was done, if the request may not have meant it. */
  readonly warns?: (args: Args) => string | undefined;
}

/** What the steps of one kind have in common. */
function shared<Name extends string, Args>(spec: Spec<Name, Args>, args: Args) {
  const touches = spec.touches?.(args) ?? [];
  return {
    title: spec.title(args),
    touches,
    claims: claimsOf(spec),
    decides: spec.decides === true,
    mayStay: spec.mayStay === true,
    aborts: spec.aborts === true,
    warning: spec.warns?.(args),
    foresee: (outlook: Outlook): Outlook => ({ ...outlook, ...spec.foresees?.(args, outlook) }),
    show: async (): Promise<Shown> => ({ ...nothingShown, subjects: subjectsOf(touches), ...spec.shows?.(args) }),
  };
}

function claimsOf({ touches, claims }: { readonly touches?: unknown; readonly claims?: readonly Claim[] }) {
  return claims ?? (touches === undefined ? ('everything' as const) : []);
}

/** What is known of a step that is taken back. */
export interface Past<Args> {
  /** What `before` found; empty without it. */
  readonly before: string;
  /** The step's arguments; undefined after a crash, when only the texts of the journal are left. */
  readonly args: Args | undefined;
}

interface EnsureSpec<Name extends string, Args> extends Spec<Name, Args> {
  /**
   * Whether the machine is so. Without it the step is made in any case, and always taken back: then `unmake` sets what
   * was there before, which is harmless to repeat.
   */
  readonly is?: (host: Host, of: Texts<Name>, args?: Args) => Promise<boolean>;
  /** Whether a part of it is there, for steps that can fail halfway, or whether what is there is the step's own. */
  readonly isBegun?: (host: Host, of: Texts<Name>, before: string) => Promise<boolean>;
  /** What `unmake` has to know: of the machine as it was before, or how it recognizes what the step makes. */
  readonly before?: (host: Host, of: Texts<Name>) => Promise<string>;
  readonly make: (host: Host, args: Args, running: Running, before: string) => Promise<void>;
  readonly unmake: (host: Host, of: Texts<Name>, past: Past<Args>) => Promise<void>;
  /** `make` is called also where the machine is so already, for its refusal: what is there is not the step's own. */
  readonly isExclusive?: boolean;
  /** Whether a dry run leaves it out where the machine is so already: a folder that is there is not created. */
  readonly isQuiet?: true;
  /** The part of `before` that the journal keeps; all of it unless this is there, for what may be a key. */
  readonly journals?: (before: string) => string;
  /**
   * What a start does that finds the step begun. Unless this is set, it calls `unmake` with the texts of the journal.
   *
   * - `keep`: the step stays, and with it, if it was done, what the plan did.
   * - `go on`: the plan is finished.
   */
  readonly afterCrash?: 'keep' | 'go on';
  /** Makes it from the texts of the journal, in a plan that is finished. */
  readonly goOn?: (host: Host, of: Texts<Name>) => Promise<void>;
  /** Takes it back in place of `unmake`, once the machine is configured: by units, or by a change of records. */
  readonly restores?: (engine: Restoring, of: Texts<Name>, before: string) => Promise<void>;
}

/** Declares steps that can be taken back. What was there before the step is never taken back. */
export function ensure<Name extends string, Args extends Texts<Name>>(spec: EnsureSpec<Name, Args>): StepMaker<Args> {
  const { kind, keeps, is, before, journals, make, unmake, isExclusive = false, afterCrash, goOn, restores } = spec;
  const isBegun =
    spec.isBegun ?? (async (host: Host, of: Texts<Name>) => (is === undefined ? true : await is(host, of)));
  const maker = (args: Args): Step => {
    const of = textsIn(args, keeps);
    return Object.freeze({
      nature: 'ensure' as const,
      returns: afterCrash === undefined,
      kind,
      of,
      ...shared(spec, args),
      ...(spec.isQuiet && is !== undefined && { isMade: (host: Host) => is(host, of, args) }),
      kept: ({ before: found }: Found) => journals?.(found) ?? found,
      async look(host: Host) {
        const was = await is?.(host, of, args);
        return { was, before: was === true ? '' : ((await before?.(host, of)) ?? '') };
      },
      async perform(host: Host, { was, before: found }: Found, running: Running) {
        if (was !== true || isExclusive) await make(host, args, running, found);
      },
      remains: async (host: Host, { was, before: found }: Found) =>
        was !== true &&
        (await (spec.isBegun === undefined && is !== undefined ? is(host, of, args) : isBegun(host, of, found))),
      async undo(host: Host, found: Found) {
        if (found.was !== true) await unmake(host, of, { before: found.before, args });
      },
    });
  };
  const stepKind: EnsureKind = {
    nature: 'ensure',
    kind,
    afterCrash: afterCrash ?? 'take back',
    is: async (host, of) => (await is?.(host, textsIn(of, keeps))) ?? false,
    isBegun: (host, of, found) => isBegun(host, textsIn(of, keeps), found),
    unmake: (host, of, found) => unmake(host, textsIn(of, keeps), { before: found, args: undefined }),
    goOn: async (host, of) => goOn?.(host, textsIn(of, keeps)),
    restore: restores && ((engine, of, found) => restores(engine, textsIn(of, keeps), found)),
  };
  return Object.assign(maker, { stepKind });
}

interface ActSpec<Name extends string, Args, R> extends Spec<Name, Args> {
  /** Whether it was done. An act that was begun and is not done is performed again by the next start. */
  readonly isDone: (host: Host, of: Texts<Name>) => Promise<boolean>;
  /** `args` and `running` are undefined when a start performs it. */
  readonly perform: (host: Host, of: Texts<Name>, args?: Args, running?: Running) => Promise<R>;
}

/** Declares steps that cannot be taken back. They come last in a plan. */
export function act<Name extends string, Args extends Texts<Name>, R = void>(
  spec: ActSpec<Name, Args, R>,
): StepMaker<Args, R> {
  const { keeps, isDone, perform } = spec;
  return actMaker(spec, perform, {
    isDone: (host, of) => isDone(host, textsIn(of, keeps)),
    perform: async (host, of) => void (await perform(host, textsIn(of, keeps))),
  });
}

interface OnceSpec<Name extends string, Args, R> extends Spec<Name, Args> {
  /** Returns what the machine answers, if the plan needs it. */
  readonly perform: (host: Host, args: Args, running: Running) => Promise<R>;
}

/** Declares acts that no start performs again: the machine does the whole or nothing, and no record depends on which. */
export function actOnce<Name extends string, Args extends Texts<Name>, R = void>(
  spec: OnceSpec<Name, Args, R>,
): StepMaker<Args, R> {
  return actMaker(spec, (host, _, args, running) => spec.perform(host, args, running), {
    isDone: async () => true,
    perform: async () => {},
  });
}

function actMaker<Name extends string, Args extends Texts<Name>, R>(
  spec: Spec<Name, Args>,
  perform: (host: Host, of: Texts<Name>, args: Args, running: Running) => Promise<R>,
  again: Pick<ActKind, 'isDone' | 'perform'>,
): StepMaker<Args, R> {
  const maker = (args: Args): Step<R> => {
    const of = textsIn(args, spec.keeps);
    return Object.freeze({
      nature: 'act' as const,
      returns: false,
      kind: spec.kind,
      of,
      ...shared(spec, args),
      kept: () => '',
      look: async () => unknown,
      perform: (host: Host, _: Found, running: Running) => perform(host, of, args, running),
      remains: async () => false,
      undo: async () => {},
    });
  };
  const stepKind: ActKind = { nature: 'act', kind: spec.kind, ...again };
  return Object.assign(maker, { stepKind });
}

/** A question to the host that refuses the plan by what it throws. It changes nothing. */
export function check(question: {
  readonly title: string;
  readonly holds: (host: Host) => Promise<void>;
  /** Facts that are read again. */
  readonly touches?: readonly Touched[];
  /** What the answer depends on, as for the other kinds. */
  readonly claims?: readonly Claim[];
  /** What is known to be so by then, because subsystems that are applied before make it so. */
  readonly foresees?: (outlook: Outlook) => Partial<Outlook>;
}): Step {
  return unkept('check', question.title, question.holds, question);
}

/**
 * What the daemon does by itself, which the next start does again, or what a request does to the daemon alone, such as
 * aborting a job. It ends with the daemon, so the journal does not have it.
 */
export function own<R>(title: string, operation: (host: Host) => Promise<R>, claims?: readonly Claim[]): Step<R> {
  return unkept('own', title, operation, claims === undefined ? {} : { claims });
}

function unkept<R>(
  nature: 'check' | 'own',
  title: string,
  perform: (host: Host) => Promise<R>,
  spec: {
    readonly touches?: readonly Touched[];
    readonly claims?: readonly Claim[];
    readonly foresees?: (outlook: Outlook) => Partial<Outlook>;
  },
): Step<R> {
  const { touches = [] } = spec;
  return Object.freeze({
    ...{
      nature,
      returns: nature === 'check',
      kind: '',
      of: {},
      title,
      touches,
      claims: claimsOf(spec),
      decides: false,
      aborts: false,
    },
    foresee: (outlook: Outlook): Outlook => ({ ...outlook, ...spec.foresees?.(outlook) }),
    show: async () => ({ ...nothingShown, subjects: subjectsOf(touches) }),
    kept: () => '',
    look: async () => unknown,
    perform: (host: Host) => perform(host),
    remains: async () => false,
    undo: async () => {},
  });
}

const unknown: Found = Object.freeze({ was: undefined, before: '' });

/** These of the texts. One that is missing was kept by another version of Holdfast. */
function textsIn<Name extends string>(from: Readonly<Partial<Texts>>, names: readonly Name[]): Texts<Name> {
  const texts = Object.fromEntries(names.map((name) => [name, from[name]]));
  if (!hasTexts(texts, names)) throw new Error(`Expected the texts ${names.join(', ')} of a step in the journal.`);
  return Object.freeze(texts);
}

function hasTexts<Name extends string>(
  texts: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): texts is Texts<Name> {
  return names.every((name) => typeof texts[name] === 'string');
}
