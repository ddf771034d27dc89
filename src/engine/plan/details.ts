import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import type { Host } from '../../host/ports/index.ts';
import type { FileChange, ServiceAction, Shown, Step } from '../declare/step.ts';
import type { Touched } from '../facts/facts.ts';
import type { PlannedStep } from './planner.ts';

/** A step of a dry run in detail. */
export interface StepDetails {
  readonly title: string;
  /** Whether it is taken back if a later step fails. */
  readonly reversible: boolean;
  /** Whether the plan ends with it, because what follows depends on what it finds. */
  readonly decides: boolean;
  readonly touches: readonly string[];
  /** With a unified diff, or null where the content is not shown. */
  readonly files: readonly { readonly path: string; readonly diff: string | null }[];
  readonly services: readonly { readonly service: string; readonly action: ServiceAction }[];
  readonly sessions: readonly string[];
}

export const nothingShown: Shown = Object.freeze({ subjects: [], files: [], services: [], sessions: [] });

export async function detailsOf(
  { title, reversible, show }: PlannedStep,
  { host, decides }: { readonly host: Host; readonly decides: boolean },
): Promise<StepDetails> {
  const { subjects, files, services, sessions } = await show(host);
  return {
    title,
    reversible,
    decides,
    touches: subjects,
    files: files.map((file) => ({ path: file.path, diff: diffOf(file) })),
    services,
    sessions,
  };
}

export function plannedStep({ title, nature, show, isMade }: Step): PlannedStep {
  return { title, show, reversible: nature === 'check' || nature === 'ensure', ...(isMade && { isMade }) };
}

/** What steps touch, as texts. */
export function subjectsOf(touches: readonly Touched[]): readonly string[] {
  const subjects = touches.map((touched) => {
    if (typeof touched === 'string') return touched.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    if ('path' in touched) return touched.path;
    if ('pool' in touched) return `pool ${touched.pool}`;
    return `dataset ${touched.dataset}${(touched.below ?? false) === false ? '' : ' and those below'}`;
  });
  return [...new Set(subjects)];
}

/** Milliseconds for one diff: that of two long files that have nothing in common would occupy the daemon. */
const longestDiff = 200;

function diffOf({ path, texts }: FileChange): string | null {
  if (texts === 'hidden') return null;
  const { from, to } = texts;
  const names = [from, to].map((text) => (text === undefined ? '/dev/null' : path));
  const patch = createTwoFilesPatch(names[0] ?? '', names[1] ?? '', from ?? '', to ?? '', undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
    timeout: longestDiff,
  });
  return patch ?? null;
}
