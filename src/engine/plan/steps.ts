import type { Host } from '../../host/ports/index.ts';
import type { Step } from '../declare/resource.ts';
import type { Touched } from '../facts/facts.ts';

/** What a step is done to, as the journal keeps it: names, never settings or keys. */
export type Texts<Name extends string = string> = Readonly<Record<Name, string>>;

/**
 * A step that the journal can write down: its kind says what is done to the machine, `of` to what. After a crash the next
 * start reads both, asks the kind whether the step was done, and finishes the plan or takes it back (`recovery.ts`).
 *
 *     const createDataset = ensure({
 *       kind: 'create dataset',
 *       keeps: ['name'],
 *       title: ({ name }) => `create the dataset ${name}`,
 *       is: async ({ zfs }, { name }) => (await zfs.datasets({ names: [name] })).length > 0,
 *       make: ({ zfs }, { name, settings }: { name: string; settings: DatasetSettings }) => zfs.createDataset(name, settings),
 *       unmake: ({ zfs }, { name }) => zfs.destroyDataset(name),
 *       touches: ({ name }) => [{ dataset: name }],
 *     });
 *     draft.plan.first(createDataset({ name: 'tank/media', settings: {} }));
 */
export interface DeclaredStep extends Step {
  readonly kind: string;
  readonly of: Texts;
  /** Looks at the machine before `perform`, so that the journal has the answer before anything changes. */
  look(host: Host): Promise<void>;
  /** Whether the machine was so before the step; undefined before the look, and for an act. */
  was(): boolean | undefined;
}

export type StepKind = EnsureKind | ActKind;

/** What can be taken back. */
export interface EnsureKind {
  readonly nature: 'ensure';
  readonly kind: string;
  is(host: Host, of: Texts): Promise<boolean>;
  unmake(host: Host, of: Texts): Promise<void>;
}

/** What cannot be taken back. */
export interface ActKind {
  readonly nature: 'act';
  readonly kind: string;
  isDone(host: Host, of: Texts): Promise<boolean>;
  perform(host: Host, of: Texts): Promise<void>;
}

/** Makes steps of one kind. It carries the kind for the list in which the next start looks kinds up. */
export interface StepMaker<Args> {
  (args: Args): DeclaredStep;
  readonly stepKind: StepKind;
}

interface Spec<Name extends string, Args> {
  /** A name that stays the same between versions, for the journal has it. */
  readonly kind: string;
  /** Names of the arguments that the journal keeps, all that is needed to find the step's work again. */
  readonly keeps: readonly Name[];
  readonly title: (args: Args) => string;
  readonly touches: (args: Args) => readonly Touched[];
}

interface EnsureSpec<Name extends string, Args> extends Spec<Name, Args> {
  readonly is: (host: Host, of: Texts<Name>) => Promise<boolean>;
  readonly make: (host: Host, args: Args) => Promise<void>;
  readonly unmake: (host: Host, of: Texts<Name>) => Promise<void>;
  /** `make` is called also where the machine is so already, for its refusal: what is there is not the step's own. */
  readonly isExclusive?: boolean;
}

/** Declares steps that can be taken back. What was there before the step is never taken back. */
export function ensure<Name extends string, Args extends Texts<Name>>(spec: EnsureSpec<Name, Args>): StepMaker<Args> {
  const { kind, keeps, is, make, unmake, isExclusive = false } = spec;
  const maker = (args: Args): DeclaredStep => {
    const of = textsIn(args, keeps);
    let was: boolean | undefined;
    return {
      kind,
      of,
      title: spec.title(args),
      touches: spec.touches(args),
      was: () => was,
      async look(host) {
        was = await is(host, of);
      },
      async perform(host) {
        if (was !== true || isExclusive) await make(host, args);
      },
      left: async (host) => was === false && (await is(host, of)),
      async undo(host) {
        if (was === false) await unmake(host, of);
      },
    };
  };
  const stepKind: EnsureKind = {
    nature: 'ensure',
    kind,
    is: (host, of) => is(host, textsIn(of, keeps)),
    unmake: (host, of) => unmake(host, textsIn(of, keeps)),
  };
  return Object.assign(maker, { stepKind });
}

interface ActSpec<Name extends string, Args> extends Spec<Name, Args> {
  /** Whether it was done. An act that was begun and is not done is performed again by the next start. */
  readonly isDone: (host: Host, of: Texts<Name>) => Promise<boolean>;
  readonly perform: (host: Host, of: Texts<Name>) => Promise<void>;
}

/** Declares steps that cannot be taken back. They come last in a plan. */
export function act<Name extends string, Args extends Texts<Name>>(spec: ActSpec<Name, Args>): StepMaker<Args> {
  const { kind, keeps, isDone, perform } = spec;
  const maker = (args: Args): DeclaredStep => {
    const of = textsIn(args, keeps);
    return {
      kind,
      of,
      title: spec.title(args),
      touches: spec.touches(args),
      look: async () => {},
      was: () => undefined,
      perform: (host) => perform(host, of),
    };
  };
  const stepKind: ActKind = {
    nature: 'act',
    kind,
    isDone: (host, of) => isDone(host, textsIn(of, keeps)),
    perform: (host, of) => perform(host, textsIn(of, keeps)),
  };
  return Object.assign(maker, { stepKind });
}

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
