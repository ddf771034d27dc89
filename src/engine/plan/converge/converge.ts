/**
 * What a subsystem renders, compared with the machine, as steps that make the machine so. There is one file for each
 * kind of things that it can render. A change, the start, a repair and the drift report use the same differences: who
 * asks for them performs each one before it asks for the next, or only takes its title.
 */
import { type Host, HostError } from '../../../host/ports/index.ts';
import type { Step } from '../../declare/step.ts';
import type { Desired } from '../../declare/subsystem.ts';
import type { Topic } from '../../facts/facts.ts';
import type { Originals } from '../originals.ts';
import { unwatched } from '../runner.ts';
import { accountDifferences } from './accounts.ts';
import type { Known } from './difference.ts';
import { endpointDifferences } from './endpoints.ts';
import { fileDifferences } from './files.ts';
import { hostNameDifferences } from './host-name.ts';
import { linkDifferences } from './links.ts';
import { readsNothingElse, serviceDifferences } from './services.ts';
import { targetDifferences } from './targets.ts';

export interface Outcome {
  /** What was done, as sentences. */
  readonly actions: readonly string[];
  /** The facts that are different afterwards. */
  readonly touched: ReadonlySet<Topic>;
}

export interface ConvergeOptions extends Known {
  /** Called before each step. */
  readonly progress?: () => void;
  /** Keeps what is replaced. */
  readonly originals?: Originals;
}

/** The facts that converging can change. */
export const convergedTopics: readonly Topic[] = ['accounts', 'network', 'services', 'targets'];

/**
 * Compares one kind after the other. The machine is asked about a kind after the steps of the kinds before it: a unit
 * file has to be written before the service manager knows its service. `applied` is what the machine is known to be;
 * without it the machine is asked.
 */
export async function* differences(
  host: Host,
  desired: Desired,
  applied: Desired | undefined,
  known: Known = {},
): AsyncGenerator<Step, void, undefined> {
  const comparison = { host, desired, applied, known };
  yield* await accountDifferences(comparison);
  const keepsRunning = await readsNothingElse(comparison);
  const { steps, written } = await fileDifferences(comparison);
  yield* steps;
  yield* await serviceDifferences(comparison, { written, keepsRunning });
  yield* await linkDifferences(comparison, written);
  yield* await hostNameDifferences(comparison);
  yield* await endpointDifferences(comparison);
  yield* await targetDifferences(comparison);
}

/** All differences at once, of a machine that stays as it is. */
export async function allDifferences(...comparison: Parameters<typeof differences>): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for await (const step of differences(...comparison)) steps.push(step);
  return steps;
}

/** Makes the machine what a subsystem desires, and changes only what is different. */
export async function converge(
  host: Host,
  desired: Desired,
  applied: Desired | undefined,
  { progress, originals, ...known }: ConvergeOptions = {},
): Promise<Outcome> {
  await originals?.secure(desired, applied);
  const actions: string[] = [];
  const touched = new Set<Topic>();
  for await (const step of differences(host, desired, applied, known)) {
    actions.push(step.title);
    progress?.();
    for (const topic of step.touches) if (typeof topic === 'string') touched.add(topic);
    await step.perform(host, { was: undefined, before: '' }, unwatched);
  }
  return { actions, touched };
}

/**
 * Writes the unit files of many subsystems at once, because the service manager takes seconds to read its files on a
 * small machine. Returns the paths that became others. What cannot be done keeps nothing else from being done.
 */
export async function layServiceFiles(
  host: Host,
  subsystems: readonly Desired[],
  missed: (title: string, error: HostError) => void,
): Promise<readonly string[]> {
  const files = subsystems.flatMap(
    (desired) => desired.files?.filter(({ forServiceManager }) => forServiceManager === true) ?? [],
  );
  const { steps, written } = await fileDifferences({ host, desired: { files }, applied: undefined, known: {} });
  for (const step of steps) {
    try {
      await step.perform(host, { was: undefined, before: '' }, unwatched);
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      missed(step.title, error);
    }
  }
  return written;
}
