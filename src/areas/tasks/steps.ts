import { actOnce, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import { keptOutput } from '../../engine/upkeep/jobs.ts';
import type { Outcome } from '../../host/ports/commands.ts';

/**
 * The steps that run what users have written. The machine cannot tell whether a command was run, so no start runs it
 * again. The journal has the record, not the command, which may contain a password.
 */

interface Command extends Texts<'record'> {
  readonly user: string;
  readonly line: string;
}

export const runCommand = actOnce<'record', Command, Outcome>({
  kind: 'run cron job',
  aborts: true,
  keeps: ['record'],
  title: ({ record }) => `run the cron job ${record}`,
  perform: ({ commands }, { user, line }, { signal }) => commands.run({ user, line, signal, keep: keptOutput }),
});

interface Copying extends Texts<'record'> {
  /** What is copied, for the title. */
  readonly what: string;
  readonly user: string;
  readonly argv: readonly string[];
}

export const copyFiles = actOnce<'record', Copying, Outcome>({
  kind: 'copy by rsync',
  aborts: true,
  keeps: ['record'],
  title: ({ what }) => `copy ${what}`,
  perform({ commands }, { user, argv }, { signal, progress }) {
    let reported = '';
    const heard = (line: string) => {
      const percent = /\s(\d{1,3}%)\s/.exec(line)?.[1];
      if (percent === undefined || percent === reported) return;
      reported = percent;
      progress(percent, Number(percent.slice(0, -1)) / 100);
    };
    return commands.runProgram({ user, argv, signal, keep: keptOutput, heard });
  },
});

export const taskStepKinds: readonly StepKind[] = [runCommand, copyFiles].map(({ stepKind }) => stepKind);
