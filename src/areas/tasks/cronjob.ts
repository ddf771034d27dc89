import { flag, required, text } from '../../engine/declare/fields.ts';
import { schedule, userName } from '../../engine/declare/formats.ts';
import { action, collection } from '../../engine/declare/resource.ts';
import { scheduleOf, scheduleProblem } from '../../engine/declare/schedule.ts';
import { keptOutput } from '../../engine/upkeep/jobs.ts';
import { cronTableCommand, longestCronCommand } from '../../lib/cron.ts';

export const cronJob = collection(
  'tasks/cronjob',
  {
    title: 'cron job',
    description: 'A command that the machine runs by a schedule.',
    order: ['cron_description', 'cron_user'],
    fields: {
      cron_user: required(userName({ description: 'Account the command runs as.', max: 60 })),
      cron_command: required(text({ description: 'Handed to the shell as it stands.', max: 900 })),
      cron_description: text({ description: 'What the job is for.', max: 200 }),
      ...schedule('cron'),
      cron_stdout: flag(true, { description: 'Whether standard output goes to the null device.' }),
      cron_stderr: flag(false, {
        description: 'Whether standard error goes to the null device; otherwise it joins standard output.',
      }),
      cron_enabled: flag(true, { description: 'Whether the job runs by its schedule.' }),
    },
    check({ record, issues }) {
      const problem = scheduleProblem(scheduleOf('cron', record));
      if (problem !== undefined) issues.add('__all__', problem);
      const bytes = Buffer.byteLength(
        cronTableCommand(record.cron_command, { stdout: record.cron_stdout, stderr: record.cron_stderr }),
      );
      if (bytes > longestCronCommand)
        issues.add(
          'cron_command',
          `In cron's table it would take ${bytes} bytes, and cron reads at most ${longestCronCommand}: put it into a script.`,
        );
    },
    scheduled: { when: (record) => (record.cron_enabled ? scheduleOf('cron', record) : undefined) },
  },
  [
    action({
      segment: 'run',
      title: 'Runs the command now, whether the job is enabled or not. It goes on after the answer, as a job.',
      perform({ target, operations }) {
        operations.background({
          title: `run the cron job ${target.id}`,
          subject: `tasks/cronjob/${target.id}`,
          async run({ host, signal }) {
            const outcome = await host.commands.run({
              user: target.cron_user,
              line: target.cron_command,
              signal,
              keep: keptOutput,
            });
            return { ...outcome };
          },
        });
        return 'Cron job started.';
      },
    }),
  ],
);
